import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Server } from "./client.js";
import type { PrivateEnvironment } from "./environment.js";
import { EXAMPLE } from "./example.js";
import { configuredInterpreter, importStrategy } from "./settings.js";
import { pythons } from "./interpreter.js";
import { preview } from "./preview.js";
import { DEBUG_INFORMATION } from "./protocol.js";
import type { KernelTests } from "./testing.js";
import { requireTrust } from "./trust.js";

/** Context menus pass a Uri, lenses a text, the command palette nothing. */
function sourceOf(argument: unknown): vscode.Uri | undefined {
  if (argument instanceof vscode.Uri) {
    return argument;
  }
  if (typeof argument === "string") {
    return vscode.Uri.parse(argument);
  }
  const document = vscode.window.activeTextEditor?.document;
  return document?.languageId === "python" ? document.uri : undefined;
}

function kernelOf(argument: unknown): string | undefined {
  return typeof argument === "string" ? argument : undefined;
}

async function debugInformation(client: LanguageClient): Promise<void> {
  const { text } = await client.sendRequest<{ readonly text: string }>(DEBUG_INFORMATION, {});
  const document = await vscode.workspace.openTextDocument({ content: text, language: "plaintext" });
  await vscode.window.showTextDocument(document);
}

/** Makes the extension's own environment, and starts the server in it. */
async function install(server: Server, bundled: PrivateEnvironment, output: vscode.LogOutputChannel): Promise<void> {
  const own = configuredInterpreter();
  const made = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: "ferrotile", cancellable: true },
    async (progress, cancelled) => {
      const stop = new AbortController();
      cancelled.onCancellationRequested(() => stop.abort());
      try {
        await bundled.install(await pythons(), (message) => progress.report({ message }), stop.signal);
        return true;
      } catch (error) {
        output.error(`The installation failed: ${String(error)}`);
        if (stop.signal.aborted) {
          return false;
        }
        throw error;
      }
    },
  );
  if (made && own !== undefined) {
    void vscode.window.showWarningMessage(`ferrotile is installed; it is used once \`ferrotile.interpreter\` (now ${own}) is cleared.`);
  }
  if (made) {
    await server.restart();
  }
}

async function openExample(): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ content: EXAMPLE, language: "python" });
  await vscode.window.showTextDocument(document);
}

/** Offers, once a start, what to do where no Python has ferrotile. */
export function offerInstallation(server: Server): vscode.Disposable {
  return server.onHealth(async (health) => {
    if (health !== "notFound") {
      return;
    }
    const [get, settings] = ["Install", "Open Settings"];
    const where =
      configuredInterpreter() !== undefined
        ? "the Python of `ferrotile.interpreter` is not 3.11 or newer, or has no ferrotile"
        : importStrategy() === "useBundled"
          ? "the bundled server is not installed yet"
          : "no Python 3.11 or newer with ferrotile was found";
    const answer = await vscode.window.showWarningMessage(`ferrotile: ${where}.`, get, settings);
    if (answer === get) {
      await vscode.commands.executeCommand("ferrotile.install");
    } else if (answer === settings) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "@ext:ferrotile.ferrotile");
    }
  });
}

async function running(server: Server): Promise<LanguageClient> {
  const client = await server.get();
  if (client === undefined) {
    throw new Error("the language server is not running; see the output of ferrotile.");
  }
  return client;
}

type Work = (client: LanguageClient, source: vscode.Uri, kernel: string | undefined) => Thenable<unknown>;

/** Registers the user's commands. Faults become one message, never an unhandled rejection. */
export function registerCommands(
  server: Server,
  tests: KernelTests,
  bundled: PrivateEnvironment,
  output: vscode.LogOutputChannel,
): vscode.Disposable[] {
  const command = (name: string, work: (...given: unknown[]) => Thenable<unknown> | undefined): vscode.Disposable =>
    vscode.commands.registerCommand(name, async (...given: unknown[]) => {
      try {
        await work(...given);
      } catch (error) {
        void vscode.window.showErrorMessage(`ferrotile: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
  const onServer = (name: string, work: (client: LanguageClient, ...given: unknown[]) => Thenable<unknown>): vscode.Disposable =>
    command(name, async (...given) => {
      const client = await running(server);
      try {
        await work(client, ...given);
      } catch (error) {
        const now = await running(server);
        if (now === client) {
          throw error;
        }
        await work(now, ...given); // the server was restarted meanwhile
      }
    });
  const onFile = (name: string, work: Work): vscode.Disposable =>
    onServer(name, async (client, first, second) => {
      const source = sourceOf(first);
      if (source === undefined) {
        throw new Error("open a Python file first.");
      }
      await work(client, source, kernelOf(second));
    });
  return [
    onFile("ferrotile.preview", preview),
    onFile("ferrotile.translate", (client, source) =>
      client.sendRequest("workspace/executeCommand", {
        command: "ferrotile.server.translate",
        arguments: [client.code2ProtocolConverter.asUri(source)],
      }),
    ),
    onFile("ferrotile.verify", async (_, source, kernel) => {
      if (await requireTrust()) {
        await verifyWithProgress(tests, source, kernel);
      }
    }),
    command("ferrotile.draft", async (first, second) => {
      const source = sourceOf(first);
      if (source !== undefined) {
        await server.models.draft(await running(server), source, kernelOf(second)); // never again by itself: it costs tokens
      }
    }),
    onServer("ferrotile.debugInformation", debugInformation),
    command("ferrotile.restart", () => server.restart()),
    command("ferrotile.install", () => install(server, bundled, output)),
    command("ferrotile.openExample", openExample),
    command("ferrotile.showOutput", async () => output.show(true)),
  ];
}

/** The verdicts are in the margin, in lenses and in messages; the notification is there to cancel. */
function verifyWithProgress(tests: KernelTests, source: vscode.Uri, kernel: string | undefined): Thenable<void> {
  const options = { location: vscode.ProgressLocation.Notification, title: `Verifying ${kernel ?? "kernels"}`, cancellable: true };
  return vscode.window.withProgress(options, (progress, cancel) =>
    tests.verify(source, kernel, cancel, (message) => progress.report({ message })),
  );
}

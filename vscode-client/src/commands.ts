import * as vscode from "vscode";
import { CancellationTokenSource, type LanguageClient } from "vscode-languageclient/node";
import type { Server } from "./client.js";
import { preview } from "./preview.js";
import { requireTrust } from "./trust.js";

const SHOWN_MS = 10_000;

interface VerifyResult {
  readonly kernels: readonly { readonly name: string; readonly verdict: string; readonly failed: boolean }[];
}

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

async function verify(client: LanguageClient, source: vscode.Uri, kernel: string | undefined): Promise<void> {
  const uri = client.code2ProtocolConverter.asUri(source);
  const result = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: `ferrotile: verifying ${kernel ?? "kernels"}`, cancellable: true },
    async (_, cancelled) => {
      const cancel = new CancellationTokenSource();
      cancelled.onCancellationRequested(() => cancel.cancel());
      return client.sendRequest<VerifyResult>("ferrotile/verify", { uri, kernel: kernel ?? null }, cancel.token);
    },
  );
  // The verdicts themselves are in the lenses, and failures in the diagnostics.
  const text = result.kernels.map((k) => `${k.name}: ${k.verdict}`).join("; ") || "no kernel in this file";
  const failed = result.kernels.some((k) => k.failed);
  vscode.window.setStatusBarMessage(`$(${failed ? "error" : "pass"}) ${text}`, SHOWN_MS);
}

async function debugInformation(client: LanguageClient): Promise<void> {
  const { text } = await client.sendRequest<{ readonly text: string }>("ferrotile/debugInformation", {});
  const document = await vscode.workspace.openTextDocument({ content: text, language: "plaintext" });
  await vscode.window.showTextDocument(document);
}

type Work = (client: LanguageClient, source: vscode.Uri, kernel: string | undefined) => Thenable<unknown>;

/** Registers the user's commands. Faults become one message, never an unhandled rejection. */
export function registerCommands(server: Server): vscode.Disposable[] {
  const onFile = (name: string, work: Work, needsTrust = false): vscode.Disposable =>
    vscode.commands.registerCommand(name, async (first?: unknown, second?: unknown) => {
      const source = sourceOf(first);
      const client = server.get();
      if (client === undefined || (needsTrust && !(await requireTrust()))) {
        return;
      }
      if (source === undefined) {
        void vscode.window.showWarningMessage("ferrotile: open a Python file first.");
        return;
      }
      try {
        await work(client, source, kernelOf(second));
      } catch (error) {
        void vscode.window.showErrorMessage(`ferrotile: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
  return [
    onFile("ferrotile.preview", (client, source, kernel) => preview(client, source, kernel)),
    onFile("ferrotile.translate", (client, source) =>
      client.sendRequest("workspace/executeCommand", {
        command: "ferrotile.server.translate",
        arguments: [client.code2ProtocolConverter.asUri(source)],
      }),
    ),
    onFile("ferrotile.verify", verify, true),
    vscode.commands.registerCommand("ferrotile.restart", () => server.restart()),
    vscode.commands.registerCommand("ferrotile.debugInformation", async () => {
      const client = server.get();
      if (client !== undefined) {
        await debugInformation(client);
      }
    }),
  ];
}

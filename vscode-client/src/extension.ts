import * as vscode from "vscode";
import { Server } from "./client.js";
import { offerInstallation, registerCommands } from "./commands.js";
import { Models } from "./draft.js";
import { PrivateEnvironment } from "./environment.js";
import { onInterpreterChange } from "./interpreter.js";
import { Kernels } from "./kernels.js";
import { MatchingLines } from "./matching.js";
import { offerMcp } from "./mcp.js";
import { whenNeeded } from "./relevance.js";
import { showStatus } from "./status.js";
import { KernelTests } from "./testing.js";

let server: Server | undefined;

/** Runs for every Python file, so it starts nothing: the server comes with the first file that holds a kernel. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("ferrotile", { log: true });
  const bundled = new PrivateEnvironment(context);
  const running = new Server(output, context.extensionPath, bundled, new Models(context.logUri, output));
  const kernels = new Kernels(running);
  const tests = new KernelTests(running, kernels);
  const interpreters = new vscode.EventEmitter<void>();
  server = running;
  context.subscriptions.push(
    output,
    kernels,
    tests,
    showStatus(running, kernels),
    offerInstallation(running),
    new MatchingLines(running),
    ...registerCommands(running, tests, bundled, output),
    vscode.workspace.onDidGrantWorkspaceTrust(() => running.health === "notNeeded" || void running.restart()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (["ferrotile.interpreter", "ferrotile.importStrategy"].some((name) => event.affectsConfiguration(name))) {
        void running.interpreterChanged();
        interpreters.fire();
      } else if (event.affectsConfiguration("ferrotile.trace")) {
        void running.setTrace();
      }
    }),
    whenNeeded(() => void running.get()),
    interpreters,
    running.onHealth((health) => health === "running" && interpreters.fire()),
    offerMcp(context, bundled, interpreters.event, output),
    await onInterpreterChange(() => {
      void running.interpreterChanged();
      interpreters.fire();
    }),
  );
}

export async function deactivate(): Promise<void> {
  await server?.dispose();
}

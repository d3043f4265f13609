import * as vscode from "vscode";
import { Server } from "./client.js";
import { registerCommands } from "./commands.js";
import { onInterpreterChange } from "./interpreter.js";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("ferrotile", { log: true });
  const running = new Server(output, context.extensionPath);
  server = running;
  context.subscriptions.push(
    output,
    ...registerCommands(running),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void running.restart()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("ferrotile.interpreter")) {
        void running.restart();
      } else if (event.affectsConfiguration("ferrotile.trace")) {
        void running.setTrace();
      }
    }),
    await onInterpreterChange(() => void running.interpreterChanged()),
  );
  await running.restart();
}

export async function deactivate(): Promise<void> {
  await server?.dispose();
}

import * as vscode from "vscode";

/** Verifying runs the workspace's code: says so and opens VS Code's own trust page where trust is missing. */
export async function requireTrust(): Promise<boolean> {
  if (vscode.workspace.isTrusted) {
    return true;
  }
  const manage = "Manage Workspace Trust";
  const answer = await vscode.window.showWarningMessage(
    "ferrotile: verifying runs the kernel's code, so the workspace must be trusted.",
    manage,
  );
  if (answer === manage) {
    await vscode.commands.executeCommand("workbench.trust.manage");
  }
  return false;
}

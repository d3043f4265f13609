import * as vscode from "vscode";

/** Whether any folder is on no disk of this machine. */
export function isVirtual(): boolean {
  return (vscode.workspace.workspaceFolders ?? []).some(({ uri }) => uri.scheme !== "file");
}

/** Whether the server may run code of the workspace. */
export function mayRun(): boolean {
  return vscode.workspace.isTrusted && !isVirtual();
}

/** Verifying runs the workspace's code: says so and opens VS Code's own trust page where trust is missing. */
export async function requireTrust(): Promise<boolean> {
  if (isVirtual()) {
    void vscode.window.showWarningMessage("ferrotile: kernels of a virtual workspace are analysed, and not verified.");
    return false;
  }
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

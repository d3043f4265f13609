import * as vscode from "vscode";
import { SCHEMES } from "./settings.js";

const IGNORED = "**/{node_modules,site-packages,.venv,venv,build,dist,.git}/**";
const MOST_FILES = 1_000;
const LARGEST_FILE = 1_000_000;

/** A cheap test, the same as the server's: a file with kernels names `cuda` and `kernel`. */
function mayHoldKernels(text: string): boolean {
  return text.includes("cuda") && text.includes("kernel");
}

function isRelevant(document: vscode.TextDocument): boolean {
  if (document.languageId !== "python" || !SCHEMES.includes(document.uri.scheme)) {
    return false;
  }
  const text = document.getText();
  // The cell that imports is seldom the one with the kernel.
  return document.uri.scheme === "vscode-notebook-cell" ? text.includes("cuda.tile") : mayHoldKernels(text);
}

/** Calls `start` once, as soon as a Python file with kernels is open. Until then no process is started. */
export function whenNeeded(start: () => void): vscode.Disposable {
  const listeners: vscode.Disposable[] = [];
  const look = (document: vscode.TextDocument): void => {
    if (isRelevant(document)) {
      vscode.Disposable.from(...listeners).dispose();
      listeners.length = 0;
      start();
    }
  };
  if (vscode.workspace.textDocuments.some(isRelevant)) {
    start();
    return new vscode.Disposable(() => undefined);
  }
  listeners.push(
    vscode.workspace.onDidOpenTextDocument(look),
    vscode.workspace.onDidChangeTextDocument((event) => look(event.document)),
  );
  return new vscode.Disposable(() => vscode.Disposable.from(...listeners).dispose());
}

/** Whether any file of the workspace may hold kernels; for the Testing view, before anything is open. */
export async function workspaceMayHoldKernels(): Promise<boolean> {
  const decoder = new TextDecoder();
  for (const file of await vscode.workspace.findFiles("**/*.py", IGNORED, MOST_FILES)) {
    try {
      const { size } = await vscode.workspace.fs.stat(file);
      if (size <= LARGEST_FILE && mayHoldKernels(decoder.decode(await vscode.workspace.fs.readFile(file)))) {
        return true;
      }
    } catch {
      continue;
    }
  }
  return false;
}

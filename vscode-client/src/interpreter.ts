import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { configuredInterpreter } from "./settings.js";

const run = promisify(execFile);
const PROBE = "import sys, importlib.util as u; sys.exit(0 if sys.version_info >= (3, 11) and u.find_spec('ferrotile_server') else 1)";

/** The part of the Python extension's API that is used. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function pythonApi(): Promise<PythonApi | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  if (extension === undefined) {
    return undefined;
  }
  try {
    return await extension.activate();
  } catch {
    return undefined;
  }
}

async function candidates(): Promise<string[]> {
  const own = configuredInterpreter();
  if (own !== undefined) {
    return [own];
  }
  const found: string[] = [];
  // A workspace can choose the Python extension's interpreter, so an untrusted one does not get to name an executable.
  if (vscode.workspace.isTrusted) {
    const path = (await pythonApi())?.environments.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri).path;
    if (path !== undefined && path !== "") {
      found.push(path);
    }
  }
  return [...found, "python3", "python"];
}

/** The first interpreter that is new enough and has ferrotile, or undefined. */
export async function findInterpreter(): Promise<string | undefined> {
  for (const path of await candidates()) {
    try {
      await run(path, ["-I", "-c", PROBE], { timeout: 10_000 });
      return path;
    } catch {
      continue;
    }
  }
  return undefined;
}

/** Calls back when the Python extension's interpreter changes; nothing where that extension is missing. */
export async function onInterpreterChange(callback: () => void): Promise<vscode.Disposable> {
  const api = await pythonApi();
  return api?.environments.onDidChangeActiveEnvironmentPath(callback) ?? new vscode.Disposable(() => undefined);
}

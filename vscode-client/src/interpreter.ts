import * as vscode from "vscode";
import { firstThat, type PrivateEnvironment } from "./environment.js";
import { configuredInterpreter, importStrategy } from "./settings.js";

const HAS_FERROTILE = "import sys, importlib.util as u; sys.exit(0 if sys.version_info >= (3, 11) and u.find_spec('ferrotile_server') else 1)";

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

/** The user's Pythons: the Python extension's choice, then those on the PATH. */
export async function pythons(): Promise<string[]> {
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

/** The Python that runs the server: the setting's, else by `importStrategy`; undefined where none has ferrotile. */
export async function findInterpreter(bundled: PrivateEnvironment): Promise<string | undefined> {
  const own = configuredInterpreter();
  if (own !== undefined) {
    return firstThat([own], HAS_FERROTILE);
  }
  if (importStrategy() === "useBundled") {
    return bundled.python;
  }
  return (await firstThat(await pythons(), HAS_FERROTILE)) ?? bundled.python;
}

/** Calls back when the Python extension's interpreter changes; nothing where that extension is missing. */
export async function onInterpreterChange(callback: () => void): Promise<vscode.Disposable> {
  const api = await pythonApi();
  return api?.environments.onDidChangeActiveEnvironmentPath(callback) ?? new vscode.Disposable(() => undefined);
}

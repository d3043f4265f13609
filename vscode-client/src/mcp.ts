import * as vscode from "vscode";
import { firstThat, type PrivateEnvironment } from "./environment.js";
import { findInterpreter } from "./interpreter.js";
import { isVirtual, mayRun } from "./trust.js";

const ID = "ferrotile";
const HAS_SDK = "import sys, importlib.util as u; sys.exit(0 if u.find_spec('mcp_types') else 1)";

/** What VS Code has of the Model Context Protocol since 1.101; the extension runs in older ones, too. */
interface StdioDefinition {
  cwd?: vscode.Uri;
}
interface McpApi {
  readonly lm?: {
    registerMcpServerDefinitionProvider?(
      id: string,
      provider: {
        readonly onDidChangeMcpServerDefinitions: vscode.Event<void>;
        provideMcpServerDefinitions(): Promise<readonly StdioDefinition[]>;
      },
    ): vscode.Disposable;
  };
  readonly McpStdioServerDefinition?: new (
    label: string,
    command: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    version: string,
  ) => StdioDefinition;
}

/** Offers `ferrotile mcp` to agent modes, with the Python that runs the language server: static tools in every workspace, and what
 * runs kernels unasked only in a trusted one. `changed` says that another Python would be used now. */
export function offerMcp(
  context: vscode.ExtensionContext,
  bundled: PrivateEnvironment,
  changed: vscode.Event<void>,
  output: vscode.LogOutputChannel,
): vscode.Disposable {
  const api = vscode as unknown as McpApi;
  const { McpStdioServerDefinition: Definition } = api;
  if (api.lm?.registerMcpServerDefinitionProvider === undefined || Definition === undefined) {
    return new vscode.Disposable(() => undefined);
  }
  const { version } = context.extension.packageJSON as { readonly version: string };
  const changes = new vscode.EventEmitter<void>();
  const provider = api.lm.registerMcpServerDefinitionProvider(ID, {
    onDidChangeMcpServerDefinitions: changes.event,
    provideMcpServerDefinitions: async () => {
      const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
      const interpreter = isVirtual() || folders.length === 0 ? undefined : await findInterpreter(bundled);
      if (interpreter === undefined) {
        return [];
      }
      if ((await firstThat([interpreter], HAS_SDK)) === undefined) {
        output.info(`No tools for agents: ${interpreter} has no MCP SDK. Run: pip install 'ferrotile[mcp]'`);
        return [];
      }
      const trusted = mayRun() ? folders.flatMap((folder) => ["--trust", folder]) : [];
      // -P, and a folder of our own: a module in the workspace must not be imported in place of the server's.
      const args = ["-P", "-m", "ferrotile_server.cli.main", "mcp", ...trusted, ...folders];
      const definition = new Definition("ferrotile", interpreter, args, {}, version);
      definition.cwd = context.extensionUri;
      return [definition];
    },
  });
  const again = (): void => changes.fire();
  return vscode.Disposable.from(
    provider,
    changes,
    changed(again),
    vscode.workspace.onDidGrantWorkspaceTrust(again),
    vscode.workspace.onDidChangeWorkspaceFolders(again),
  );
}

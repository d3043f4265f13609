import * as vscode from "vscode";
import { LanguageClient, Trace, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";
import { findInterpreter } from "./interpreter.js";
import { SECTION, settings } from "./settings.js";

/** Commands of this extension that the server may name in lenses and actions. */
const CLIENT_COMMANDS = ["ferrotile.preview", "ferrotile.verify"];

/** Owns the one language client; starts and restarts follow one another, never overlap. */
export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private queue: Promise<void> = Promise.resolve();
  private running: string | undefined;

  constructor(
    private readonly output: vscode.LogOutputChannel,
    private readonly folder: string,
  ) {}

  /** The running client; explains itself to the user where there is none. */
  get(): LanguageClient | undefined {
    if (this.client === undefined) {
      void vscode.window.showErrorMessage("ferrotile: the language server is not running; see the ferrotile output.");
    }
    return this.client;
  }

  restart(): Promise<void> {
    this.queue = this.queue.then(async () => {
      await this.stop();
      await this.start();
    });
    return this.queue;
  }

  /** Restart only where another interpreter would be used now. */
  async interpreterChanged(): Promise<void> {
    if ((await findInterpreter()) !== this.running) {
      await this.restart();
    }
  }

  async setTrace(): Promise<void> {
    const level = vscode.workspace.getConfiguration(SECTION).get<string>("trace", "off");
    await this.client?.setTrace(Trace.fromString(level));
  }

  private async start(): Promise<void> {
    const interpreter = await findInterpreter();
    if (interpreter === undefined) {
      this.output.error("No Python 3.11 or newer with `ferrotile` installed was found.");
      const open = "Open Settings";
      void vscode.window
        .showErrorMessage("ferrotile: no Python 3.11+ with `ferrotile` installed was found (`pip install ferrotile`).", open)
        .then((answer) => answer === open && vscode.commands.executeCommand("workbench.action.openSettings", "ferrotile.interpreter"));
      return;
    }
    // -P, and a folder of our own: a module in the workspace must not be imported in place of the server's.
    const server: ServerOptions = {
      command: interpreter,
      args: ["-P", "-m", "ferrotile_server.lsp"],
      options: { cwd: this.folder },
    };
    const options: LanguageClientOptions = {
      documentSelector: ["file", "untitled"].map((scheme) => ({ scheme, language: "python" })),
      outputChannel: this.output,
      initializationOptions: {
        workspaceTrusted: vscode.workspace.isTrusted,
        clientCommands: CLIENT_COMMANDS,
        icons: true,
        settings: settings(),
      },
      synchronize: { configurationSection: SECTION },
    };
    const client = new LanguageClient(SECTION, "ferrotile", server, options);
    try {
      await client.start();
      this.client = client;
      this.running = interpreter;
      await this.setTrace();
    } catch (error) {
      this.output.error(`The language server did not start: ${String(error)}`);
    }
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.running = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      this.output.warn(`The language server did not stop in order: ${String(error)}`);
    }
  }

  async dispose(): Promise<void> {
    await this.queue;
    await this.stop();
  }
}

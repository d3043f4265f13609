import * as vscode from "vscode";
import { LanguageClient, State, Trace, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";
import type { Models } from "./draft.js";
import type { PrivateEnvironment } from "./environment.js";
import { findInterpreter } from "./interpreter.js";
import { mayRun } from "./trust.js";
import { KERNELS, type KernelList } from "./protocol.js";
import { SCHEMES, SECTION, settings } from "./settings.js";

/** Commands of this extension that the server may name in lenses and actions. */
const CLIENT_COMMANDS = ["ferrotile.preview", "ferrotile.verify", "ferrotile.draft"];

/** `notNeeded`: no file with kernels has been open yet. */
export type Health = "notNeeded" | "starting" | "running" | "notFound" | "stopped";

/** Owns the one language client; starts and restarts follow one another, never overlap. */
export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private queue: Promise<void> = Promise.resolve();
  private interpreter: string | undefined;
  private state: Health = "notNeeded";
  private readonly changes = new vscode.EventEmitter<Health>();
  private readonly lists = new vscode.EventEmitter<KernelList>();
  readonly onHealth = this.changes.event;
  /** The kernels of an open file, as often as they change. */
  readonly onKernels = this.lists.event;

  constructor(
    private readonly output: vscode.LogOutputChannel,
    private readonly folder: string,
    private readonly bundled: PrivateEnvironment,
    readonly models: Models,
  ) {}

  get health(): Health {
    return this.state;
  }

  /** The running client, started where it has not been; undefined where there is no server to start. */
  async get(): Promise<LanguageClient | undefined> {
    if (this.state === "notNeeded") {
      this.become("starting");
      void this.restart();
    }
    await this.queue;
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
    if (this.state !== "notNeeded" && (await findInterpreter(this.bundled)) !== this.interpreter) {
      await this.restart();
    }
  }

  async setTrace(): Promise<void> {
    const level = vscode.workspace.getConfiguration(SECTION).get<string>("trace", "off");
    await this.client?.setTrace(Trace.fromString(level));
  }

  private become(state: Health): void {
    this.state = state;
    this.changes.fire(state);
  }

  private async start(): Promise<void> {
    if (this.state !== "starting") {
      this.become("starting");
    }
    const interpreter = await findInterpreter(this.bundled);
    if (interpreter === undefined) {
      this.output.error("No Python 3.11 or newer with ferrotile was found.");
      this.become("notFound");
      return;
    }
    this.output.info(`Starting the language server with ${interpreter}.`);
    // -P, and a folder of our own: a module in the workspace must not be imported in place of the server's.
    const server: ServerOptions = {
      command: interpreter,
      args: ["-P", "-m", "ferrotile_server.lsp"],
      options: { cwd: this.folder },
    };
    const options: LanguageClientOptions = {
      documentSelector: [
        ...SCHEMES.map((scheme) => ({ scheme, language: "python" })),
        { scheme: "file", language: "rust" }, // for lenses at comments that name the Python; nothing else
      ],
      outputChannel: this.output,
      initializationOptions: {
        workspaceTrusted: mayRun(),
        clientCommands: CLIENT_COMMANDS,
        icons: true,
        kernels: true,
        completes: !vscode.workspace.getConfiguration("chat").get("disableAIFeatures", false),
        // VS Code goes on to a server that can say beforehand where it renames; Jedi's cannot.
        rename: vscode.workspace.getConfiguration("python").get("languageServer") !== "Jedi",
        settings: settings(),
      },
      synchronize: { configurationSection: SECTION },
    };
    const client = new LanguageClient(SECTION, "ferrotile", server, options);
    client.onNotification(KERNELS, (list: KernelList) => this.lists.fire(list));
    this.models.serve(client);
    client.onDidChangeState(({ newState }) => {
      if (this.client === client) {
        this.become(newState === State.Running ? "running" : newState === State.Starting ? "starting" : "stopped");
      }
    });
    try {
      await client.start();
      this.client = client;
      this.interpreter = interpreter;
      this.become("running");
      await this.setTrace();
    } catch (error) {
      this.output.error(`The language server did not start: ${String(error)}`);
      this.become("stopped");
    }
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.interpreter = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      this.output.warn(`The language server did not stop in order: ${String(error)}`);
    }
  }

  async dispose(): Promise<void> {
    await this.queue;
    await this.stop();
    this.changes.dispose();
    this.lists.dispose();
  }
}

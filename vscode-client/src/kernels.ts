import * as vscode from "vscode";
import type { Server } from "./client.js";
import type { Kernel } from "./protocol.js";

const PATIENCE_MS = 20_000;

/** The kernels of the open files, as the server told last. */
export class Kernels implements vscode.Disposable {
  private readonly files = new Map<string, readonly Kernel[]>();
  private readonly changes = new vscode.EventEmitter<vscode.Uri>();
  private readonly subscriptions: vscode.Disposable[];
  readonly onChange = this.changes.event;

  constructor(private readonly server: Server) {
    this.subscriptions = [
      this.changes,
      server.onKernels((list) => {
        const uri = vscode.Uri.parse(list.uri);
        this.files.set(uri.toString(), list.kernels);
        this.told(uri);
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        if (this.files.delete(uri.toString())) {
          this.told(uri);
        }
      }),
    ];
  }

  of(uri: vscode.Uri): readonly Kernel[] | undefined {
    return this.files.get(uri.toString());
  }

  /** The kernels of a file, opened where it is not; undefined where no server tells. */
  async known(uri: vscode.Uri): Promise<readonly Kernel[] | undefined> {
    if ((await this.server.get()) === undefined) {
      return undefined;
    }
    await vscode.workspace.openTextDocument(uri);
    return (
      this.of(uri) ??
      new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          listener.dispose();
          resolve(this.of(uri));
        };
        const timer = setTimeout(end, PATIENCE_MS);
        const listener = this.onChange((changed) => changed.toString() === uri.toString() && end());
      })
    );
  }

  private told(uri: vscode.Uri): void {
    const paths = [...this.files].filter(([, kernels]) => kernels.length > 0).map(([file]) => vscode.Uri.parse(file).fsPath);
    // For the `when` of menus: `resourcePath in ferrotile.kernelFiles`.
    void vscode.commands.executeCommand("setContext", "ferrotile.kernelFiles", paths);
    this.changes.fire(uri);
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }
}

import * as vscode from "vscode";
import { LSPErrorCodes, ResponseError } from "vscode-languageclient/node";
import type { Server } from "./client.js";
import type { Kernels } from "./kernels.js";
import { WORKSPACE_KERNELS, type Kernel, type VerifiedKernel, type WorkspaceKernels } from "./protocol.js";
import { workspaceMayHoldKernels } from "./relevance.js";
import { rangeOf, table, testMessages, verify } from "./verify.js";

const SETTLE_MS = 500;

/**
 * The last result of a kernel, under the id of the test that has it. It goes stale when the kernel's state changes: then the
 * kernel is shown as another test, without a result, since VS Code draws an outdated mark in the margin as any other. When
 * the edit is undone, the test is back, and its result.
 */
interface Result {
  readonly state: string;
  readonly id: string;
  /** The test that is shown while the result is stale. */
  readonly without: string;
}

/** Kernels as VS Code's tests: a file has its kernels as children, and to run one is to verify it. */
export class KernelTests implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("ferrotile", "ferrotile: kernels");
  private readonly profile: vscode.TestRunProfile;
  /** By kernel. */
  private readonly results = new Map<string, Result>();
  /** Ids of kernels that have no result, where it is not the first one. */
  private readonly unverified = new Map<string, string>();
  private made = 0;
  private readonly subscriptions: vscode.Disposable[];
  private searched = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly server: Server,
    private readonly kernels: Kernels,
  ) {
    const run = (request: vscode.TestRunRequest, cancel: vscode.CancellationToken): Promise<void> => this.run(request, cancel);
    this.profile = this.controller.createRunProfile("Verify", vscode.TestRunProfileKind.Run, run, true);
    this.controller.resolveHandler = async (item) => {
      if (item === undefined && (this.server.health !== "notNeeded" || (await workspaceMayHoldKernels()))) {
        await this.search();
      }
    };
    this.controller.refreshHandler = () => this.search();
    const watcher = vscode.workspace.createFileSystemWatcher("**/*.py");
    this.subscriptions = [
      this.controller,
      watcher,
      watcher.onDidCreate(() => this.searchLater()),
      watcher.onDidChange((uri) => this.changedOnDisk(uri)),
      watcher.onDidDelete((uri) => this.deleted(uri)),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.searchLater()),
      kernels.onChange((uri) => this.fileChanged(uri)),
    ];
  }

  /** Verify one kernel of a file, or all, and show it as a test run. */
  async verify(
    uri: vscode.Uri,
    kernel: string | undefined,
    cancel: vscode.CancellationToken,
    step: (words: string) => void,
  ): Promise<void> {
    await this.kernels.known(uri);
    const file = this.controller.items.get(uri.toString());
    const item = kernel === undefined ? file : [...(file?.children ?? [])].map(([, one]) => one).find((one) => one.label === kernel);
    if (item === undefined) {
      throw new Error(kernel === undefined ? "there is no kernel in this file" : `there is no kernel \`${kernel}\` in this file`);
    }
    await this.run(new vscode.TestRunRequest([item], undefined, this.profile), cancel, step);
  }

  private fileChanged(uri: vscode.Uri): void {
    const known = this.kernels.of(uri);
    if (known !== undefined) {
      this.list(uri, known);
    } else if (vscode.workspace.getWorkspaceFolder(uri) === undefined) {
      this.remove(uri.toString());
    }
  }

  /** Shows these kernels of a file; results for another state of a kernel become stale. */
  private list(uri: vscode.Uri, kernels: readonly (Pick<Kernel, "name" | "range"> & Partial<Kernel>)[]): void {
    const id = uri.toString();
    if (kernels.length === 0) {
      this.remove(id);
      return;
    }
    let file = this.controller.items.get(id);
    if (file === undefined) {
      const named = uri.scheme === "file" ? uri : vscode.Uri.file(uri.path); // a cell has the name of its notebook
      file = this.controller.createTestItem(id, vscode.workspace.asRelativePath(named), uri);
      this.controller.items.add(file);
    }
    const children = kernels.map((kernel) => {
      const own = this.idOf(uri, kernel);
      const item = file.children.get(own) ?? this.controller.createTestItem(own, kernel.name, uri);
      item.range = rangeOf(kernel.range);
      item.sortText = String(kernel.range.start.line).padStart(8, "0");
      item.description = description(kernel);
      return item;
    });
    file.children.replace(children);
  }

  private idOf(uri: vscode.Uri, { name, state }: Pick<Kernel, "name"> & Partial<Kernel>): string {
    const kernel = keyOf(uri, name);
    const result = this.results.get(kernel);
    if (result === undefined) {
      return this.unverified.get(kernel) ?? kernel;
    }
    return state === undefined || state === result.state ? result.id : result.without;
  }

  /** An id that no result was ever given for. */
  private newId(uri: vscode.Uri, kernel: string): string {
    this.made += 1;
    return `${uri.toString()}?${this.made}#${kernel}`;
  }

  /** Results stay: the file may come back. */
  private remove(id: string): void {
    this.controller.items.delete(id);
  }

  private deleted(uri: vscode.Uri): void {
    this.controller.items.get(uri.toString())?.children.forEach((item) => this.forget(uri, item.label));
    this.remove(uri.toString());
  }

  private changedOnDisk(uri: vscode.Uri): void {
    if (vscode.workspace.textDocuments.some((document) => document.uri.toString() === uri.toString())) {
      return;
    }
    this.controller.items.get(uri.toString())?.children.forEach((item) => this.forget(uri, item.label));
    this.searchLater();
  }

  private forget(uri: vscode.Uri, name: string): void {
    const kernel = keyOf(uri, name);
    const result = this.results.get(kernel);
    if (result !== undefined) {
      this.results.delete(kernel);
      this.unverified.set(kernel, result.without);
    }
  }

  /** Files changed on disk: search anew once they have settled, where the workspace was ever searched. */
  private searchLater(): void {
    clearTimeout(this.timer);
    if (this.searched) {
      this.timer = setTimeout(() => void this.search(), SETTLE_MS);
    }
  }

  private async search(): Promise<void> {
    const client = await this.server.get();
    if (client === undefined) {
      return;
    }
    const { files } = await client.sendRequest<WorkspaceKernels>(WORKSPACE_KERNELS, {});
    this.searched = true;
    const found = new Set<string>();
    for (const { uri: text, kernels } of files) {
      const uri = vscode.Uri.parse(text);
      found.add(uri.toString());
      if (this.kernels.of(uri) === undefined) {
        this.list(uri, kernels);
      }
    }
    for (const [id, { uri }] of [...this.controller.items]) {
      if (!found.has(id) && uri !== undefined && this.kernels.of(uri) === undefined) {
        this.remove(id);
      }
    }
  }

  private async run(
    request: vscode.TestRunRequest,
    cancel: vscode.CancellationToken,
    step: (words: string) => void = () => undefined,
  ): Promise<void> {
    const only = request.include?.length === 1 ? request.include[0]?.label : undefined;
    const run = this.controller.createTestRun(request, `Verify ${only ?? "kernels"}`);
    const stop = new vscode.CancellationTokenSource();
    const listeners = [cancel, run.token].map((token) => token.onCancellationRequested(() => stop.cancel()));
    try {
      if (request.include === undefined && !this.searched) {
        await this.search();
      }
      const queue = this.chosen(request);
      queue.forEach((items) => items.forEach((item) => run.enqueued(item)));
      for (const [file, items] of queue) {
        // Together, all kernels of a file have their types checked in one go.
        const all = items.length === file.children.size;
        for (const group of all ? [items] : items.map((item) => [item])) {
          await this.verifyGroup(run, group, all ? undefined : group[0]?.label, stop.token, step);
        }
      }
    } finally {
      listeners.forEach((listener) => listener.dispose());
      stop.dispose();
      run.end();
    }
  }

  /** The kernels that are asked for, by file. */
  private chosen({ include, exclude }: vscode.TestRunRequest): Map<vscode.TestItem, vscode.TestItem[]> {
    const queue = new Map<vscode.TestItem, vscode.TestItem[]>();
    const add = (item: vscode.TestItem): void => {
      if (exclude?.includes(item)) {
        return;
      }
      if (item.parent === undefined) {
        item.children.forEach(add);
        return;
      }
      const items = queue.get(item.parent) ?? [];
      if (!items.includes(item)) {
        queue.set(item.parent, [...items, item]);
      }
    };
    if (include === undefined) {
      this.controller.items.forEach(add);
    } else {
      include.forEach(add);
    }
    return queue;
  }

  /** Verifies kernels of one file in one request; each of them ends with one result. */
  private async verifyGroup(
    run: vscode.TestRun,
    items: readonly vscode.TestItem[],
    kernel: string | undefined,
    stop: vscode.CancellationToken,
    step: (words: string) => void,
  ): Promise<void> {
    const left = new Map(items.map((item) => [item.label, item]));
    const uri = items[0]?.uri;
    const end = (as: (item: vscode.TestItem) => void): void => {
      left.forEach(as);
      left.clear();
    };
    if (uri === undefined || stop.isCancellationRequested) {
      end((item) => run.skipped(item));
      return;
    }
    try {
      const client = await this.server.get();
      if (client === undefined || (await this.kernels.known(uri)) === undefined) {
        throw new Error("The language server is not running; see the output of ferrotile.");
      }
      items.forEach((item) => run.started(item));
      const verdict = (one: VerifiedKernel): void => {
        const item = left.get(one.name);
        if (item !== undefined) {
          left.delete(one.name);
          this.settle(run, uri, item, one);
        }
      };
      await verify(client, uri, kernel, { step, verdict }, stop);
      end((item) => run.skipped(item));
    } catch (error) {
      // The lens cancels on the server.
      const cancelled = error instanceof ResponseError && error.code === LSPErrorCodes.RequestCancelled;
      if (stop.isCancellationRequested || cancelled) {
        run.appendOutput(`Cancelled: ${[...left.keys()].join(", ")}\r\n`);
        end((item) => run.skipped(item));
      } else {
        const text = error instanceof Error ? error.message : String(error);
        run.appendOutput(`${text}\r\n`);
        end((item) => run.errored(item, new vscode.TestMessage(text)));
      }
    }
  }

  private settle(run: vscode.TestRun, uri: vscode.Uri, item: vscode.TestItem, kernel: VerifiedKernel): void {
    run.appendOutput(table(kernel), undefined, item);
    const duration = kernel.rungs.reduce((sum, rung) => sum + rung.ms, 0);
    const tried = kernel.rungs.filter((rung) => rung.rung !== "translated" && rung.status !== "skipped");
    const messages = testMessages(uri, kernel);
    if (kernel.rungs.some((rung) => rung.status === "failed")) {
      run.failed(item, messages, duration);
    } else if (kernel.failed) {
      run.errored(item, messages, duration);
    } else if (tried.length === 0) {
      const reasons = kernel.rungs.filter((rung) => rung.status === "skipped").map((rung) => `${rung.rung}: ${rung.detail}`);
      run.errored(item, new vscode.TestMessage(["Nothing could be verified.", ...reasons].join("\n")), duration);
    } else {
      run.passed(item, duration);
    }
    this.results.set(keyOf(uri, kernel.name), { state: kernel.state, id: item.id, without: this.newId(uri, kernel.name) });
    this.fileChanged(uri); // it may have been edited meanwhile
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.subscriptions).dispose();
  }
}

function keyOf(uri: vscode.Uri, kernel: string): string {
  return `${uri.toString()}#${kernel}`;
}

function description(kernel: Partial<Kernel>): string {
  if (kernel.translated === false) {
    return "not translated";
  }
  const verdict = kernel.verdict ?? undefined;
  return verdict === undefined ? "" : verdict.holds ? verdict.line : "changed since it was verified";
}

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import * as vscode from "vscode";

const run = promisify(execFile);
const INSTALL_MS = 600_000;
const NEW_ENOUGH = "import sys, venv; sys.exit(0 if sys.version_info >= (3, 11) else 1)";

/** An environment of the extension's own, outside every workspace, with the ferrotile that is bundled as a wheel. Its
 * dependencies have compiled parts for each platform and Python, so pip fetches them when it is made. */
export class PrivateEnvironment {
  private readonly folder: string;
  private readonly wheels: string;

  constructor(context: vscode.ExtensionContext) {
    const { version } = context.extension.packageJSON as { readonly version: string };
    this.folder = join(context.globalStorageUri.fsPath, `ferrotile-${version}`);
    this.wheels = join(context.extensionPath, "bundled");
  }

  /** Its Python, where it has been made completely. */
  get python(): string | undefined {
    return existsSync(join(this.folder, "ready")) ? this.path() : undefined;
  }

  private path(): string {
    return process.platform === "win32" ? join(this.folder, "Scripts", "python.exe") : join(this.folder, "bin", "python");
  }

  /** Makes it anew with the first of these Pythons that is new enough. Throws with a message for the user. */
  async install(pythons: readonly string[], report: (step: string) => void, stop: AbortSignal): Promise<void> {
    const wheel = existsSync(this.wheels) ? (await readdir(this.wheels)).find((name) => name.endsWith(".whl")) : undefined;
    if (wheel === undefined) {
      throw new Error("this build of the extension has no bundled server; run `pip install ferrotile` in your environment");
    }
    const base = await firstThat(pythons, NEW_ENOUGH);
    if (base === undefined) {
      throw new Error("no Python 3.11 or newer with `venv` was found");
    }
    await rm(this.folder, { recursive: true, force: true });
    await mkdir(this.folder, { recursive: true });
    const options = { timeout: INSTALL_MS, signal: stop, cwd: this.folder };
    report("making an environment");
    await run(base, ["-I", "-m", "venv", this.folder], options);
    report("installing ferrotile");
    await run(this.path(), ["-I", "-m", "pip", "install", "--disable-pip-version-check", join(this.wheels, wheel)], options);
    report("installing what serves agents");
    try {
      await run(this.path(), ["-I", "-m", "pip", "install", "--disable-pip-version-check", `${join(this.wheels, wheel)}[mcp]`], options);
    } catch {
      // Everything but the tools for agents works without; where that was cancelled, all of it is.
      stop.throwIfAborted();
    }
    await writeFile(join(this.folder, "ready"), wheel);
  }
}

/** The first Python in which `program` exits with 0. */
export async function firstThat(pythons: readonly string[], program: string): Promise<string | undefined> {
  for (const path of pythons) {
    try {
      await run(path, ["-I", "-c", program], { timeout: 10_000 });
      return path;
    } catch {
      continue;
    }
  }
  return undefined;
}

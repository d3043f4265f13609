// What the in-editor scripts share. They run in VS Code's extension host.
const fs = require("node:fs");
const vscode = require("vscode");

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Asks again and again until the answer is truthy. */
async function eventually(what, get, limit = 60_000) {
  const end = Date.now() + limit;
  while (Date.now() < end) {
    const last = await get();
    if (last) return last;
    await pause(200);
  }
  throw new Error(`never: ${what}`);
}

const run = (command, ...rest) => vscode.commands.executeCommand(command, ...rest);
const hoverText = (hovers) => hovers.flatMap((h) => h.contents).map((c) => c.value ?? c).join("\n");
const lensTitles = async (file) => (await run("vscode.executeCodeLensProvider", file)).map((l) => l.command?.title ?? "");
const ours = (file) => vscode.languages.getDiagnostics(file).filter((d) => d.source?.startsWith("ferrotile"));

/** Asks the page outside for something (`trust`, or a picture's name), and waits until it is done. */
async function outside(wish) {
  fs.writeFileSync(process.env.WISH, wish);
  await eventually(`${wish} from the page`, () => !fs.existsSync(process.env.WISH));
}

/** A picture without notifications; the page waits until nothing moves. */
async function picture(name) {
  await run("notifications.clearAll");
  await outside(`picture ${name}`);
}

/** Opens a file of the workspace and waits for the extension. */
async function open(name) {
  const file = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, name);
  const document = await vscode.workspace.openTextDocument(file);
  const editor = await vscode.window.showTextDocument(document, { preview: false });
  const extension = vscode.extensions.getExtension("ferrotile.ferrotile");
  if (!extension) throw new Error("the extension is not there");
  await extension.activate();
  return { file, document, editor };
}

/** Runs the steps of a script; each that ends is reported, and so is the first that fails. */
function script(steps) {
  return async () => {
    const report = [];
    const done = (step) => report.push(step);
    try {
      await steps(done);
      done("end");
    } catch (error) {
      report.push(`FAILED: ${error.stack ?? error}`);
      throw error;
    } finally {
      fs.writeFileSync(process.env.REPORT, report.join("\n") + "\n");
    }
  };
}

module.exports = { eventually, hoverText, lensTitles, open, ours, outside, pause, picture, run, script };

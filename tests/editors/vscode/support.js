// What the in-editor scripts share. They run in VS Code's extension host.
const fs = require("node:fs");
const vscode = require("vscode");

const { WISH, REPORT, PICTURES } = process.env;
const LOOK_MS = 100;
const started = Date.now();

/** Asks again and again until the answer is truthy. */
async function eventually(what, get, limit = 60_000) {
  const end = Date.now() + limit;
  let last;
  while (Date.now() < end) {
    last = await get();
    if (last) return last;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  throw new Error(`never: ${what}`);
}

const run = (command, ...rest) => vscode.commands.executeCommand(command, ...rest);
const hoverText = (hovers) => hovers.flatMap((h) => h.contents).map((c) => c.value ?? c).join("\n");
const lensTitles = async (file) => (await run("vscode.executeCodeLensProvider", file)).map((l) => l.command?.title ?? "");
const ours = (file) => vscode.languages.getDiagnostics(file).filter((d) => d.source?.startsWith("ferrotile"));
const placeOf = (document, text, after = 0) => document.positionAt(document.getText().indexOf(text) + after);
/** A file of the workspace. */
const inWorkspace = (name) => vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, name);

/** Asks the page outside for something; its answer. */
async function outside(kind, wish = {}) {
  const answer = `${WISH}.answer`;
  fs.writeFileSync(`${WISH}.part`, JSON.stringify({ kind, ...wish }));
  fs.renameSync(`${WISH}.part`, WISH);
  await eventually(`${kind} from the page`, () => fs.existsSync(answer));
  const said = JSON.parse(fs.readFileSync(answer, "utf8"));
  fs.rmSync(answer);
  return said;
}

/** A picture without notifications, where pictures are asked for; the page waits until nothing moves. */
async function picture(name, wish = {}) {
  if (PICTURES === "1") {
    await run("notifications.clearAll");
    await outside("picture", { name, ...wish });
  }
}

const set = (section, key, value) => vscode.workspace.getConfiguration(section).update(key, value, vscode.ConfigurationTarget.Global);

/** Opens a file of the workspace and waits for the extension. */
async function open(name) {
  const file = inWorkspace(name);
  const document = await vscode.workspace.openTextDocument(file);
  const editor = await vscode.window.showTextDocument(document, { preview: false, viewColumn: vscode.ViewColumn.One });
  const extension = vscode.extensions.getExtension("ferrotile.ferrotile");
  if (!extension) throw new Error("the extension is not there");
  await extension.activate();
  return { file, document, editor };
}

/** Replaces the first `old` after `start` by `text`. */
async function replace(document, old, text, start = 0) {
  const at = document.getText().indexOf(old, start);
  if (at < 0) throw new Error(`no ${old}`);
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, new vscode.Range(document.positionAt(at), document.positionAt(at + old.length)), text);
  await vscode.workspace.applyEdit(edit);
}

/** What the Testing API shows of a file: the ids of its tests. */
const testsIn = async (file) => (await run("vscode.testing.getTestsInFile", file)).map((path) => path.at(-1).split("#").at(-1));

/** The marks in the margin beside kernels, from the top: `passed`, `failed`, `run`, ..., with `old` where the result is stale. */
async function marks() {
  const drawn = await outside("look", { selector: ".testing-run-glyph" });
  return drawn.map((one) => /codicon-testing-(\w+)-icon/.exec(one.class)?.[1] + (/retired|old/.test(one.class) ? " old" : ""));
}

/** The messages of failed tests in the editor. */
const messages = async () => (await outside("look", { selector: ".test-error-content-widget" })).map((one) => one.text);

/** Puts the cursor before a text, and shows it. */
function cursorAt(editor, text) {
  const at = placeOf(editor.document, text);
  editor.selection = new vscode.Selection(at, at);
  editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  return editor.selection;
}

/** Runs the steps of a script; each that ends is reported with its time, and so is the first that fails. */
function script(steps) {
  return async () => {
    const report = [];
    const done = (step) => report.push(`${step} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
    try {
      await steps(done);
      done("end");
    } catch (error) {
      report.push(`FAILED: ${error.stack ?? error}`);
      await outside("picture", { name: "vscode_stopped" });
      throw error;
    } finally {
      fs.writeFileSync(REPORT, report.join("\n") + "\n");
    }
  };
}

module.exports = { cursorAt, eventually, hoverText, inWorkspace, lensTitles, marks, messages, open, ours, outside, picture, placeOf, replace, run, script, set, testsIn };

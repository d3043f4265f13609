// Every feature, with a fake translator and fake compilers: what a user does from the first file on.
const assert = require("node:assert");
const fs = require("node:fs");
const vscode = require("vscode");
const { cursorAt, eventually, hoverText, inWorkspace, lensTitles, marks, messages, open, ours, outside, picture, placeOf, replace, run, script, testsIn } = require("./support.js");

const log = () => (fs.existsSync(process.env.FAKE_LOG) ? fs.readFileSync(process.env.FAKE_LOG, "utf8") : "");

/** The Testing view as a list, `kernel file` -> what it says of it. */
async function tests() {
  const rows = await outside("look", { selector: ".test-explorer .monaco-list-row" });
  return new Map(rows.map(({ text, label }) => {
    const [, file, state] = /^(\S+) \(([^)]*)\)/.exec(label);
    return [`${text.slice(0, text.indexOf(file))} ${file}`, state + (label.includes("outdated") ? ", outdated" : "")];
  }));
}

const testIs = (name, state) => eventually(`${name}: ${state}`, async () => (await tests()).get(name) === state);
const status = async () => (await outside("look", { selector: "[id*='status.languageStatus']" }))[0]?.label ?? "";

exports.run = script(async (done) => {
  const plain = await open("plain.py");
  await run("vscode.executeHoverProvider", plain.file, new vscode.Position(0, 0));
  assert.equal(log(), "", "a server for a file without kernels");
  done("nothing started");

  const { file, document, editor } = await open("kernels.py");
  const at = placeOf(document, "def add", 4);
  await eventually("lenses", async () => (await lensTitles(file)).some((l) => l.includes("Preview Rust")));
  assert.equal(log(), "started\n");
  done("lenses");

  assert.match(hoverText(await run("vscode.executeHoverProvider", file, at)), /mod add|fn add/);
  done("hover");

  const [found] = await eventually("diagnostics", () => ours(file).length === 1 && ours(file));
  assert.deepEqual(found.range, document.getWordRangeAtPosition(placeOf(document, "REFUSE")));
  await eventually("status", async () => (await status()).includes("2 of 3 kernels translate"));
  done("diagnostics");

  await run("ferrotile.preview", file, "add");
  const preview = vscode.window.visibleTextEditors.find((e) => e.document.uri.scheme === "ferrotile-rs");
  assert.ok(preview, "no preview");
  assert.match(preview.document.getText(), /fn add/);
  assert.equal(preview.document.languageId, "rust");
  assert.equal(preview.viewColumn, vscode.ViewColumn.Two);
  await run("workbench.action.closeEditorsInOtherGroups");
  done("preview");

  // Tests are found without a run: those of the open file, and of a file that is not open.
  await eventually("tests", async () => (await testsIn(file)).includes("bad"));
  await run("workbench.view.testing.focus");
  await run("testing.viewAsList");
  await eventually("tests of a closed file", async () => (await testsIn(inWorkspace("other.py"))).includes("slow"));
  await testIs("add kernels.py", "Not yet run");
  assert.ok(!vscode.workspace.textDocuments.some((d) => d.uri.path.endsWith("/other.py")));
  done("discovered");

  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  cursorAt(editor, "def add");
  await run("testing.runAtCursor");
  await testIs("add kernels.py", "Passed");
  await testIs("wrong kernels.py", "Not yet run");
  assert.equal((await marks())[0], "passed");
  await eventually("verdict", async () => (await lensTitles(file)).some((l) => /^(✓ )?proved/.test(l)));
  done("passed");

  await replace(document, "pass", "return");
  await testIs("add kernels.py", "Not yet run");
  await eventually("no green mark", async () => (await marks())[0] === "run");
  await replace(document, "return", "pass");
  await testIs("add kernels.py", "Passed");
  await eventually("the green mark again", async () => (await marks())[0] === "passed");
  done("stale, and back");

  await run("testing.runCurrentFile");
  await testIs("wrong kernels.py", "Failed");
  await testIs("bad kernels.py", "Failed");
  await eventually("messages in the editor", async () => (await messages()).some((text) => text.includes("FT504: addf here")));
  assert.deepEqual(await marks(), ["passed", "failed", "failed"]);
  const blamed = ours(file).find((d) => d.source === "ferrotile verify" && d.code?.value === "FT504");
  assert.equal(document.getText(blamed.range), "pass");
  assert.ok(blamed.range.start.isAfter(placeOf(document, "def wrong")));
  done("failed");

  const actions = await run("vscode.executeCodeActionProvider", file, found.range, vscode.CodeActionKind.QuickFix.value, 10);
  const fix = actions.find((a) => a.title === "Remove it");
  assert.ok(fix?.edit, `no fix among ${actions.map((a) => a.title)}`);
  await vscode.workspace.applyEdit(fix.edit);
  await testIs("bad kernels.py", "Not yet run");
  await eventually("a file without errors", () => ours(file).every((d) => d.code?.value !== "FT301"));
  done("fixed");

  const whole = run("testing.runAll");
  await testIs("slow other.py", "Running");
  await testIs("bad kernels.py", "Passed");
  await run("testing.cancelRun");
  await whole;
  await testIs("slow other.py", "Skipped");
  await eventually("an end of the work", () => log().endsWith("cancelled\n"));
  assert.ok(!log().includes("not cancelled"));
  done("cancelled");

  // An element of the arrays that differ: what the translation has, and the original.
  await open("other.py");
  await testIs("differs other.py", "Failed");
  await eventually("the message", async () => (await messages()).some((text) => text === "y[3] = 2.0 != y[3] = 1.0"));
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  done("expected and actual");

  await run("ferrotile.verify", file, "add");
  await testIs("add kernels.py", "Passed");
  done("verified by its lens");

  await run("ferrotile.server.run", file.toString(), "add");
  await eventually("what a run found", async () => (await lensTitles(file)).some((l) => /proved, simulated/.test(l)));
  done("run by its lens");

  const slow = inWorkspace("other.py");
  const cancels = log().match(/^cancelled$/gm).length;
  const verified = run("ferrotile.verify", slow, "slow");
  await eventually("Cancel in the place of Verify", async () => (await lensTitles(slow)).some((l) => l.includes("Cancel")));
  await run("ferrotile.server.cancel", slow.toString(), "slow");
  await verified;
  await testIs("slow other.py", "Skipped");
  await eventually("an end of the work", () => log().match(/^cancelled$/gm).length === cancels + 1);
  assert.ok((await lensTitles(slow)).every((l) => !l.includes("Cancel")));
  done("cancelled by its lens");

  // A notebook: what is found in a cell stands in the cell.
  const notebook = await vscode.workspace.openNotebookDocument(inWorkspace("cells.ipynb"));
  await vscode.window.showNotebookDocument(notebook);
  const cell = notebook.cellAt(1).document;
  await eventually("lenses of a cell", async () => (await lensTitles(cell.uri)).some((l) => l.includes("Verify")));
  const inCell = await eventually("a diagnostic in a cell", () => ours(cell.uri).find((d) => d.code?.value === "FT301"));
  assert.equal(cell.getText(inCell.range), "REFUSE");
  assert.match(hoverText(await run("vscode.executeHoverProvider", cell.uri, placeOf(cell, "celled"))), /^celled: translated/);
  assert.equal((await lensTitles(notebook.cellAt(0).document.uri)).length, 0);
  await run("ferrotile.verify", cell.uri, "celled");
  await eventually("a verdict in a cell", async () => (await lensTitles(cell.uri)).some((l) => /proved/.test(l)));
  await picture("vscode_notebook");
  await run("workbench.action.closeActiveEditor");
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  done("notebook");

  await run("ferrotile.translate", file);
  await eventually("rust file", () => vscode.workspace.textDocuments.some((d) => d.uri.path.endsWith("/kernels.rs") && d.getText().startsWith("// Generated by ferrotile")));
  done("translated");

  const port = inWorkspace("port.rs");
  const rust = await vscode.workspace.openTextDocument(port);
  await vscode.window.showTextDocument(rust, { preview: false, viewColumn: vscode.ViewColumn.One });
  const lensOfRust = await eventually("a lens in Rust", async () =>
    (await run("vscode.executeCodeLensProvider", port)).find((l) => l.command?.title.includes("Verify against the Python")));
  await run(lensOfRust.command.command, ...lensOfRust.command.arguments);
  const difference = await eventually("a difference in Rust", () => ours(port)[0]);
  assert.ok(rust.getText(difference.range).startsWith("SWAPPED"));
  assert.ok(difference.relatedInformation[0].location.uri.path.endsWith("/kernels.py"));
  await eventually("the verdict in Rust", async () => (await lensTitles(port)).some((l) => /proved failed/.test(l)));
  await vscode.workspace.openTextDocument(inWorkspace("main.rs"));
  assert.equal((await lensTitles(inWorkspace("main.rs"))).length, 0);
  assert.equal(ours(inWorkspace("main.rs")).length, 0);
  await run("workbench.action.closeActiveEditor");
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  done("rust");

  await run("ferrotile.restart");
  await eventually("lenses after restart", async () => (await lensTitles(file)).length > 0);
  assert.equal(log().match(/started/g).length, 2);
  done("restarted");
});

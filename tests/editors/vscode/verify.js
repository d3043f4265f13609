// Examples, the real translator and the real compilers, in a workspace that becomes trusted on the way.
const assert = require("node:assert");
const vscode = require("vscode");
const { cursorAt, eventually, hoverText, lensTitles, marks, messages, open, ours, outside, picture, placeOf, replace, run, script, set } = require("./support.js");

const UPPER = { x: 0, y: 0, width: 1280, height: 600 };
const DARK = "Dark Modern";
const HIGH_CONTRAST = "Default High Contrast";
const isError = (d) => d.severity === vscode.DiagnosticSeverity.Error;
const lens = async (file, wanted) => (await lensTitles(file)).find((title) => wanted.test(title));

async function refused(done) {
  const { file, document, editor } = await open("refused.py");
  const found = await eventually("diagnostics", () => ours(file).filter(isError).length >= 3 && ours(file).filter(isError));
  for (const one of found) {
    assert.match(String(one.code.value), /^FT\d{3}$/);
    assert.ok(one.code.target.path.endsWith(`${one.code.value}.md`), `no page for ${one.code.value}`);
    assert.ok(document.validateRange(one.range).isEqual(one.range) && !one.range.isEmpty);
  }
  await run("workbench.action.closeSidebar");
  await run("workbench.actions.view.problems");
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  editor.revealRange(cursorAt(editor, "# ferrotile:"), vscode.TextEditorRevealType.AtTop);
  await picture("vscode_refused");
  await run("workbench.action.closePanel");
  done(`refused ${[...new Set(found.map((d) => d.code.value))].sort().join(" ")}`);
}

/** The lines that are marked in the editors where the cursor is not: the text of each. */
async function markedLines() {
  return outside("marked", {});
}

exports.run = script(async (done) => {
  await refused(done);
  const { file, document, editor } = await open("softmax.py");
  const at = placeOf(document, "def softmax", 4);
  const hover = async () => hoverText(await run("vscode.executeHoverProvider", file, at));
  await eventually("lenses", () => lens(file, /Preview Rust/));
  assert.equal(vscode.workspace.isTrusted, false);
  assert.match(await hover(), /fn softmax/);
  done("restricted");

  await outside("trust");
  await eventually("trust", () => vscode.workspace.isTrusted);
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  await run("workbench.action.closeOtherEditors");
  await eventually("lenses after trust", () => lens(file, /Preview Rust/));
  assert.match(await hover(), /not verified yet/);
  assert.deepEqual(ours(file).filter(isError), []);
  await run("workbench.action.closeSidebar");
  done("trusted");

  await run("ferrotile.preview", file, "softmax");
  const preview = vscode.window.visibleTextEditors.find((e) => e.document.uri.scheme === "ferrotile-rs");
  assert.ok(preview, "no preview");
  assert.match(preview.document.getText(), /fn softmax/);
  assert.equal(preview.viewColumn, vscode.ViewColumn.Two);
  done("preview");

  // The line of the Rust that belongs to the cursor's is marked, and the other way round.
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  cursorAt(editor, "e = ct.exp");
  await eventually("marked Rust", async () => {
    const lines = await markedLines();
    return lines.some((line) => line.includes("reduce_max(")) && lines.some((line) => line.includes("= exp("));
  });
  await vscode.window.showTextDocument(preview.document, vscode.ViewColumn.Two);
  cursorAt(vscode.window.activeTextEditor, "let e = exp(");
  await eventually("marked Python", async () => (await markedLines()).some((line) => line.includes("ct.exp(")));
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  cursorAt(editor, "e = ct.exp");
  await eventually("marked Rust again", async () => (await markedLines()).some((line) => line.includes("= exp(")));
  done("lines");

  await run("testing.runAtCursor");
  const verdict = await eventually("verdict", () => lens(file, /^(?!.*not verified).*\bproved\b/));
  await eventually("a green mark", async () => (await marks())[0] === "passed");
  done(`verdict ${verdict}`);
  await run("workbench.action.closePanel");
  await picture("vscode_preview");
  await set("workbench", "colorTheme", "Light Modern");
  await picture("vscode_light");
  await set("workbench", "colorTheme", DARK);

  assert.match(await hover(), /^softmax: .*proved/);
  await run("ferrotile.server.run", file.toString(), "softmax");
  await eventually("what the run found", async () => /earlier: /.test(await hover()), 240_000);
  assert.match(await lens(file, /\bsimulated\b/), /\bproved\b/);
  await eventually("a mark that stays green", async () => (await marks())[0] === "passed");
  await run("workbench.action.closeEditorsInOtherGroups");
  await run("workbench.view.testing.focus");
  await run("testing.viewAsList");
  await run("workbench.panel.testResults.view.focus");
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  await picture("vscode_testing");
  await run("workbench.action.closeSidebar");
  await run("workbench.action.closePanel");
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  if (process.env.PICTURES === "1") {
    cursorAt(editor, "e / ct.sum");
    await run("editor.action.showHover");
    await picture("vscode_hover_tile", { clip: UPPER });
    await run("editor.action.hideHover");
    await outside("click", { selector: "[id*='status.languageStatus']" });
    await picture("vscode_status", { clip: { x: 800, y: 640, width: 480, height: 160 } });
    await outside("leave");
    await set("editor", "fontSize", 12); // all of it fits into VS Code's hover
    cursorAt(editor, "softmax(x");
    await run("editor.action.showHover");
    await picture("vscode_hover", { clip: UPPER });
    await run("editor.action.hideHover");
    await set("editor", "fontSize", 13);
  }
  done("hover");

  await replace(document, "ct.exp(", "ct.exp2(");
  await eventually("a stale verdict", () => lens(file, /changed since it was verified/));
  cursorAt(editor, "ct.exp2");
  await picture("vscode_stale", { clip: UPPER });
  await replace(document, "ct.exp2(", "ct.exp(");
  await eventually("the verdict again", () => lens(file, /\bproved\b/));
  done("stale");

  await set("ferrotile", "target", "sm_100");
  await eventually("a verdict for another target is stale", () => lens(file, /changed since it was verified/));
  await set("ferrotile", "target", undefined);
  done("target");

  // Refused kernels fail, each at the line that is to blame.
  const other = await open("refused.py");
  await eventually("lenses", () => lens(other.file, /not translated/));
  await run("testing.runCurrentFile");
  const shown = await eventually("messages in the editor", async () => (await messages()).length === 3 && messages());
  assert.deepEqual(shown.map((text) => text.slice(0, 5)).sort(), ["FT203", "FT210", "FT302"]);
  const seen = await marks(); // those of the lines that are visible
  assert.ok(seen.length > 0 && seen.every((mark) => mark === "failed"), seen.join());
  other.editor.revealRange(cursorAt(other.editor, "# ferrotile:"), vscode.TextEditorRevealType.AtTop);
  await run("workbench.action.closeOtherEditors");
  await set("workbench", "colorTheme", HIGH_CONTRAST);
  await picture("vscode_failed_high_contrast");
  await set("workbench", "colorTheme", DARK);
  await picture("vscode_failed");
  done("failed");
});

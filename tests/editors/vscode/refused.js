// Kernels that are refused: each diagnostic at its place, with its code and its page.
const assert = require("node:assert");
const vscode = require("vscode");
const { eventually, open, ours, picture, run, script } = require("./support.js");

exports.run = script(async (done) => {
  const { file, document, editor } = await open("refused.py");
  const found = await eventually("diagnostics", () => {
    const errors = ours(file).filter((d) => d.severity === vscode.DiagnosticSeverity.Error);
    return errors.length >= 3 && errors;
  });
  for (const one of found) {
    assert.match(String(one.code.value), /^FT\d{3}$/);
    assert.ok(one.code.target.path.endsWith(`${one.code.value}.md`), `no page for ${one.code.value}`);
    assert.ok(document.validateRange(one.range).isEqual(one.range) && !one.range.isEmpty);
  }
  done(`diagnostics ${[...new Set(found.map((d) => d.code.value))].sort().join(" ")}`);
  await run("workbench.action.closeSidebar");
  await run("workbench.actions.view.problems");
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  const first = document.positionAt(document.getText().indexOf("# ferrotile:"));
  editor.selection = new vscode.Selection(first, first);
  editor.revealRange(editor.selection, vscode.TextEditorRevealType.AtTop);
  await picture("vscode_refused");
});

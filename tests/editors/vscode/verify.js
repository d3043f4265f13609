// An example, the real translator and the real compilers, in a workspace that becomes trusted on the way.
const assert = require("node:assert");
const vscode = require("vscode");
const { eventually, hoverText, lensTitles, open, ours, outside, pause, picture, run, script } = require("./support.js");

exports.run = script(async (done) => {
  const { file, document, editor } = await open("softmax.py");
  const at = document.positionAt(document.getText().indexOf("def softmax") + 4);
  const hover = async () => hoverText(await run("vscode.executeHoverProvider", file, at));
  await eventually("lenses", async () => (await lensTitles(file)).some((l) => l.includes("Preview Rust")));

  if (process.env.RESTRICTED === "1") {
    assert.equal(vscode.workspace.isTrusted, false);
    assert.match(await hover(), /fn softmax/);
    done("restricted");
    await outside("trust");
    await eventually("trust", () => vscode.workspace.isTrusted);
    await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
    await run("workbench.action.closeOtherEditors");
    await eventually("lenses after trust", async () => (await lensTitles(file)).some((l) => l.includes("Preview Rust")));
  }
  assert.equal(vscode.workspace.isTrusted, true);
  done("trusted");

  assert.match(await hover(), /fn softmax/);
  assert.match(await hover(), /not verified yet/);
  assert.deepEqual(ours(file).filter((d) => d.severity === vscode.DiagnosticSeverity.Error), []);
  done("hover");

  await run("workbench.action.closeSidebar");
  editor.selection = new vscode.Selection(at, at);
  await run("ferrotile.preview");
  const preview = vscode.window.visibleTextEditors.find((e) => e.document.uri.scheme === "ferrotile-rs");
  assert.ok(preview, "no preview");
  assert.match(preview.document.getText(), /fn softmax/);
  assert.equal(preview.viewColumn, vscode.ViewColumn.Two);
  done("preview");

  await run("ferrotile.verify", file, "softmax");
  const verdict = await eventually("verdict", async () => (await lensTitles(file)).find((l) => /\bproved\b.*;/.test(l) && !l.includes("not verified")));
  assert.match(verdict.split(";")[0], /proved/);
  done(`verdict ${verdict}`);
  await picture("vscode_preview");

  assert.match(await hover(), /^softmax: .*proved/);
  await run("workbench.action.closeEditorsInOtherGroups");
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  editor.selection = new vscode.Selection(at, at);
  await vscode.workspace.getConfiguration("editor").update("fontSize", 17, vscode.ConfigurationTarget.Global);
  await pause(1000);
  await run("editor.action.showHover");
  await picture("vscode_hover");
  done("hover of the verdict");

  const broken = new vscode.WorkspaceEdit();
  broken.replace(file, document.getWordRangeAtPosition(document.positionAt(document.getText().indexOf("ct.exp") + 4)), "exp2");
  await vscode.workspace.applyEdit(broken);
  await eventually("a stale verdict", async () => (await lensTitles(file)).some((l) => l.includes("changed since it was verified")));
  done("stale");
});

// A refused kernel, a scripted model through VS Code's Language Model API, the real ladder.
const assert = require("node:assert");
const fs = require("node:fs");
const vscode = require("vscode");
const { cursorAt, eventually, inWorkspace, lensTitles, open, outside, picture, run, script, set } = require("./support.js");

const RUST = fs.readFileSync(inWorkspace("right.txt").fsPath, "utf8");
const WRONG = RUST.replace("(i == row) & (j == column)", "(i == row) | (j == column)");
const said = (rust) => `Here it is.\n\n\`\`\`rust\n${rust}\`\`\`\n`;
const written = () => inWorkspace("tiles_clear_tile.rs");
const drafts = () => fs.readdirSync(inWorkspace("").fsPath).filter((name) => name.endsWith(".rs"));
const shown = (wanted) => vscode.window.visibleTextEditors.find((editor) => wanted(editor.document));

/** The code actions at the kernel that ask a model. */
async function actions(file, selection) {
  const found = await run("vscode.executeCodeActionProvider", file, selection);
  return found.filter((action) => /with AI/.test(action.title));
}

/** Asks for a draft as the user does. VS Code asks for no consent on behalf of extensions under development. */
async function draft(file, selection) {
  const [action] = await actions(file, selection);
  assert.equal(action.title, "Draft `clear_tile` with AI");
  await run(action.command.command, ...action.command.arguments);
}

exports.run = script(async (done) => {
  const model = await vscode.extensions.getExtension("ferrotile-tests.scripted-model").activate();
  const { file, document, editor } = await open("tiles.py");
  await eventually("lenses", async () => (await lensTitles(file)).some((title) => /not translated/.test(title)));
  await eventually("the model", async () => (await vscode.lm.selectChatModels()).length === 1);
  const selection = cursorAt(editor, "def clear_tile");
  await eventually("the action", async () => (await actions(file, selection)).length === 1);
  await eventually("a lens", async () => (await lensTitles(file)).some((title) => /Draft with AI/.test(title)));
  await run("workbench.action.closeSidebar");
  if (process.env.PICTURES === "1") {
    await run("editor.action.codeAction", { kind: "refactor.rewrite.ferrotile", apply: "never" });
    await picture("vscode_draft_action", { clip: { x: 0, y: 0, width: 900, height: 500 } });
    await outside("leave", { x: 300 });
  }
  done("offered");

  // It never gets there: nothing is written, what failed is on top of a preview.
  model.answers = [said(WRONG)];
  await draft(file, selection);
  const preview = await eventually("a preview", () => shown((one) => one.uri.scheme === "ferrotile-rs"));
  assert.match(preview.document.getText(), /^\/\/ Drafted by AI, checked by ferrotile: UNVERIFIED\./);
  assert.match(preview.document.getText(), /\/\/ Failed: proved failed: y: the Python computes `and`, the Rust `or`/);
  assert.deepEqual(drafts(), []);
  assert.ok(model.asked.length === 5 && model.asked.every((one) => one.tools.length === 0), String(model.asked.length));
  await eventually("the question", async () => (await outside("look", { selector: ".notification-list-item" })).some((one) => /Nothing was written/.test(one.text)));
  if (process.env.PICTURES === "1") await outside("picture", { name: "vscode_draft_unverified" });
  await run("notifications.clearAll");
  done("never");

  // Rejected once, then right: written, with its mark.
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  await run("workbench.action.closeEditorsInOtherGroups");
  model.asked.length = 0;
  model.answers = [said(WRONG), said(RUST)];
  await draft(file, cursorAt(editor, "def clear_tile"));
  const opened = await eventually("the draft", () => shown((one) => one.uri.fsPath === written().fsPath));
  const text = fs.readFileSync(written().fsPath, "utf8");
  assert.equal(opened.document.getText(), text);
  assert.match(text, /^\/\/ Drafted by AI, checked by ferrotile: proved\.\n\/\/ Origin: ai\n\/\/ Model: Scripted Model\n/);
  assert.ok(text.endsWith(RUST));
  assert.equal(model.asked.length, 2);
  assert.match(model.asked[1].messages.at(-1), /the Python computes `and`, the Rust `or`/);
  assert.match(model.asked[1].messages.at(-1), /Rust line 14: `\(i == row\) \| \(j == column\)`/);
  assert.deepEqual(drafts(), ["tiles_clear_tile.rs"]);
  await eventually("its lens", async () => (await lensTitles(file)).includes("AI draft: proved"));
  await picture("vscode_draft");
  done("proved");

  // The model fails for good: one message, nothing else.
  fs.rmSync(written().fsPath);
  model.answers = [new vscode.LanguageModelError("no more today")];
  await vscode.window.showTextDocument(document, vscode.ViewColumn.One);
  await draft(file, cursorAt(editor, "def clear_tile"));
  await eventually("a message", async () => (await outside("look", { selector: ".notification-list-item" })).some((one) => /no verified draft/.test(one.text)));
  assert.deepEqual(drafts(), []);
  done("refused");
});

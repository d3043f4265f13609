// The tools for agents as VS Code's own agent mode has them: registered by the extension, started and called by VS Code.
const assert = require("node:assert");
const vscode = require("vscode");
const { eventually, open, run, script } = require("./support.js");

const ours = (name) => vscode.lm.tools.find((tool) => /ferrotile/.test(tool.name) && tool.name.endsWith(`_${name}`));
const words = (result) => result.content.map((part) => part.value ?? "").join("\n");

async function call(name, input) {
  return words(await vscode.lm.invokeTool(ours(name).name, { input, toolInvocationToken: undefined }));
}

exports.run = script(async (done) => {
  await open("kernels.py");
  await eventually("the tools", async () => {
    await run("workbench.mcp.startServer", "*", { waitForLiveTools: true });
    return ours("check") !== undefined;
  });
  for (const name of ["check", "signature", "translate", "verify", "run", "explain"]) assert.ok(ours(name), name);
  assert.ok(ours("verify").inputSchema.properties.rust);
  done("offered");

  // VS Code hands on the structured result.
  const checked = JSON.parse(await call("check", { path: "kernels.py" }));
  assert.equal(checked.summary, "Kernels: 1, in files: 1; of 1 signatures 0 translate.");
  const [found] = checked.kernels[0].diagnostics;
  assert.deepEqual([found.code, found.line], ["FT203", 8]);
  assert.match(await call("check", { path: "/etc/passwd" }), /outside the folders/);
  done("called");
});

// What the extension offers to agent modes: `node mcp.cjs MODULE PYTHON CASE`, with a `vscode` of our own. Prints JSON.
const Module = require("node:module");
const [module_, python, caseText] = process.argv.slice(2);
const { trusted, scheme, folders, old } = JSON.parse(caseText);

class EventEmitter {
  listeners = [];
  event = (listener) => (this.listeners.push(listener), { dispose() {} });
  fire(value) { this.listeners.forEach((listener) => listener(value)); }
  dispose() {}
}
class Disposable {
  constructor(end) { this.end = end; }
  dispose() { this.end(); }
  static from(...parts) { return new Disposable(() => parts.forEach((part) => part.dispose())); }
}
const granted = new EventEmitter();
const moved = new EventEmitter();
const offered = [];
const vscode = {
  EventEmitter,
  Disposable,
  extensions: { getExtension: () => undefined },
  workspace: {
    isTrusted: trusted,
    workspaceFolders: folders.map((fsPath) => ({ uri: { fsPath, scheme } })),
    getConfiguration: () => ({ get: (name, otherwise) => (name === "interpreter" ? python : otherwise) }),
    onDidGrantWorkspaceTrust: granted.event,
    onDidChangeWorkspaceFolders: moved.event,
  },
};
if (!old) {
  vscode.lm = { registerMcpServerDefinitionProvider: (id, provider) => (offered.push([id, provider]), { dispose() {} }) };
  vscode.McpStdioServerDefinition = class {
    constructor(label, command, args, env, version) { Object.assign(this, { label, command, args, env, version }); }
  };
}
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));

const { offerMcp } = require(module_);
const changed = new EventEmitter();
const said = [];
const context = { extension: { packageJSON: { version: "1.2.3" } }, extensionUri: "the extension's folder" };
offerMcp(context, { python: undefined }, changed.event, { info: (text) => said.push(text) });

(async () => {
  let times = 0;
  for (const [, provider] of offered) {
    provider.onDidChangeMcpServerDefinitions(() => (times += 1));
  }
  [changed, granted, moved].forEach((emitter) => emitter.fire());
  const definitions = await Promise.all(offered.map(([, provider]) => provider.provideMcpServerDefinitions()));
  console.log(JSON.stringify({ ids: offered.map(([id]) => id), times, definitions: definitions.flat(), said }));
})();

// Makes the extension's own environment: `node environment.cjs MODULE STORAGE EXTENSION PYTHON...`. Prints JSON.
const [module_, storage, extension, ...pythons] = process.argv.slice(2);
const { PrivateEnvironment } = require(module_);

const environment = new PrivateEnvironment({
  extension: { packageJSON: { version: "1.2.3" } },
  globalStorageUri: { fsPath: storage },
  extensionPath: extension,
});
const steps = [];
environment
  .install(pythons, (step) => steps.push(step), new AbortController().signal)
  .then(() => null, (error) => error.message)
  .then((error) => console.log(JSON.stringify({ steps, error, python: environment.python ?? null })));

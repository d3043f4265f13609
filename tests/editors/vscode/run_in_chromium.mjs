// Runs the in-editor tests of the extension in a real VS Code workbench (code-server) inside headless Chromium.
// Environment: BASE, EXT_DIR (extension folder), TESTS (file with exports.run), FOLDER, SHOTS (folder for pictures).
// The exit status is the one that the extension host reports.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const base = process.env.BASE;
const { EXT_DIR, TESTS, FOLDER, SHOTS, SIGNAL } = process.env;
const authority = new URL(base).host;
const remote = (path) => ({ scheme: "vscode-remote", authority, path });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  // A page that the test answers for counts as public: without this its socket to loopback is refused.
  args: ["--no-sandbox", "--disable-gpu", "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets,BlockInsecurePrivateNetworkRequests"],
});
const page = await browser.newPage({ viewport: { width: 1500, height: 850 } });

// A built product ignores ?payload=, so the page's own configuration is changed on the way.
await page.route((url) => url.pathname === "/", async (route) => {
  const response = await route.fetch();
  const html = await response.text();
  const marker = /(id="vscode-workbench-web-configuration" data-settings=")([^"]*)"/;
  const body = html.replace(marker, (_, head, json) => {
    const config = JSON.parse(json.replaceAll("&quot;", '"').replaceAll("&amp;", "&"));
    config.developmentOptions = { ...config.developmentOptions, extensions: [remote(EXT_DIR)], extensionTestsPath: remote(TESTS) };
    return head + JSON.stringify(config).replaceAll("&", "&amp;").replaceAll('"', "&quot;") + '"';
  });
  await route.fulfill({ response, body });
});

let finish;
const finished = new Promise((resolve) => { finish = resolve; });
await page.exposeFunction("codeAutomationLog", (kind, args) => { if (kind === "error") console.log(kind, JSON.stringify(args).slice(0, 400)); });
await page.exposeFunction("codeAutomationExit", (code) => finish(code));
await page.goto(`${base}/?folder=${FOLDER}`);
const timer = setTimeout(() => finish("timeout"), 120_000);
// The test asks for a picture by making the file SIGNAL; it goes on by itself after a while.
const camera = setInterval(async () => {
  if (SHOTS && SIGNAL && existsSync(SIGNAL)) {
    clearInterval(camera);
    await page.waitForTimeout(1500);
    await page.screenshot({ path: `${SHOTS}/vscode_preview.png` });
  }
}, 200);
const code = await finished;
clearTimeout(timer);
clearInterval(camera);
if (code === "timeout" && SHOTS) await page.screenshot({ path: `${SHOTS}/vscode_timeout.png` });
await browser.close();
console.log("in-editor tests:", code);
process.exit(code === 0 ? 0 : 1);

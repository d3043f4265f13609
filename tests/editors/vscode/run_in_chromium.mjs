// Runs an in-editor script in a real VS Code workbench (code-server) inside headless Chromium.
// Environment: BASE, EXTENSION (its folder), SCRIPT (file with exports.run), FOLDER, WISH (file in which the script asks
// for something outside the editor), SHOTS (folder for pictures). The exit status is the one that the host reports.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { chromium } from "playwright-core";

const { BASE, EXTENSION, SCRIPT, FOLDER, SHOTS, WISH } = process.env;
const remote = (path) => ({ scheme: "vscode-remote", authority: new URL(BASE).host, path });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  headless: true,
  // A page that the test answers for counts as public: without this its socket to loopback is refused.
  args: ["--no-sandbox", "--disable-gpu", "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets,BlockInsecurePrivateNetworkRequests"],
});
const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });

// A built product ignores ?payload=, so the page's own configuration is changed on the way.
await page.route((url) => url.pathname === "/", async (route) => {
  const response = await route.fetch();
  const html = await response.text();
  const marker = /(id="vscode-workbench-web-configuration" data-settings=")([^"]*)"/;
  const body = html.replace(marker, (_, head, json) => {
    const config = JSON.parse(json.replaceAll("&quot;", '"').replaceAll("&amp;", "&"));
    config.developmentOptions = { ...config.developmentOptions, extensions: [remote(EXTENSION)], extensionTestsPath: remote(SCRIPT) };
    return head + JSON.stringify(config).replaceAll("&", "&amp;").replaceAll('"', "&quot;") + '"';
  });
  await route.fulfill({ response, body });
});

/** Waits until two looks at the page, a second apart, are the same. */
async function still() {
  let before;
  for (let look = 0; look < 10; look++) {
    await page.waitForTimeout(1000);
    const now = await page.screenshot({ caret: "hide" });
    if (before?.equals(now)) return;
    before = now;
  }
}

async function grant(wish) {
  const [kind, name] = wish.split(" ");
  if (kind === "picture") {
    await still();
    await page.screenshot({ path: `${SHOTS}/${name}.png`, caret: "hide" });
  } else if (kind === "trust") {
    // The banner's link, then the button of the page that it opens.
    await page.getByText("Manage", { exact: true }).first().click({ timeout: 30_000 });
    await page.getByRole("button", { name: "Trust", exact: true }).click({ timeout: 30_000 });
  }
}

let finish;
const finished = new Promise((resolve) => { finish = resolve; });
await page.exposeFunction("codeAutomationLog", (kind, args) => { if (kind === "error") console.log(kind, JSON.stringify(args).slice(0, 400)); });
await page.exposeFunction("codeAutomationExit", (code) => finish(code));
await page.goto(`${BASE}/?folder=${FOLDER}`, { timeout: 120_000 });
const timer = setTimeout(() => finish("timeout"), Number(process.env.LIMIT_MS));
let busy = false;
const wishes = setInterval(async () => {
  if (busy || !existsSync(WISH)) return;
  busy = true;
  const wish = readFileSync(WISH, "utf8");
  try {
    if (wish !== "") {
      await grant(wish);
      rmSync(WISH);
    }
  } catch (error) {
    console.log(`${wish}: ${error}`);
    finish("a wish failed");
  } finally {
    busy = false;
  }
}, 100);
const code = await finished;
clearTimeout(timer);
clearInterval(wishes);
if (code !== 0) await page.screenshot({ path: `${SHOTS}/vscode_failed.png` });
await browser.close();
console.log("in-editor script:", code);
process.exit(code === 0 ? 0 : 1);

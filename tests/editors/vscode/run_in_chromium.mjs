// Runs an in-editor script in a real VS Code workbench (code-server) inside headless Chromium.
// Environment: BASE, EXTENSIONS (their folders), SCRIPT (file with exports.run), FOLDER, WISH (file in which the script asks
// for something outside the editor), SHOTS (folder for pictures). The exit status is the one that the host reports.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { chromium } from "playwright-core";

const { BASE, EXTENSIONS, SCRIPT, FOLDER, SHOTS, WISH } = process.env;
const CLICK_MS = 30_000;
const remote = (path) => ({ scheme: "vscode-remote", authority: new URL(BASE).host, path });

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  headless: true,
  // A page that the test answers for counts as public: without this its socket to loopback is refused.
  args: ["--no-sandbox", "--disable-gpu", "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets,BlockInsecurePrivateNetworkRequests"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });

// A built product ignores ?payload=, so the page's own configuration is changed on the way.
await page.route((url) => url.pathname === "/", async (route) => {
  const response = await route.fetch();
  const html = await response.text();
  const marker = /(id="vscode-workbench-web-configuration" data-settings=")([^"]*)"/;
  const body = html.replace(marker, (_, head, json) => {
    const config = JSON.parse(json.replaceAll("&quot;", '"').replaceAll("&amp;", "&"));
    config.developmentOptions = { ...config.developmentOptions, extensions: EXTENSIONS.split(":").map(remote), extensionTestsPath: remote(SCRIPT) };
    return head + JSON.stringify(config).replaceAll("&", "&amp;").replaceAll('"', "&quot;") + '"';
  });
  await route.fulfill({ response, body });
});

/** Waits until several looks at the page, one after the other, are the same. */
async function still() {
  let before;
  for (let look = 0, same = 0; look < 40 && same < 3; look++) {
    await page.waitForTimeout(250);
    const now = await page.screenshot({ caret: "hide" });
    same = before?.equals(now) ? same + 1 : 0;
    before = now;
  }
}

const wishes = {
  /** `clip`: a part of the page. */
  async picture({ name, clip }) {
    await still();
    await page.screenshot({ path: `${SHOTS}/${name}.png`, caret: "hide", clip });
  },
  /** Leaves whatever the mouse is over. */
  async leave({ x = 640 }) {
    await page.keyboard.press("Escape");
    await page.mouse.move(x, 650);
  },
  /** What is drawn there: of each element the text, the label for screen readers, and the classes. */
  async look({ selector }) {
    return page.locator(selector).evaluateAll((found) =>
      found.map((one) => ({ text: one.textContent.replaceAll("\u00a0", " "), label: one.getAttribute("aria-label"), class: one.className })),
    );
  },
  /** The lines over which an extension's decoration lies, in every editor: their texts. */
  async marked() {
    return page.evaluate(() =>
      [...document.querySelectorAll(".view-overlays [class*='TextEditorDecorationType']")].map((mark) => {
        const top = mark.getBoundingClientRect().top;
        const lines = [...mark.closest(".monaco-editor").querySelectorAll(".view-line")];
        return lines.find((line) => Math.abs(line.getBoundingClientRect().top - top) < 2)?.textContent.replaceAll("\u00a0", " ") ?? "";
      }),
    );
  },
  async click({ selector }) {
    await page.locator(selector).first().click({ timeout: CLICK_MS });
  },
  /** The banner's link, then the button of the page that it opens. */
  async trust() {
    await page.getByText("Manage", { exact: true }).first().click({ timeout: CLICK_MS });
    await page.getByRole("button", { name: "Trust", exact: true }).click({ timeout: CLICK_MS });
  },
};

let finish;
const finished = new Promise((resolve) => { finish = resolve; });
await page.exposeFunction("codeAutomationLog", (kind, args) => { if (kind === "error") console.log(kind, JSON.stringify(args).slice(0, 400)); });
await page.exposeFunction("codeAutomationExit", (code) => finish(code));
await page.goto(`${BASE}/?folder=${FOLDER}`, { timeout: 120_000 });
const timer = setTimeout(() => finish("timeout"), Number(process.env.LIMIT_MS));
let busy = false;
const looking = setInterval(async () => {
  if (busy || !existsSync(WISH)) return;
  busy = true;
  const wish = JSON.parse(readFileSync(WISH, "utf8"));
  try {
    const answer = await wishes[wish.kind](wish);
    writeFileSync(`${WISH}.answer.part`, JSON.stringify(answer ?? null));
    rmSync(WISH);
    renameSync(`${WISH}.answer.part`, `${WISH}.answer`);
  } catch (error) {
    console.log(`${JSON.stringify(wish)}: ${error}`);
    await page.screenshot({ path: `${SHOTS}/vscode_stopped.png` });
    finish("a wish failed");
  } finally {
    busy = false;
  }
}, 50);
const code = await finished;
clearTimeout(timer);
clearInterval(looking);
if (code === "timeout") await page.screenshot({ path: `${SHOTS}/vscode_stopped.png` });
await browser.close();
console.log("in-editor script:", code);
process.exit(code === 0 ? 0 : 1);

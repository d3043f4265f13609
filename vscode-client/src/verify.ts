import * as vscode from "vscode";
import { ProgressType, WorkDoneProgress, type LanguageClient } from "vscode-languageclient/node";
import { VERIFY, type Rung, type Span, type VerifiedKernel, type Verified, type VerdictMessage } from "./protocol.js";

const LONGEST = 66;
const PARTIAL = new ProgressType<Verified>();
let requests = 0;

/** Hears what a verification does: each step in words, and each kernel as soon as its verdict is known. */
export interface Listener {
  step(words: string): void;
  verdict(kernel: VerifiedKernel): void;
}

/** Verifies a kernel of an open file, or all. Ends when the request does; a cancelled one rejects. */
export async function verify(
  client: LanguageClient,
  uri: vscode.Uri,
  kernel: string | undefined,
  listener: Listener,
  cancel: vscode.CancellationToken,
): Promise<void> {
  requests += 1;
  const workDoneToken = `ferrotile-work-${requests}`;
  const partialResultToken = `ferrotile-verdicts-${requests}`;
  const heard = vscode.Disposable.from(
    client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
      if (value.kind === "report" && value.message !== undefined) {
        listener.step(value.message);
      }
    }),
    client.onProgress(PARTIAL, partialResultToken, (value) => value.kernels.forEach((one) => listener.verdict(one))),
  );
  try {
    const params = { uri: client.code2ProtocolConverter.asUri(uri), kernel: kernel ?? null, workDoneToken, partialResultToken };
    const { kernels } = await client.sendRequest<Verified>(VERIFY, params, cancel);
    kernels.forEach((one) => listener.verdict(one));
  } finally {
    heard.dispose();
  }
}

export function rangeOf({ start, end }: Span): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

/** Messages that VS Code shows at the lines to blame. */
export function testMessages(uri: vscode.Uri, kernel: VerifiedKernel): vscode.TestMessage[] {
  return kernel.messages.map((told) => {
    const made = testMessage(told);
    made.location = new vscode.Location(uri, rangeOf(told.range));
    return made;
  });
}

function testMessage({ message, code, expected, actual }: VerdictMessage): vscode.TestMessage {
  const text = code === null ? message : `${code}: ${message}`;
  return expected === undefined || actual === undefined ? new vscode.TestMessage(text) : vscode.TestMessage.diff(text, expected, actual);
}

/** A kernel's rungs, for the output of a test run. */
export function table(kernel: VerifiedKernel): string {
  const tried = kernel.rungs.filter((rung) => rung.status !== "skipped" || rung.detail !== "not translated");
  const lines = tried.flatMap((rung) => [row(rung), ...details(rung)]);
  return [`${kernel.name}: ${kernel.verdict}`, ...lines, "", ""].join("\r\n");
}

const COLOURS = { passed: 32, failed: 31, timeout: 31, crashed: 31, skipped: 33 } as const;

function row({ rung, status, ms }: Rung): string {
  const time = ms >= 0.5 ? `  ${(ms / 1000).toFixed(3)} s` : "";
  return `  ${rung.padEnd(13)}\u001b[${COLOURS[status]}m${status}\u001b[0m${time}`;
}

/** All that is said of a failure; of other rungs the beginning: under which facts they hold can be long. */
function details({ status, detail }: Rung): string[] {
  const lines = detail === "" ? [] : detail.split("\n");
  const shown = ["failed", "timeout", "crashed"].includes(status) ? lines : lines.slice(0, 1).map(clip);
  return shown.map((line) => `      ${line}`);
}

function clip(line: string): string {
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST - 1)}…`;
}

import * as vscode from "vscode";
import { ResponseError, WorkDoneProgress, type LanguageClient } from "vscode-languageclient/node";
import { requireTrust } from "./trust.js";

const COMPLETE = "ferrotile/complete";
const DRAFT = "ferrotile/draft";
const REQUEST_FAILED = -32803;
/** Characters; the server takes no longer answer. */
const LONGEST_ANSWER = 400_000;
/** An answer of more characters a token is longer than it may be. */
const CHARACTERS_A_TOKEN = 8;
const GET_A_MODEL =
  "no language model is available. Sign in to one (for example through GitHub Copilot, or an extension that brings models), " +
  "and look at Chat: Manage Language Models; or use `ferrotile draft` on the command line with an endpoint of your own.";

interface Question {
  readonly draft: string;
  readonly messages: readonly { readonly role: "system" | "user" | "assistant"; readonly content: string }[];
  readonly tokens: number;
}

interface Answer {
  readonly text: string;
  readonly promptTokens?: number;
  readonly answerTokens?: number;
  readonly cut: boolean;
}

/** The user's own language models: the loop of drafts is the server's, a model that the user chose answers it. */
export class Models {
  private readonly chosen = new Map<string, vscode.LanguageModelChat>();
  private drafts = 0;

  /** `logs`: a folder of the extension's own, in which every draft leaves its log. */
  constructor(
    private readonly logs: vscode.Uri,
    private readonly output: vscode.LogOutputChannel,
  ) {}

  /** Answers the questions of drafts that were started here, and no others. */
  serve(client: LanguageClient): void {
    client.onRequest(COMPLETE, (question: Question, cancel: vscode.CancellationToken) => this.complete(question, cancel));
  }

  /** Drafts a refused kernel: asks for a model, then shows how far the server is. */
  async draft(client: LanguageClient, source: vscode.Uri, kernel: string | undefined): Promise<void> {
    if (kernel === undefined) {
      throw new Error("use Draft with AI at a refused kernel: it is among the code actions there.");
    }
    if (!(await requireTrust())) {
      return;
    }
    const model = await pick();
    if (model === undefined) {
      return;
    }
    this.drafts += 1;
    const workDoneToken = `ferrotile-draft-${this.drafts}`;
    this.chosen.set(workDoneToken, model);
    const options = { location: vscode.ProgressLocation.Notification, title: `Drafting ${kernel}`, cancellable: true };
    try {
      await vscode.window.withProgress(options, async (progress, cancel) => {
        const heard = client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
          if (value.kind === "report" && value.message !== undefined) {
            progress.report({ message: value.message });
          }
        });
        try {
          const log = await this.newLog(kernel);
          const params = { uri: client.code2ProtocolConverter.asUri(source), kernel, model: model.name, show: false, log, workDoneToken };
          const { uri } = await client.sendRequest<{ readonly uri: string | null }>(DRAFT, params, cancel);
          if (uri !== null) {
            await show(client.protocol2CodeConverter.asUri(uri));
          }
        } catch (error) {
          if (!cancel.isCancellationRequested) {
            throw error;
          }
        } finally {
          heard.dispose();
        }
      });
    } finally {
      this.chosen.delete(workDoneToken);
    }
  }

  private async newLog(kernel: string): Promise<string> {
    await vscode.workspace.fs.createDirectory(this.logs);
    const log = vscode.Uri.joinPath(this.logs, `draft-${kernel}-${new Date().toISOString().replace(/[:.]/g, "-")}.jsonl`).fsPath;
    this.output.info(`Draft of ${kernel}: prompts, answers and verdicts are in ${log}`);
    return log;
  }

  private async complete(question: Question, cancel: vscode.CancellationToken): Promise<Answer> {
    const model = this.chosen.get(question.draft);
    if (model === undefined) {
      throw failed("the draft has ended", false);
    }
    try {
      return await answer(model, question, cancel);
    } catch (error) {
      throw refused(error);
    }
  }
}

/** The model to ask: the only one, or the one that the user picks. Says what to do where there is none. */
async function pick(): Promise<vscode.LanguageModelChat | undefined> {
  // Not every editor that runs this extension has language models.
  const models = (await (vscode.lm as typeof vscode.lm | undefined)?.selectChatModels?.()) ?? [];
  if (models.length === 0) {
    throw new Error(GET_A_MODEL);
  }
  if (models.length === 1) {
    return models[0];
  }
  const items = models.map((model) => ({ label: model.name, description: `${model.vendor} ${model.version}`.trim(), model }));
  const placeHolder = "The kernel and what it uses are sent to this model; ferrotile checks what it proposes";
  return (await vscode.window.showQuickPick(items, { title: "Draft with AI", placeHolder }))?.model;
}

/** The draft beside the Python. */
async function show(uri: vscode.Uri): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: true });
}

async function answer(model: vscode.LanguageModelChat, question: Question, cancel: vscode.CancellationToken): Promise<Answer> {
  const messages = question.messages.map(({ role, content }) =>
    role === "assistant" ? vscode.LanguageModelChatMessage.Assistant(content) : vscode.LanguageModelChatMessage.User(content),
  );
  const stop = new vscode.CancellationTokenSource();
  const stopped = cancel.onCancellationRequested(() => stop.cancel());
  const most = Math.min(LONGEST_ANSWER, question.tokens * CHARACTERS_A_TOKEN);
  try {
    // No tools: whatever the answer says, nothing but its text is taken.
    const response = await model.sendRequest(messages, { justification: "ferrotile drafts a kernel that it cannot translate." }, stop.token);
    let text = "";
    for await (const piece of response.text) {
      text += piece;
      if (text.length > most) {
        stop.cancel();
        break;
      }
    }
    const counts = await counted(model, question, text, cancel);
    return { text, cut: text.length > most, ...counts };
  } finally {
    stopped.dispose();
    stop.dispose();
  }
}

/** Tokens as the model counts them, where it does. */
async function counted(
  model: vscode.LanguageModelChat,
  question: Question,
  text: string,
  cancel: vscode.CancellationToken,
): Promise<Pick<Answer, "promptTokens" | "answerTokens">> {
  try {
    const prompt = question.messages.map((message) => message.content).join("\n");
    const [promptTokens, answerTokens] = await Promise.all([model.countTokens(prompt, cancel), model.countTokens(text, cancel)]);
    return { promptTokens, answerTokens };
  } catch {
    return {};
  }
}

/** What is final: the user said no, or the model is gone. Everything else may pass. */
function refused(error: unknown): Error {
  const text = error instanceof Error ? error.message : String(error);
  const code = error instanceof vscode.LanguageModelError ? error.code : "";
  return failed(text, !["NoPermissions", "Blocked", "NotFound"].includes(code));
}

function failed(text: string, passing: boolean): ResponseError<{ readonly passing: boolean }> {
  return new ResponseError(REQUEST_FAILED, text, { passing });
}

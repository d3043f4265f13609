import * as vscode from "vscode";
import type { Server } from "./client.js";
import { LINES, type Lines } from "./protocol.js";

const PREVIEW_SCHEME = "ferrotile-rs";
const PAUSE_MS = 60;

type Row = Lines["lines"][number];

/** A kernel's Python and its preview, both visible. */
interface Pair {
  readonly python: vscode.TextEditor;
  readonly preview: vscode.TextEditor;
  readonly kernel: string | undefined;
}

/** While a kernel's Python and its preview are both visible, marks the lines of the one that belong to the cursor's line in the
 * other. */
export class MatchingLines implements vscode.Disposable {
  private mark = markFor(vscode.window.activeColorTheme.kind);
  private timer: NodeJS.Timeout | undefined;
  private round = 0;
  private readonly maps = new Map<string, Lines>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.subscriptions = [
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.soon(textEditor)),
      vscode.window.onDidChangeActiveTextEditor((editor) => this.soon(editor)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.soon(vscode.window.activeTextEditor)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.scheme === PREVIEW_SCHEME) {
          this.soon(vscode.window.activeTextEditor);
        }
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => void this.maps.delete(uri.toString())),
      vscode.window.onDidChangeActiveColorTheme(({ kind }) => {
        this.mark.dispose();
        this.mark = markFor(kind);
        this.soon(vscode.window.activeTextEditor);
      }),
    ];
  }

  private soon(editor: vscode.TextEditor | undefined): void {
    if (editor !== undefined && editor === vscode.window.activeTextEditor) {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => void this.follow(editor), PAUSE_MS);
    }
  }

  private async follow(editor: vscode.TextEditor): Promise<void> {
    this.round += 1;
    const own = this.round;
    const found = pairOf(editor);
    const rows = found === undefined ? [] : await this.rows(found);
    if (own !== this.round) {
      return; // the cursor has moved on
    }
    const ranges = found?.python === editor ? ofPython(rows, editor.selection.active.line) : ofRust(rows, editor.selection.active.line);
    const other = found?.python === editor ? found.preview : found?.python;
    for (const one of vscode.window.visibleTextEditors) {
      one.setDecorations(this.mark, one === other ? ranges : []);
    }
    if (ranges[0] !== undefined) {
      other?.revealRange(ranges[0], vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
  }

  /** Asked for once a version of the Python. */
  private async rows({ python, preview, kernel }: Pair): Promise<readonly Row[]> {
    const key = preview.document.uri.toString();
    const known = this.maps.get(key);
    if (known?.version === python.document.version) {
      return known.lines;
    }
    const client = this.server.health === "running" ? await this.server.get() : undefined;
    if (client === undefined) {
      return [];
    }
    try {
      const params = { uri: client.code2ProtocolConverter.asUri(python.document.uri), kernel: kernel ?? null };
      const made = await client.sendRequest<Lines>(LINES, params);
      this.maps.set(key, made);
      return made.lines;
    } catch {
      return [];
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.mark.dispose();
    vscode.Disposable.from(...this.subscriptions).dispose();
  }
}

/** High-contrast themes mark by a border, others by their background. */
function markFor(kind: vscode.ColorThemeKind): vscode.TextEditorDecorationType {
  const contrast = kind === vscode.ColorThemeKind.HighContrast || kind === vscode.ColorThemeKind.HighContrastLight;
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.wordHighlightForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Center,
    ...(contrast
      ? { border: "1px dashed", borderColor: new vscode.ThemeColor("contrastActiveBorder") }
      : { backgroundColor: new vscode.ThemeColor("editor.wordHighlightBackground") }),
  });
}

/** The editor with its other side; of several previews the first. */
function pairOf(editor: vscode.TextEditor): Pair | undefined {
  for (const preview of vscode.window.visibleTextEditors) {
    const source = sourceOf(preview.document.uri);
    const python = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === source?.uri);
    if (source !== undefined && python !== undefined && (editor === preview || editor === python)) {
      return { python, preview, kernel: source.kernel };
    }
  }
  return undefined;
}

/** The source of a preview, and its kernel. */
function sourceOf(preview: vscode.Uri): { readonly uri: string; readonly kernel: string | undefined } | undefined {
  const parts = /^uri=(.*?)(?:&kernel=(.*))?$/.exec(preview.scheme === PREVIEW_SCHEME ? preview.query : "");
  return parts?.[1] === undefined ? undefined : { uri: vscode.Uri.parse(parts[1]).toString(), kernel: parts[2] };
}

/** The Rust that the smallest piece of Python at a line became. */
function ofPython(rows: readonly Row[], line: number): vscode.Range[] {
  const here = rows.filter(([first, last]) => first <= line && line <= last);
  const least = Math.min(...here.map(([first, last]) => last - first));
  return here.filter(([first, last]) => last - first === least).map(([, , first, last]) => new vscode.Range(first, 0, last, 0));
}

/** The Python that made a line of the Rust. */
function ofRust(rows: readonly Row[], line: number): vscode.Range[] {
  return rows.filter(([, , first, last]) => first <= line && line <= last).map(([first, last]) => new vscode.Range(first, 0, last, 0));
}

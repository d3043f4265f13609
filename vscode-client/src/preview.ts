import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

interface PreviewAddress {
  readonly uri: string;
  readonly kernel: string | null;
}

/** Show the generated Rust beside the Python, read-only; without a kernel, the one under the cursor. */
export async function preview(client: LanguageClient, source: vscode.Uri, kernel?: string): Promise<vscode.TextEditor> {
  const editor = vscode.window.visibleTextEditors.find((e) => e.document.uri.toString() === source.toString());
  const cursor = editor?.selection.active;
  const address = await client.sendRequest<PreviewAddress>("ferrotile/previewUri", {
    uri: client.code2ProtocolConverter.asUri(source),
    kernel: kernel ?? null,
    line: cursor?.line,
    character: cursor?.character,
  });
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(address.uri));
  const shown = await vscode.window.showTextDocument(document, {
    viewColumn: vscode.ViewColumn.Beside,
    preserveFocus: true,
    preview: true,
  });
  const entry = document.getText().indexOf("#[cutile::entry");
  if (entry >= 0) {
    // The helpers above the entry are of less interest.
    const line = document.positionAt(entry);
    shown.revealRange(new vscode.Range(line, line), vscode.TextEditorRevealType.AtTop);
  }
  return shown;
}

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
  return vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: true });
}

import * as vscode from "vscode";

export const SECTION = "ferrotile";

/** Documents that are analysed; those of a virtual workspace are read and never run. */
export const SCHEMES: readonly string[] = ["file", "untitled", "vscode-vfs", "vscode-notebook-cell"];

export interface Settings {
  readonly target: string;
  readonly unsafe: string;
  readonly checks: string;
  readonly inlayHints: boolean;
  readonly diagnosticMode: string;
}

export function settings(): Settings {
  const section = vscode.workspace.getConfiguration(SECTION);
  return {
    target: section.get("target", "sm_90"),
    unsafe: section.get("unsafe", "proved"),
    checks: section.get("checks", "free"),
    inlayHints: section.get("inlayHints", true),
    diagnosticMode: section.get("diagnosticMode", "openFilesOnly"),
  };
}

/** The user's interpreter; in an untrusted workspace VS Code itself ignores what the workspace says here. */
export function configuredInterpreter(): string | undefined {
  const path = vscode.workspace.getConfiguration(SECTION).get<string>("interpreter", "").trim();
  return path === "" ? undefined : path;
}

export function importStrategy(): "useBundled" | "fromEnvironment" {
  return vscode.workspace.getConfiguration(SECTION).get<string>("importStrategy") === "useBundled" ? "useBundled" : "fromEnvironment";
}

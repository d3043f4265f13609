import * as vscode from "vscode";

export const SECTION = "ferrotile";

export interface Settings {
  readonly target: string;
  readonly unsafe: string;
  readonly checks: string;
  readonly inlayHints: boolean;
}

export function settings(): Settings {
  const section = vscode.workspace.getConfiguration(SECTION);
  return {
    target: section.get("target", "sm_90"),
    unsafe: section.get("unsafe", "proved"),
    checks: section.get("checks", "free"),
    inlayHints: section.get("inlayHints", true),
  };
}

/** The user's interpreter; in an untrusted workspace VS Code itself ignores what the workspace says here. */
export function configuredInterpreter(): string | undefined {
  const path = vscode.workspace.getConfiguration(SECTION).get<string>("interpreter", "").trim();
  return path === "" ? undefined : path;
}

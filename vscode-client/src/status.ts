import * as vscode from "vscode";
import type { Server } from "./client.js";
import type { Kernels } from "./kernels.js";
import { SCHEMES } from "./settings.js";
import { isVirtual } from "./trust.js";

const PYTHON: vscode.DocumentFilter[] = SCHEMES.map((scheme) => ({ scheme, language: "python" }));

interface Shown {
  readonly text: string;
  readonly detail?: string;
  readonly severity?: vscode.LanguageStatusSeverity;
  readonly busy?: boolean;
  readonly command?: vscode.Command;
}

const NOTHING = { detail: undefined, severity: vscode.LanguageStatusSeverity.Information, busy: false, command: undefined };
const OUTPUT: vscode.Command = { command: "ferrotile.showOutput", title: "Show Output" };
const INSTALL: vscode.Command = { command: "ferrotile.install", title: "Install" };
const RESTART: vscode.Command = { command: "ferrotile.restart", title: "Restart" };
const TRUST: vscode.Command = { command: "workbench.trust.manage", title: "Manage Trust" };

/** The language status item (`{}` in the status bar): the server, and the kernels of the file that is shown. */
export function showStatus(server: Server, kernels: Kernels): vscode.Disposable {
  const item = vscode.languages.createLanguageStatusItem("ferrotile.status", PYTHON);
  item.name = "ferrotile";
  const update = (): void => {
    const shown = toShow(server, kernels);
    Object.assign(item, NOTHING, shown);
  };
  update();
  return vscode.Disposable.from(
    item,
    server.onHealth(update),
    kernels.onChange(update),
    vscode.window.onDidChangeActiveTextEditor(update),
    vscode.workspace.onDidGrantWorkspaceTrust(update),
  );
}

function toShow(server: Server, kernels: Kernels): Shown {
  switch (server.health) {
    case "notNeeded":
      return { text: "ferrotile: no kernel here" };
    case "starting":
      return { text: "ferrotile: starting", busy: true, command: OUTPUT };
    case "notFound":
      return { text: "ferrotile is not installed", severity: vscode.LanguageStatusSeverity.Error, command: INSTALL };
    case "stopped":
      return { text: "ferrotile: the server stopped", severity: vscode.LanguageStatusSeverity.Error, command: RESTART };
    case "running":
      return ofFile(kernels);
  }
}

function ofFile(kernels: Kernels): Shown {
  const uri = vscode.window.activeTextEditor?.document.uri;
  const found = uri === undefined ? [] : (kernels.of(uri) ?? []);
  const translated = found.filter((kernel) => kernel.translated).length;
  const share = translated === found.length ? translated : `${translated} of ${found.length}`;
  const verb = found.length === 1 ? "kernel translates" : "kernels translate";
  const text = found.length === 0 ? "ferrotile: no kernel here" : `ferrotile: ${share} ${verb}`;
  const severity = translated < found.length ? vscode.LanguageStatusSeverity.Warning : vscode.LanguageStatusSeverity.Information;
  if (isVirtual()) {
    return { text, severity, detail: "virtual workspace: nothing is verified", command: OUTPUT };
  }
  if (!vscode.workspace.isTrusted) {
    return { text, severity, detail: "Restricted Mode: nothing is verified", command: TRUST };
  }
  const verdicts = found.map((kernel) => kernel.verdict).filter((verdict) => verdict !== null);
  const held = verdicts.filter((verdict) => verdict.holds);
  const failed = held.filter((verdict) => verdict.failed).length;
  const counts = [
    [held.length - failed, "verified"],
    [failed, "failed"],
    [verdicts.length - held.length, "changed since it was verified"],
  ] as const;
  const told = counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  const detail = told.join(", ") || "not verified yet";
  return found.length === 0 ? { text, command: OUTPUT } : { text, severity, detail, command: OUTPUT };
}

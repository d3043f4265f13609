"""What an export did, for people and for programs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from ferrotile_runner.export.outcome import FAILED, UP_TO_DATE, Action, FileOutcome, Outcome

from ferrotile_server.cli.ci_paths import checkout, relative
from ferrotile_server.cli.github_annotations import data, property_
from ferrotile_server.cli.output import Style, plural

_WOULD = {
    Action.CREATED: "would be created",
    Action.UPDATED: "would be updated",
    Action.MERGED: "would be merged",
    Action.MOVED: "would be moved here",
    Action.DELETED: "would be deleted",
}
_WIDTH = max(len(action.value) for action in Action)


def exit_code(outcome: Outcome) -> int:
    """0 where nothing is left to do: after a check, where all is up to date; after an export, where no file needs a
    person."""
    return int(outcome.failed if outcome.written else not outcome.up_to_date)


def shown(folder: Path, outcome: Outcome, format_: str, style: Style) -> str:
    """The report in the form that was asked for: `text`, `json` or `github`."""
    match format_:
        case "json":
            return as_json(folder, outcome)
        case "github":
            return as_github(folder, outcome)
        case _:
            return as_text(folder, outcome, style)


def as_text(folder: Path, outcome: Outcome, style: Style) -> str:
    """A line a file that is not as it was, those that need a person as `path:line: what to do`; then the sum."""
    lines = [_line(folder, file, outcome.written, style) for file in outcome.files if file.action not in UP_TO_DATE]
    lines += [f"note: {note}" for note in outcome.notes]
    counts = Counter(file.action for file in outcome.files)
    parts = ", ".join(f"{counts[action]} {action.value}" for action in Action if counts[action])
    if not outcome.written:
        said = "up to date" if outcome.up_to_date else "not up to date: run `ferrotile export` without --check"
        return "\n".join([*lines, f"{folder}: {said}"])
    return "\n".join([*lines, f"{plural(len(outcome.files), 'file')} in {folder}: {parts or 'nothing'}"])


def as_github(folder: Path, outcome: Outcome) -> str:
    """A workflow command for each file that needs a person, or, after a check, that is out of date."""
    root, lines = checkout(), []
    for file in outcome.files:
        if file.action in FAILED or not (outcome.written or file.action in UP_TO_DATE):
            said = file.detail if file.action in FAILED else f"{_WOULD[file.action]}: run `ferrotile export`"
            path = relative(folder / file.path, root) or str(folder / file.path)
            line = "" if file.line is None else f",line={file.line}"
            title = property_(f"Exported Rust: {file.action.value}")
            lines.append(f"::error file={property_(path)}{line},title={title}::{data(said)}")
    return "\n".join([*lines, *(f"::notice title=Exported Rust::{data(note)}" for note in outcome.notes)])


def as_json(folder: Path, outcome: Outcome) -> str:
    """The form of `Outcome.to_json`, and the folder that its paths are relative to."""
    return json.dumps({"folder": str(folder), **outcome.to_json()}, indent=2, ensure_ascii=False)


def _line(folder: Path, file: FileOutcome, written: bool, style: Style) -> str:
    path = f"{folder / file.path}"
    if file.action in FAILED:
        where = path if file.line is None else f"{path}:{file.line}"
        return f"{style.bold(f'{where}:')} {style.red(file.action.value)}: {file.detail}"
    detail = f" ({file.detail})" if file.detail else ""
    if not written:
        return f"{path}: {_WOULD[file.action]}{detail}"
    return f"{style.green(f'{file.action.value:{_WIDTH}}')}  {path}{detail}"

"""Diagnostics as workflow commands of GitHub Actions: `::error file=..,line=..::message`, shown beside the code."""

from __future__ import annotations

from collections.abc import Sequence

from ferrotile.diagnostics.catalogue import CATALOGUE
from ferrotile.diagnostics.model import Diagnostic, Severity

from ferrotile_server.cli.ci_paths import Ranges, checkout, relative
from ferrotile_server.cli.translating import Translated

_COMMANDS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "notice",
    Severity.HINT: "notice",
}


def workflow_commands(checked: Sequence[Translated], errors: Sequence[str] = ()) -> str:
    """One line a finding; `errors` are the files that could not be read."""
    root = checkout()
    lines: list[str] = []
    for translated in checked:
        ranges = Ranges(translated.source.text)
        file = relative(translated.source.path, root) or translated.source.name
        lines.extend(_line(d, file, ranges) for d in translated.diagnostics)
    lines.extend(f"::error title=ferrotile::{data(error)}" for error in errors)
    return "\n".join(lines)


def _line(diagnostic: Diagnostic, file: str, ranges: Ranges) -> str:
    place = ranges.of(diagnostic.span)
    properties = {"file": file, "line": str(place.line), "endLine": str(place.end_line)}
    if place.line == place.end_line:  # GitHub takes columns within one line alone; there the end is inclusive
        properties |= {"col": str(place.column), "endColumn": str(max(place.column, place.end_column - 1))}
    properties["title"] = f"{diagnostic.code} {CATALOGUE[diagnostic.code].title}"
    head = ",".join(f"{key}={property_(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[diagnostic.severity]} {head}::{data(diagnostic.message)}"


def data(text: str) -> str:
    """A message, escaped as the runner undoes it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def property_(text: str) -> str:
    """A property's value: the separators of properties are escaped too."""
    return data(text).replace(":", "%3A").replace(",", "%2C")

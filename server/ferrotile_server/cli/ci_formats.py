"""Diagnostics for machines that review code: SARIF 2.1.0, and the workflow commands of GitHub Actions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ferrotile.diagnostics.catalogue import CATALOGUE
from ferrotile.diagnostics.model import Diagnostic, Severity

from ferrotile_server.cli.arguments import VERSION
from ferrotile_server.cli.places import place_of
from ferrotile_server.cli.translating import Translated

_SARIF = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "note",
    Severity.HINT: "note",
}
_GITHUB = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "notice",
    Severity.HINT: "notice",
}


def sarif(checked: Sequence[Translated]) -> str:
    """One SARIF run; the rules are the codes that were found."""
    results = [_result(t, d) for t, d in _all(checked)]
    codes = sorted({d.code for _, d in _all(checked)})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CATALOGUE[code].title},
            "help": {"text": CATALOGUE[code].action},
        }
        for code in codes
    ]
    driver = {"name": "ferrotile", "version": VERSION, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"version": "2.1.0", "runs": [run]}, indent=2)


def github(checked: Sequence[Translated]) -> str:
    """One `::error file=..::message` a finding, which GitHub shows beside the line."""
    return "\n".join(_command(t, d) for t, d in _all(checked))


def _all(checked: Sequence[Translated]) -> Iterator[tuple[Translated, Diagnostic]]:
    return ((t, d) for t in checked for d in t.diagnostics)


def _result(translated: Translated, diagnostic: Diagnostic) -> dict[str, object]:
    place = place_of(translated.source.text, diagnostic.span)
    region = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.line,
        "endColumn": place.column + place.length,
    }
    location = {"artifactLocation": {"uri": translated.source.name.replace("\\", "/")}, "region": region}
    return {
        "ruleId": diagnostic.code,
        "level": _SARIF[diagnostic.severity],
        "message": {"text": diagnostic.message},
        "locations": [{"physicalLocation": location}],
    }


def _command(translated: Translated, diagnostic: Diagnostic) -> str:
    place = place_of(translated.source.text, diagnostic.span)
    properties = {
        "file": translated.source.name,
        "line": str(place.line),
        "col": str(place.column),
        "endColumn": str(place.column + place.length),
        "title": f"{diagnostic.code} {CATALOGUE[diagnostic.code].title}",
    }
    head = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_GITHUB[diagnostic.severity]} {head}::{_data(diagnostic.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

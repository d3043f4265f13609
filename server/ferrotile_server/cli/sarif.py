"""Diagnostics as SARIF 2.1.0, which code scanning of GitHub, Azure DevOps and editors read."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from ferrotile.diagnostics.catalogue import CATALOGUE
from ferrotile.diagnostics.model import Diagnostic, Fix, Severity
from ferrotile.syntax.span import Span
from ferrotile_runner.report import Json

from ferrotile_server.cli.arguments import VERSION
from ferrotile_server.cli.ci_paths import Ranges, checkout, relative
from ferrotile_server.cli.translating import Translated

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
"""The name that readers of SARIF know for the root of the checkout."""

_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "note",
    Severity.HINT: "note",
}


def sarif(checked: Sequence[Translated], errors: Sequence[str] = ()) -> str:
    """One run: the rules are the codes that were found, `errors` are the files that could not be read."""
    root = checkout()
    codes = sorted({d.code for translated in checked for d in translated.diagnostics})
    results: list[Json] = []
    for translated in checked:
        ranges = Ranges(translated.source.text)
        artifact = _artifact(translated.source.path, root)
        results.extend(_result(d, artifact, ranges, codes) for d in translated.diagnostics)
    said: list[Json] = [{"level": "error", "message": {"text": error}} for error in errors]
    rules: list[Json] = [_rule(code) for code in codes]
    driver: Json = {"name": "ferrotile", "semanticVersion": VERSION, "rules": rules}
    base: Json = {ROOT: {"description": {"text": "The root of the checkout."}}}
    run: Json = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": base,
        "invocations": [{"executionSuccessful": not errors, "toolExecutionNotifications": said}],
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(code: str) -> Json:
    entry = CATALOGUE[code]
    return {
        "id": code,
        "shortDescription": {"text": entry.title},
        "help": {"text": f"{entry.action} `ferrotile explain {code}` says more."},
        "defaultConfiguration": {"level": _LEVELS[entry.severity]},
    }


def _artifact(path: Path, root: Path) -> Json:
    """A reference to a file by URI: characters that a URI gives a meaning are escaped."""
    below = relative(path, root)
    if below is None:
        return {"uri": Path(os.path.abspath(path)).as_uri()}
    return {"uri": quote(below), "uriBaseId": ROOT}


def _region(ranges: Ranges, span: Span) -> dict[str, Json]:
    place = ranges.of(span)
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _result(diagnostic: Diagnostic, artifact: Json, ranges: Ranges, codes: Sequence[str]) -> Json:
    def place(span: Span) -> dict[str, Json]:
        return {"physicalLocation": {"artifactLocation": artifact, "region": _region(ranges, span)}}

    result: dict[str, Json] = {
        "ruleId": diagnostic.code,
        "ruleIndex": codes.index(diagnostic.code),
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": diagnostic.message},
        "locations": [place(diagnostic.span)],
    }
    if diagnostic.related:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": note}, **place(span)}
            for number, (span, note) in enumerate(diagnostic.related, start=1)
        ]
    if diagnostic.fix is not None:
        result["fixes"] = [_fix(diagnostic.fix, artifact, ranges)]
    return result


def _fix(fix: Fix, artifact: Json, ranges: Ranges) -> Json:
    region = _region(ranges, fix.span)
    if fix.span.start >= fix.span.end:  # an insertion: an empty region, not the character that follows
        region |= {"endLine": region["startLine"], "endColumn": region["startColumn"]}
    replacement: Json = {"deletedRegion": dict(region), "insertedContent": {"text": fix.text}}
    return {
        "description": {"text": fix.title},
        "artifactChanges": [{"artifactLocation": artifact, "replacements": [replacement]}],
    }

"""Files that every installation has: the pages of the diagnostics, the schemas of the reports."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from ferrotile.diagnostics.catalogue import CATALOGUE
from ferrotile_runner.report import Json

DATA = Path(__file__).resolve().parent / "data"


def page_text(code: str) -> str | None:
    """The page of a diagnostic (Markdown); None for a code that does not exist."""
    entry = CATALOGUE.get(code)
    if entry is None:
        return None
    try:
        return (DATA / "diagnostics" / f"{entry.code}.md").read_text(encoding="utf-8").rstrip()
    except OSError:
        return f"{entry.code} {entry.severity.value}: {entry.title}\n\n{entry.action}"


@lru_cache
def report_schema() -> dict[str, Json]:
    """JSON Schema of what `check` and `verify` say, `docs/schema/report.json`."""
    found: dict[str, Json] = json.loads((DATA / "schema" / "report.json").read_text(encoding="utf-8"))
    return found

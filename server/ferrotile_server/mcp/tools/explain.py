"""`explain`: the page of a diagnostic."""

from __future__ import annotations

from typing import Annotated

from ferrotile.diagnostics.catalogue import CATALOGUE
from ferrotile_runner.report import Json
from msgspec import Meta, Struct

from ferrotile_server.mcp.answers import Answer, Problem
from ferrotile_server.mcp.call import Call
from ferrotile_server.mcp.consent import Consent
from ferrotile_server.mcp.folders import one_line
from ferrotile_server.mcp.tool import tool
from ferrotile_server.packaged import page_text


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Which diagnostic."""

    code: Annotated[str, Meta(max_length=20, description="For example FT203. Without it: a list of all.")] = ""


OUTPUT: dict[str, Json] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["diagnostics"],
    "properties": {
        "diagnostics": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["code", "severity", "title", "action", "page"],
                "properties": {
                    "code": {"type": "string"},
                    "severity": {"enum": ["error", "warning", "information", "hint"]},
                    "title": {"type": "string"},
                    "action": {"type": "string", "description": "What to do next, in a sentence."},
                    "page": {"type": ["string", "null"], "description": "Markdown; null in a list of all codes."},
                },
            },
        }
    },
}


async def run(call: Call, consent: Consent, arguments: Arguments) -> Answer:
    """A page, or the list of all codes."""
    wanted = arguments.code.strip().upper()
    page = page_text(wanted) if wanted else None
    if wanted and page is None:
        raise Problem(f"No diagnostic is called '{one_line(wanted)}'. `explain` without a code lists them all.")
    entries = [CATALOGUE[wanted]] if wanted else sorted(CATALOGUE.values(), key=lambda entry: entry.code)
    rows: list[Json] = [
        {"code": e.code, "severity": e.severity.value, "title": e.title, "action": e.action, "page": page}
        for e in entries
    ]
    text = page or "\n".join(f"{e.code} {e.severity.value}: {e.title}" for e in entries)
    return Answer(text, {"diagnostics": rows})


TOOL = tool(
    "explain",
    "Explain a diagnostic",
    "What a diagnostic of ferrotile (FT###) means: why it is there, an example, and how to mend it.",
    Arguments,
    OUTPUT,
    run,
)

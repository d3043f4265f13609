"""`translate`: the Rust of a file's kernels."""

from __future__ import annotations

from threading import Event
from typing import Annotated, Literal

from ferrotile.syntax.positions import LineTable
from ferrotile_runner.report import Json, signature_text
from msgspec import Meta, Struct

from ferrotile_server.mcp.answers import Answer
from ferrotile_server.mcp.call import Call, Report
from ferrotile_server.mcp.consent import Consent
from ferrotile_server.mcp.folders import Folders
from ferrotile_server.mcp.reports import cut, diagnostic_json, findings
from ferrotile_server.mcp.sources import Checked, Translating, read_file
from ferrotile_server.mcp.tool import KernelName, PathText, tool
from ferrotile_server.packaged import report_schema

Unsafe = Annotated[
    Literal["proved", "never"],
    Meta(description="`proved`: `unsafe` only where its safety is proved. `never`: none. Default: the project's."),
]


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to translate."""

    path: PathText
    kernel: KernelName | None = None
    unsafe: Unsafe | None = None


def _output() -> dict[str, Json]:
    definitions = report_schema()["$defs"]
    assert isinstance(definitions, dict)
    unsafe = definitions["kernel"]["properties"]["unsafe"]
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["file", "rust", "kernels"],
        "properties": {
            "file": {"type": "string"},
            "rust": {"type": ["string", "null"], "description": "One Rust file; null where every kernel is refused."},
            "kernels": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name", "signature", "entry", "unsafe", "diagnostics"],
                    "properties": {
                        "name": {"type": "string"},
                        "signature": {"type": "string"},
                        "entry": {"type": ["string", "null"], "description": "The Rust entry; null = refused."},
                        "unsafe": unsafe,
                        "diagnostics": {"type": "array", "items": definitions["diagnostic"]},
                    },
                },
            },
        },
    }


def _translate(call: Call, folders: Folders, arguments: Arguments, report: Report, cancel: Event) -> Checked:
    source = read_file(arguments.path, folders)
    return Translating(call.application, folders, cancel).file(source, arguments.kernel, arguments.unsafe)


async def run(call: Call, consent: Consent, arguments: Arguments) -> Answer:
    """Static: nothing is run, nothing is written."""
    folders = await call.folders()
    found = await call.compute(lambda report, cancel: _translate(call, folders, arguments, report, cancel))
    lines = LineTable(found.analysis.document.data)
    names = tuple(dict.fromkeys(kernel.name for kernel in found.kernels))
    rust = call.application.rust_file(found.analysis, found.source.path.stem, names) if names else None
    kernels: list[Json] = [
        {
            "name": kernel.name,
            "signature": signature_text(kernel.signature),
            "entry": None if kernel.entry is None else kernel.entry.name,
            "unsafe": {"proved": kernel.unsafe.proved, "assumed": kernel.unsafe.assumed},
            "diagnostics": [diagnostic_json(lines, d) for d in kernel.diagnostics],
        }
        for kernel in found.kernels
    ]
    said = cut(findings(found))
    text = "\n\n".join(part for part in (said, f"```rust\n{rust.rstrip()}\n```" if rust is not None else "") if part)
    data: dict[str, Json] = {"file": found.source.name, "rust": rust, "kernels": kernels}
    return Answer(text or f"{found.source.name}: no kernel is defined here.", data)


TOOL = tool(
    "translate",
    "Translate kernels to cuTile Rust",
    "The cuTile Rust of a Python file's kernels, made by rules (not by a model): exact, or refused with a diagnostic. "
    "Static: runs nothing, writes nothing; `verify` proves it.",
    Arguments,
    _output(),
    run,
)

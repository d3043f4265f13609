"""`signature`: what a kernel's arguments are taken to be, and where that is known from."""

from __future__ import annotations

from threading import Event

from ferrotile.signatures.describe import describe_signature
from ferrotile.syntax.positions import LineTable
from ferrotile.translation import KernelTranslation
from ferrotile_runner.report import Json, signature_text
from msgspec import Struct

from ferrotile_server.mcp.answers import Answer
from ferrotile_server.mcp.call import Call, Report
from ferrotile_server.mcp.consent import Consent
from ferrotile_server.mcp.folders import Folders
from ferrotile_server.mcp.sources import Checked, Translating, read_file
from ferrotile_server.mcp.tool import KernelName, PathText, tool


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose signature to tell."""

    path: PathText
    kernel: KernelName | None = None


_PART: dict[str, Json] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["part", "what", "known_from"],
    "properties": {
        "part": {"type": "string", "description": "A parameter's name, or `grid`."},
        "what": {"type": "string", "description": "As a directive writes it."},
        "known_from": {"type": "string"},
    },
}
OUTPUT: dict[str, Json] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["file", "kernels"],
    "properties": {
        "file": {"type": "string"},
        "kernels": {
            "type": "array",
            "description": "One element for each kernel and signature: several kinds of launches are several.",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "line", "known", "directive", "parts"],
                "properties": {
                    "name": {"type": "string"},
                    "line": {"type": "integer", "minimum": 1},
                    "known": {"type": "boolean"},
                    "directive": {
                        "type": "string",
                        "description": "The comment above the decorator that says the same; empty: not known.",
                    },
                    "parts": {"type": "array", "items": _PART},
                },
            },
        },
    },
}


def _read(call: Call, folders: Folders, arguments: Arguments, report: Report, cancel: Event) -> Checked:
    return Translating(call.application, folders, cancel).file(read_file(arguments.path, folders), arguments.kernel)


def _kernel(lines: LineTable, kernel: KernelTranslation) -> dict[str, Json]:
    rows = () if kernel.signature is None else describe_signature(kernel.signature)
    text = signature_text(kernel.signature)
    return {
        "name": kernel.name,
        "line": lines.position(kernel.name_span.start)[0] + 1,
        "known": kernel.signature is not None,
        "directive": f"# ferrotile: {text}" if text else "",
        "parts": [{"part": row.part, "what": row.what, "known_from": row.origin} for row in rows],
    }


def _words(kernel: KernelTranslation) -> list[str]:
    if kernel.signature is None:
        return [f"{kernel.name}: the signature is not known; `check` says why"]
    rows = describe_signature(kernel.signature)
    text = signature_text(kernel.signature)
    return [
        kernel.name,
        *(f"  {row.part}: {row.what}  ({row.origin})" for row in rows),
        f"  # ferrotile: {text}",
    ]


async def run(call: Call, consent: Consent, arguments: Arguments) -> Answer:
    """Static: nothing is run, nothing is written."""
    folders = await call.folders()
    found = await call.compute(lambda report, cancel: _read(call, folders, arguments, report, cancel))
    lines = LineTable(found.analysis.document.data)
    text = "\n".join(line for kernel in found.kernels for line in _words(kernel))
    data: dict[str, Json] = {"file": found.source.name, "kernels": [_kernel(lines, k) for k in found.kernels]}
    return Answer(text or f"{found.source.name}: no kernel is defined here.", data)


TOOL = tool(
    "signature",
    "Signature of a kernel",
    "Says what the arguments of a cuTile Python kernel are (element types, ranks, extents, constants, grid), where "
    "each is known from, and the `# ferrotile:` directive that says it: the Rust depends on it. Static: runs nothing.",
    Arguments,
    OUTPUT,
    run,
)

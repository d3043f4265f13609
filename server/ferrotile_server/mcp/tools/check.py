"""`check`: what translates, and what does not, with the reason and its place."""

from __future__ import annotations

from threading import Event
from typing import Annotated

from msgspec import Meta, Struct

from ferrotile_server.mcp.answers import Answer
from ferrotile_server.mcp.call import Call, Report
from ferrotile_server.mcp.consent import Consent
from ferrotile_server.mcp.folders import LONGEST_PATH, Folders
from ferrotile_server.mcp.reports import checked_json, cut, findings, output_schema, refused
from ferrotile_server.mcp.sources import Checked, Translating, read_files
from ferrotile_server.mcp.tool import KernelName, tool


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to check."""

    path: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=LONGEST_PATH,
            description="A Python file or a folder, absolute or relative to a folder that the client works in.",
        ),
    ]
    kernel: KernelName | None = None


def _check(call: Call, folders: Folders, arguments: Arguments, report: Report, cancel: Event) -> tuple[Checked, ...]:
    sources = read_files(arguments.path, folders)
    translating = Translating(call.application, folders, cancel)
    if arguments.kernel is not None and len(sources) == 1:
        return (translating.file(sources[0], arguments.kernel),)
    found = []
    for done, one in enumerate(translating.files(sources), start=1):
        report(f"{done} of {len(sources)} files", done)
        if arguments.kernel is None or arguments.kernel in one.analysis.kernel_names:
            found.append(one)
    return tuple(found)


def _summary(files: tuple[Checked, ...]) -> str:
    kernels = [kernel for one in files for kernel in one.kernels]
    bad = [kernel for kernel in kernels if refused(kernel)]
    names = len({(one.source.name, kernel.name) for one in files for kernel in one.kernels})
    good = len(kernels) - len(bad)
    return f"Kernels: {names}, in files: {len(files)}; of {len(kernels)} signatures {good} translate."


async def run(call: Call, consent: Consent, arguments: Arguments) -> Answer:
    """Static: nothing is run, nothing is written."""
    folders = await call.folders()
    files = await call.compute(lambda report, cancel: _check(call, folders, arguments, report, cancel))
    lines = [line for one in files for line in findings(one)]
    summary = _summary(files)
    return Answer(cut([summary, *lines]), checked_json(files, summary))


TOOL = tool(
    "check",
    "Check cuTile Python kernels",
    "Says which kernels of a file or folder translate to cuTile Rust, and for the others why not: a numbered "
    "diagnostic (FT###, see `explain`) at its line. Static and quick: runs nothing, writes nothing. Start here.",
    Arguments,
    output_schema(),
    run,
)

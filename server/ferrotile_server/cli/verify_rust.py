"""`ferrotile verify FILE::KERNEL --rust FILE.rs[::ENTRY]`: climbs the ladder with Rust that ferrotile did not write."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ferrotile.translation import KernelTranslation
from ferrotile_runner.candidate import CandidateError, accepted, candidate_kernel
from ferrotile_runner.candidate_comment import PythonOf, pythons_of
from ferrotile_runner.report import KernelReport
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate
from ferrotile_runner.verify import Work, verify_files
from msgspec import Struct
from msgspec.structs import replace

from ferrotile_server.cli import json_output
from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.output import stdout_style
from ferrotile_server.cli.paths import PathError, Source, read_source, read_sources, split_node
from ferrotile_server.cli.progress import Progress
from ferrotile_server.cli.rung_table import Row, print_rungs
from ferrotile_server.cli.translating import Translated, application, translate_sources
from ferrotile_server.cli.verify import inputs_of, missing_tools, print_details
from ferrotile_server.verdicts import DEFAULT_RUNGS


class Refused(Struct, frozen=True):
    """Why the Rust cannot be verified against the kernel; `line` of the Rust from 1, None = of no line."""

    kernel: str
    line: int | None
    message: str


class Verified(Struct, frozen=True):
    """What became of the kernel's signatures."""

    rows: tuple[Row, ...]
    refused: tuple[Refused, ...]


def run(arguments: Arguments) -> int:
    """Verify and print a table, or JSON. 0 where the ladder lets the Rust pass."""
    sources, errors = read_sources(arguments.paths)
    if errors:
        raise errors[0]
    name, entry = split_node(arguments.rust)
    rust = read_source(Path(name), name)
    translated = _one_kernel(arguments, sources)
    found = _verified(arguments, translated, rust, entry)
    if arguments.format == "json":
        listed = [(row.file, row.report) for row in found.rows]
        beside = [(rust.name, one.line or 1, one.message) for one in found.refused]
        print(json_output.verify_report(listed, beside))
    else:
        if found.rows:
            print_rungs(found.rows)
            print_details([_without_what_is_inferred(row) for row in found.rows])
            _print_origin(found.rows, rust)
        for one in found.refused:
            place = rust.name if one.line is None else f"{rust.name}:{one.line}"
            print(f"ferrotile: {place}: {one.message}", file=sys.stderr)
    if missing_tools(found.rows):
        return 2
    if not found.rows:
        return 1 if any(one.line is not None for one in found.refused) else 2
    return 0 if all(accepted(row.report) for row in found.rows) else 1


def _one_kernel(arguments: Arguments, sources: Sequence[Source]) -> Translated:
    """The file whose only kernel that was named is to be compared. Raises PathError."""
    translated = [one for one in translate_sources(application(arguments), sources) if one.kernels]
    names = [name for one in translated for name in one.names]
    if len(translated) == 1 and len(names) == 1:
        return translated[0]
    there = f"{', '.join(names)} are here" if names else "there is none"
    raise PathError(f"--rust is for one kernel: name it as FILE.py::KERNEL ({there})")


def _verified(arguments: Arguments, translated: Translated, rust: Source, entry: str | None) -> Verified:
    document, module = translated.analysis.document, translated.analysis.translation.module
    rungs = arguments.rungs or DEFAULT_RUNGS
    said = _comment(translated, rust, entry)
    refused: dict[Refused, None] = {}
    made: list[KernelTranslation] = []
    inputs = inputs_of(arguments, [Work(document, translated.kernels, translated.source.name, module)])
    with Session(locate(), inputs) as session:
        for kernel in translated.kernels:
            try:
                made.append(
                    candidate_kernel(
                        kernel,
                        rust.text,
                        session,
                        entry=entry,
                        origin=said.origin,
                        mapping={**said.mapping, **_joined(arguments.mapping)},
                        assume=arguments.assume,
                        grid=arguments.grid or said.grid,
                    )
                )
            except CandidateError as error:
                refused[Refused(kernel.name, error.line, error.message)] = None
        work = Work(document, made, translated.source.name, module)
        rows: list[Row] = []
        with Progress(len(made)) as progress:
            for report in verify_files((work,), rungs, session, progress.step, target=arguments.target):
                rows.append(Row(report.file, report))
                progress.finish_one()
    return Verified(tuple(rows), tuple(refused))


def _comment(translated: Translated, rust: Source, entry: str | None) -> PythonOf:
    """What a comment of the Rust says about this kernel; of an entry that is named, nothing is read."""
    names = translated.names
    found = [one for one in pythons_of(rust.text) if one.kernel in names] if entry is None else []
    return found[0] if len(found) == 1 else PythonOf(0, "", None)


def _joined(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The names of the Rust by what they are; several between commas."""
    made: dict[str, str] = {}
    for python, name in pairs:
        made[python] = f"{made[python]},{name}" if python in made else name
    return made


def _print_origin(rows: Sequence[Row], rust: Source) -> None:
    style = stdout_style()
    for row in rows:
        report = row.report
        print(f"\n{style.bold(f'{rust.name}::{report.entry}')} is {_verdict(report)}")
        for line in report.rungs["translated"].detail.splitlines()[1:]:
            print(style.dim(f"  {line}"))


def _without_what_is_inferred(row: Row) -> Row:
    """It is told with the verdict."""
    rungs = {rung: result for rung, result in row.report.rungs.items() if rung != "translated"}
    return Row(row.file, replace(row.report, rungs=rungs))


def _verdict(report: KernelReport) -> str:
    """In words, what the Rust is and what the ladder makes of it."""
    if accepted(report) and _passed(report, "proved"):
        return "not ferrotile's own; it is proved to do what the Python does"
    if accepted(report):
        return "not ferrotile's own; it is not proved, and made the Python's arrays in every launch that was tried"
    if report.failed:
        return "not ferrotile's own, and not shown to be the same as the Python"
    return "not ferrotile's own; no rung that compares it with the Python was reached"


def _passed(report: KernelReport, rung: str) -> bool:
    result = report.rungs.get(rung)
    return result is not None and result.status == "passed"

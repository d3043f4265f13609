"""`ferrotile verify`: climbs the ladder for each kernel and says how far it got."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ferrotile_runner.session import InputOptions, Session
from ferrotile_runner.toolchain import locate
from ferrotile_runner.verify import Work, verify_files

from ferrotile_server.cli import json_output
from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.output import plural, stdout_style
from ferrotile_server.cli.paths import PathError, Source, read_sources
from ferrotile_server.cli.progress import Progress
from ferrotile_server.cli.rung_table import Row, print_rungs, rungs_of
from ferrotile_server.cli.translating import application, translate_sources
from ferrotile_server.verdicts import BAD, DEFAULT_RUNGS


def verify_sources(sources: Sequence[Source], arguments: Arguments) -> tuple[Row, ...]:
    """Verify every kernel that the sources name. Raises `PathError` where a named kernel is not there."""
    core = application(arguments)
    files = [
        Work(one.analysis.document, one.kernels, one.source.name, one.analysis.translation.module)
        for one in translate_sources(core, sources)
    ]
    inputs = inputs_of(arguments, files)
    rungs = arguments.rungs or DEFAULT_RUNGS
    rows: list[Row] = []
    with Session(locate(), inputs) as session, Progress(sum(len(one.kernels) for one in files)) as progress:
        for report in verify_files(files, rungs, session, progress.step, target=arguments.target):
            rows.append(Row(report.file, report))
            progress.finish_one()
    return tuple(rows)


def inputs_of(arguments: Arguments, files: Sequence[Work]) -> InputOptions:
    """Raises `PathError` for a file of inputs that is not there, or that does not say whose it is."""
    if arguments.inputs is None:
        return InputOptions(arguments.seed, None, arguments.trust)
    names = {kernel.name for one in files for kernel in one.kernels}
    if len(names) > 1 or len(files) > 1:
        raise PathError(f"--inputs is for one kernel: name it as FILE::KERNEL ({plural(len(names), 'kernel')} here)")
    path = Path(arguments.inputs)
    if not path.is_file():
        raise PathError(f"{arguments.inputs}: no such file")
    return InputOptions(arguments.seed, path.absolute(), arguments.trust)


def missing_tools(rows: Sequence[Row]) -> bool:
    """Whether this machine lacks what a rung needs, or inputs do not fit, which is said."""
    broken = [result.detail for row in rows for result in row.report.rungs.values() if result.broken]
    unfit = [detail for detail in broken if detail.startswith("inputs: ")]
    if len(unfit) < len(broken):
        print("ferrotile: tools are missing, so rungs were skipped; see `ferrotile doctor`", file=sys.stderr)
    for detail in dict.fromkeys(unfit):
        print(f"ferrotile: {detail}", file=sys.stderr)
    return bool(broken)


def exit_code(rows: Sequence[Row]) -> int:
    """2 where this machine lacks what a rung needs or inputs do not fit, else 1 where a rung failed."""
    if missing_tools(rows):
        return 2
    return 1 if any(row.report.failed for row in rows) else 0


def print_details(rows: Sequence[Row]) -> None:
    """Why each failed rung failed, and what the skipped ones would have needed."""
    style = stdout_style()
    for row in rows:
        causes: dict[str, list[str]] = {}
        for rung, result in rungs_of(row.report):
            if result.status in BAD:
                causes.setdefault(result.detail, []).append(f"{rung} {result.status}")
        for detail, outcomes in causes.items():
            node = f"{row.file}::{row.report.name}"
            print(f"\n{style.bold(node)} {style.red(', '.join(outcomes))}")
            print("\n".join(f"  {line}" for line in detail.splitlines()))
    missing: dict[str, list[str]] = {}
    for row in rows:
        for rung, result in rungs_of(row.report):
            if result.status == "skipped" and result.detail:
                missing.setdefault(f"{rung}: {result.detail}", []).append(row.report.name)
    if missing:
        print()
    for reason, names in missing.items():
        who = "all kernels" if len(names) == len(rows) else ", ".join(names)
        print(style.dim(f"skipped {reason} ({who})"))


def run(arguments: Arguments) -> int:
    """Verify and print a table, or JSON."""
    if arguments.rust:
        from ferrotile_server.cli import verify_rust

        return verify_rust.run(arguments)
    if arguments.mapping or arguments.assume or arguments.grid:
        raise PathError("--map, --grid and --assume are for --rust")
    sources, errors = read_sources(arguments.paths)
    rows = verify_sources(sources, arguments)
    if arguments.format == "json":
        print(json_output.verify_report([(row.file, row.report) for row in rows]))
    elif rows:
        print_rungs(rows)
        print_details(rows)
    else:
        print(f"no kernels in {plural(len(sources), 'file')}")
    for error in errors:
        print(f"ferrotile: {error}", file=sys.stderr)
    if errors:
        return 2
    return exit_code(rows)

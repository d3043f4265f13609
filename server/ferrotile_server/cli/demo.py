"""`ferrotile demo`: verifies the example kernels, then shows those that ferrotile refuses, and why."""

from __future__ import annotations

import os

from ferrotile.diagnostics.model import Severity
from rich.table import Table
from rich.text import Text

from ferrotile_server.cli import verify
from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.data import data_file
from ferrotile_server.cli.output import plural, print_table, stdout_style
from ferrotile_server.cli.paths import PathError, Source, read_sources
from ferrotile_server.cli.places import line_and_column
from ferrotile_server.cli.rung_table import print_rungs
from ferrotile_server.cli.translating import application, translate_source

REFUSED = "refused"
"""The stem of the file whose kernels are meant to be refused."""


def _sources(arguments: Arguments) -> tuple[Source, ...]:
    if arguments.paths:
        return read_sources(arguments.paths)[0]
    folder = data_file("examples")
    if folder is None:
        raise PathError("the examples are not installed; name a folder: `ferrotile demo FOLDER`")
    return read_sources([os.path.relpath(folder)])[0]


def _print_refused(sources: tuple[Source, ...], arguments: Arguments) -> int:
    """The table of refused kernels; returns how many were translated all the same, which is a failure."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("kernel", "code", "line", "reason"):
        table.add_column(column, no_wrap=column != "reason", overflow="fold")
    accepted = 0
    core = application(arguments)
    for source in sources:
        for kernel in translate_source(core, source).kernels:
            errors = [d for d in kernel.diagnostics if d.severity is Severity.ERROR]
            if not errors:
                accepted += 1
                table.add_row(Text(kernel.name), "-", "-", Text("translated: should be refused", "bold red"))
            for error in errors[:1]:
                line, _ = line_and_column(source.text, error.span)
                table.add_row(Text(kernel.name), error.code, str(line), Text(error.message))
    print_table(table)
    return accepted


def run(arguments: Arguments) -> int:
    """Exit code 1 where an example failed a rung, or a kernel of `refused.py` was not refused."""
    sources = _sources(arguments)
    style = stdout_style()
    print(style.bold("cuTile Python kernels, translated to cuTile Rust and checked\n"))
    rows = verify.verify_sources([s for s in sources if s.stem != REFUSED], arguments)
    print_rungs(rows)
    verify.print_details(rows)
    bad = sum(row.report.failed for row in rows)
    refused = tuple(s for s in sources if s.stem == REFUSED)
    accepted = 0
    if refused:
        print(style.bold("\nRefused: never a guess, never half a kernel\n"))
        accepted = _print_refused(refused, arguments)
    print(f"\n{plural(len(rows), 'kernel')} verified, {bad} with a failed rung")
    return max(verify.exit_code(rows), 1 if accepted else 0)

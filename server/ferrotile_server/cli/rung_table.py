"""The table of `verify` and `demo`: a row a kernel, a column a rung."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ferrotile_runner.report import KernelReport, RungResult
from msgspec import Struct
from rich.table import Table
from rich.text import Text

from ferrotile_server.cli.output import print_table
from ferrotile_server.verdicts import RUNGS

MARKS = {
    "passed": ("passed", "green"),
    "failed": ("FAILED", "bold red"),
    "skipped": ("-", "dim"),
    "timeout": ("timeout", "bold red"),
    "crashed": ("CRASHED", "bold red"),
}
"""What a rung's status looks like."""


class Row(Struct, frozen=True):
    """A kernel's report beside the name of its file."""

    file: str
    report: KernelReport


def rungs_of(report: KernelReport) -> Iterator[tuple[str, RungResult]]:
    """The rungs in the order of the ladder."""
    for rung in RUNGS:
        result = report.rungs.get(rung)
        if result is not None:
            yield rung, result


def _cell(result: RungResult | None) -> Text:
    if result is None:
        return Text("")
    mark, style = MARKS[result.status]
    if result.status == "passed" and result.ms >= 1:
        return Text.assemble((mark, style), (f" {_duration(result.ms)}", "dim"))
    return Text(mark, style=style)


def _duration(ms: float) -> str:
    return f"{ms / 1e3:.1f} s" if ms >= 1000 else f"{ms:.0f} ms"


def print_rungs(rows: Sequence[Row]) -> None:
    """Kernel, signature, unsafe proved and assumed, and all rungs that any kernel was tried on."""
    tried = {rung for row in rows for rung, result in rungs_of(row.report) if result.status != "skipped"}
    shown = [rung for rung in RUNGS if rung in tried]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("kernel", no_wrap=True)
    table.add_column("signature", overflow="fold")
    table.add_column("unsafe\nproved/assumed", justify="right")
    for rung in shown:
        table.add_column(rung, no_wrap=True)
    for row in rows:
        report = row.report
        unsafe = f"{report.unsafe.proved}/{report.unsafe.assumed}"
        table.add_row(
            Text(report.name),
            Text(report.signature, style="dim"),
            Text(unsafe),
            *(_cell(report.rungs.get(rung)) for rung in shown),
        )
    print_table(table)

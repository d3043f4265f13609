"""The report of `ferrotile coverage` for people: as tables in a terminal, and as Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ferrotile_runner.coverage.rows import KernelRow
from ferrotile_runner.coverage.summary import Summary, Unsafe, max_ms
from ferrotile_runner.report import Rung, RungStatus
from rich.table import Table
from rich.text import Text

from ferrotile_server.cli.output import plural, print_table, stdout_style

SHOWN = 3
"""Kernels named for one code."""

BAD = (RungStatus.CRASHED, RungStatus.TIMEOUT, RungStatus.FAILED)

Rows = list[tuple[str, ...]]


def short(node: str) -> str:
    """A long path's last two parts, which tell kernels apart in a table: `ops/softmax.py::softmax`."""
    parts = node.replace(os.sep, "/").split("/")
    return node if len(parts) <= 3 else "/".join(["...", *parts[-2:]])


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def rung_rows(summary: Summary) -> Rows:
    """Rung, passed, share, failed, timeout, crashed, skipped. Rungs above `translated` count translated kernels."""
    made: Rows = []
    for rung, counts in summary.rungs.items():
        numbers = [counts[status] for status in ("failed", "timeout", "crashed", "skipped")]
        passed = counts["passed"]
        made.append((rung, str(passed), _share(passed, sum(counts.values())), *(str(n) for n in numbers)))
    return made


def unsafe_rows(summary: Summary, never: Unsafe | None) -> Rows:
    """Setting, translated kernels, those without unsafe, those with none assumed, blocks proved and assumed."""
    settings = [("default", summary.unsafe), *([("never", never)] if never is not None else [])]
    return [
        (
            name,
            str(u.kernels),
            f"{u.none} ({_share(u.none, u.kernels)})",
            f"{u.none_assumed} ({_share(u.none_assumed, u.kernels)})",
            f"{u.proved}/{u.assumed}",
        )
        for name, u in settings
    ]


def refusal_rows(summary: Summary) -> Rows:
    """Code, kernels, title, a few kernels."""
    made: Rows = []
    for refusal in summary.refusals:
        rest = len(refusal.kernels) - SHOWN
        some = ", ".join(map(short, refusal.kernels[:SHOWN])) + (f" and {rest} more" if rest > 0 else "")
        made.append((refusal.code, str(len(refusal.kernels)), refusal.title, some))
    return made


def failure_rows(rows: Sequence[KernelRow], summary: Summary) -> Iterator[tuple[str, str, str, str]]:
    """Kernel, rung, status and the first line of the reason, of every rung that was tried and not reached; refusals
    are not repeated."""
    for row in rows:
        for rung in summary.rungs:
            for entry in row.entries if rung == Rung.TRANSLATED else row.translated:
                status = entry.status(rung)
                if status in BAD and not (rung == Rung.TRANSLATED and status is RungStatus.FAILED):
                    reason = entry.detail(rung).split("\n")[0]
                    yield f"{short(row.node)}:{row.line}", rung, status.value, reason
                    break


RUNG_HEAD = ("rung", "passed", "share", "failed", "timeout", "crashed", "skipped")
UNSAFE_HEAD = ("unsafe", "translated", "none at all", "none assumed", "blocks proved/assumed")
REFUSAL_HEAD = ("code", "kernels", "meaning", "where")
FAILURE_HEAD = ("kernel", "rung", "status", "reason")


def headline(summary: Summary) -> str:
    """`57 kernels in 40 files, 61 signatures; translation takes 3.1 ms in the median, 40 ms at most`."""
    if not summary.kernels:
        return f"no kernels in {plural(summary.files, 'file')}"
    partly = f", {summary.partly} for some signatures only" if summary.partly else ""
    return (
        f"{plural(summary.kernels, 'kernel')} in {plural(summary.files, 'file')}, "
        f"{plural(summary.entries, 'signature')}{partly}; translation takes {summary.median_ms:.1f} ms in the median, "
        f"{max_ms(summary):.0f} ms at most"
    )


def _forms(summary: Summary) -> str:
    return ", ".join(f"{form} {count}" for form, count in summary.forms.items()) or "none"


def print_text(rows: Sequence[KernelRow], summary: Summary, never: Unsafe | None) -> None:
    """Tables on standard output."""
    style = stdout_style()
    print(style.bold(headline(summary)))
    if not summary.kernels:
        return
    print()
    _table(RUNG_HEAD, rung_rows(summary))
    print()
    _table(UNSAFE_HEAD, unsafe_rows(summary, never))
    print(f"\nforms of outputs: {_forms(summary)}")
    if summary.refusals:
        print(style.bold("\nRefused"))
        _table(REFUSAL_HEAD, refusal_rows(summary))
    failures = list(failure_rows(rows, summary))
    if failures:
        print(style.bold("\nNot reached"))
        _table(FAILURE_HEAD, failures)
    print(style.bold("\nSlowest to translate"))
    _table(("kernel", "ms"), [(short(node), f"{ms:.0f}") for node, ms in summary.slowest])


def print_refused(head: str, rows: Rows, columns: Sequence[str]) -> None:
    """Every refused kernel on standard output."""
    print(stdout_style().bold(head))
    if rows:
        print()
        _table(columns, rows)


def refused_markdown(head: str, rows: Rows, columns: Sequence[str]) -> str:
    """The same as Markdown."""
    return f"{head}." + (f"\n\n{_pipes(columns, rows)}" if rows else "")


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for position, column in enumerate(head):
        table.add_column(column, overflow="fold", no_wrap=position == 0)
    for row in body:
        table.add_row(*map(Text, row))
    print_table(table)


def markdown(rows: Sequence[KernelRow], summary: Summary, never: Unsafe | None) -> str:
    """The same as Markdown tables."""
    parts = [f"{headline(summary)}."]
    if summary.kernels:
        parts += [_pipes(RUNG_HEAD, rung_rows(summary)), _pipes(UNSAFE_HEAD, unsafe_rows(summary, never))]
        parts.append(f"Forms of outputs: {_forms(summary)}.")
        if summary.refusals:
            parts += ["## Refused", _pipes(REFUSAL_HEAD, refusal_rows(summary))]
        failures = list(failure_rows(rows, summary))
        if failures:
            parts += ["## Not reached", _pipes(FAILURE_HEAD, failures)]
        slowest = [(short(node), f"{ms:.0f}") for node, ms in summary.slowest]
        parts += ["## Slowest to translate", _pipes(("kernel", "ms"), slowest)]
    return "\n\n".join(parts)


def _pipes(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)

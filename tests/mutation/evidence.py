"""Findings as the tables of docs/evidence/mutation.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import kinds_rust_table
import reasons
import tile_ir
from campaign import Finding, report_of
from judging import Fate

_SHOWN = 12
"""Mutants of one kernel and reason that are named; more are counted."""


def markdown(findings: Sequence[Finding]) -> str:
    parts = [_numbers(findings), _kinds(findings), _reasons(findings), _open(findings)]
    return "\n".join(line for part in parts for line in (*part, ""))


def _numbers(findings: Sequence[Finding]) -> Iterator[str]:
    yield "## In all\n"
    yield "| text | kernels | mutants | rejected by the proof | proved | proved and unlike | the prover fails |"
    yield "|---|---|---|---|---|---|---|"
    for text in dict.fromkeys(f.text for f in findings):
        some = [f for f in findings if f.text == text]
        report = report_of(some)
        fails = sum(1 for f in some if f.fate is Fate.NO_VERDICT)
        kernels = len({f.kernel for f in some})
        row = kernels, report.mutants, report.rejected, report.proved, report.faults - fails, fails
        yield f"| {text} | " + " | ".join(map(str, row)) + " |"
    yield ""
    yield "| text | other programs that were run | seen by the rung `simulated` | by other launches | in other orders |"
    yield "|---|---|---|---|---|"
    for text in dict.fromkeys(f.text for f in findings):
        some = [f for f in findings if f.text == text and not f.reason and f.fate in (Fate.CAUGHT, Fate.UNSEEN)]
        ways = Counter(f.seen for f in some)
        launches = ways["more launches"] + ways["large scalars"]
        orders = sum(count for way, count in ways.items() if way.startswith("late "))
        rung = ways["simulation"]
        sums = rung, rung + launches, rung + launches + orders
        share = [f"{n} ({100 * n / max(len(some), 1):.1f} %)" for n in sums]
        yield f"| {text} | {len(some)} | " + " | ".join(share) + " |"


def _kinds(findings: Sequence[Finding]) -> Iterator[str]:
    yield "## By kind\n"
    for text, table in (("Tile IR", tile_ir.KINDS), ("Rust", kinds_rust_table.KINDS)):
        yield f"\n{text}:\n"
        yield "| kind | what it changes | mutants | rejected | seen | the same program, or beyond a run | proved |"
        yield "|---|---|---|---|---|---|---|"
        for kind in table:
            some = [f for f in findings if f.text == text and f.kind == kind.name]
            counts = (
                len(some),
                sum(1 for f in some if f.fate in reasons.REJECTED),
                sum(1 for f in some if f.fate is Fate.CAUGHT),
                sum(1 for f in some if f.reason),
                sum(1 for f in some if f.fate in reasons.PROVED),
            )
            yield f"| {kind.name} | {kind.change} | " + " | ".join(map(str, counts)) + " |"


def _reasons(findings: Sequence[Finding]) -> Iterator[str]:
    yield "## Reasons\n"
    yield "| reason | proved | rejected |"
    yield "|---|---|---|"
    asked = [f for f in findings if f.fate in reasons.ASKED and f.reason]
    counts = Counter(f.reason for f in asked)
    for reason, count in counts.most_common():
        proved = sum(1 for f in asked if f.reason == reason and f.fate in reasons.PROVED)
        yield f"| {reason} | {proved} | {count - proved} |"


def _open(findings: Sequence[Finding]) -> Iterator[str]:
    yield "## Not seen, and no row of the table fits\n"
    some = [f for f in findings if f.fate in reasons.ASKED and not f.reason]
    yield "| kernel | mutation | line | proved |"
    yield "|---|---|---|---|"
    for f in some:
        proved = "yes" if f.fate in reasons.PROVED else "no"
        yield f"| {f.kernel.replace('|', '/')} | {f.text}: {f.kind}: {f.what} | {f.line} | {proved} |"

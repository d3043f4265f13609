"""Logs of campaigns as docs/evidence/mutation.md: `python tests/mutation/evidence.py DATE SEED LOG... > FILE`.

Of a seed that the reasons and launches were made with `--tuned NAME LOG` says the shares too."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import kinds_rust_table
import reasons
import tile_ir
from campaign import Finding, Report, report_of
from judging import Fate
from msgspec import json as records

_HEAD = Path(__file__).with_name("evidence_head.md")


_COMMANDS = """python tests/mutation --count 14 --seed {seed}
python tests/mutation --count -1 --rust-kinds 10 --seed {seed}"""


def markdown(findings: Sequence[Finding], date: str, seed: str, tuned: str) -> str:
    whole = report_of(findings)
    beyond = Counter(f.reason for f in findings if f.reason.startswith("beyond"))
    head = _HEAD.read_text(encoding="utf-8").format(
        date=date,
        mutants=whole.mutants,
        kernels=len({f.kernel for f in findings}),
        commands=_COMMANDS.format(seed=seed),
        told=_told(findings),
        tuned=tuned,
        beyond=beyond.total(),
    )
    rows = [f"- {count}: {words.removeprefix('beyond: ')}" for words, count in beyond.most_common()]
    parts = [_numbers(findings), _open(findings), _kinds(findings), _reasons(findings)]
    return head + "\n".join([*rows, "", *(line for part in parts for line in (*part, ""))])


def _told(findings: Sequence[Finding]) -> str:
    lines = []
    for text in dict.fromkeys(f.text for f in findings):
        report = report_of([f for f in findings if f.text == text])
        share = 100 * report.seen_by_rung / max(report.other, 1)
        lines.append(
            f"- {text}: of {report.other} mutants that are other programs the rung tells **{report.seen_by_rung} "
            f"({share:.1f} %)**; with other launches {report.seen} are told. {_same(report, findings, text)}"
        )
    return "\n".join(lines)


def _same(report: Report, findings: Sequence[Finding], text: str) -> str:
    same = sum(1 for f in findings if f.text == text and f.fate is Fate.UNSEEN and f.reason) - report.beyond
    return f"{same} more are rejected by the proof though they are the same program, for a reason."


def _numbers(findings: Sequence[Finding]) -> Iterator[str]:
    yield "## The prover\n"
    yield "| text | kernels | mutants | rejected by the proof | proved | proved and unlike | the prover fails |"
    yield "|---|---|---|---|---|---|---|"
    for text in dict.fromkeys(f.text for f in findings):
        some = [f for f in findings if f.text == text]
        report = report_of(some)
        fails = sum(1 for f in some if f.fate is Fate.NO_VERDICT)
        kernels = len({f.kernel for f in some})
        row = kernels, report.mutants, report.rejected, report.proved, report.faults - fails, fails
        yield f"| {text} | " + " | ".join(map(str, row)) + " |"
    unexplained = report_of(findings).unexplained
    yield f"\nOf the proved ones {unexplained or 'none'} are proved for no known reason."


def _kinds(findings: Sequence[Finding]) -> Iterator[str]:
    yield "## By kind\n"
    for text, table in (("Tile IR", tile_ir.KINDS), ("Rust", kinds_rust_table.KINDS)):
        yield f"\n{text}:\n"
        yield "| kind | what it changes | mutants | rejected | seen by the rung | the same program | beyond | proved |"
        yield "|---|---|---|---|---|---|---|---|"
        for kind in table:
            some = [f for f in findings if f.text == text and f.kind == kind.name]
            beyond = sum(1 for f in some if f.reason.startswith("beyond"))
            counts = (
                len(some),
                sum(1 for f in some if f.fate in reasons.REJECTED),
                sum(1 for f in some if f.fate is Fate.CAUGHT and f.seen == "simulation"),
                sum(1 for f in some if f.reason) - beyond,
                beyond,
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
    yield "## Not told by the rung, and no row of the table fits\n"
    unseen = (f for f in findings if not f.reason and f.fate in (Fate.CAUGHT, Fate.UNSEEN, Fate.EQUAL))
    some = [f for f in unseen if f.seen != "simulation"]
    if not some:
        yield "None."
        return
    yield "| kernel | mutation | line | proved | told by other launches |"
    yield "|---|---|---|---|---|"
    for f in some:
        proved = "yes" if f.fate in reasons.PROVED else "no"
        kernel = f.kernel.replace("|", "/")
        yield f"| {kernel} | {f.text}: {f.kind}: {f.what} | {f.line} | {proved} | {f.seen or 'no'} |"


def _tuned(name: str, findings: Sequence[Finding]) -> str:
    report = report_of(findings)
    share = 100 * report.seen_by_rung / max(report.other, 1)
    return (
        f"With the seed `{name}`, which reasons and launches were made with: {report.seen_by_rung} of {report.other} "
        f"mutants of Tile IR ({share:.1f} %), of {report.mutants} in all."
    )


def _read(*logs: str) -> list[Finding]:
    lines = [line for log in logs for line in Path(log).read_bytes().splitlines() if line]
    return [records.decode(line, type=Finding) for line in lines]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="evidence")
    parser.add_argument("date")
    parser.add_argument("seed")
    parser.add_argument("logs", nargs="+")
    parser.add_argument("--tuned", nargs=2, metavar=("SEED", "LOG"))
    options = parser.parse_args(arguments)
    tuned = _tuned(options.tuned[0], _read(options.tuned[1])) if options.tuned else ""
    print(markdown(_read(*options.logs), options.date, options.seed, tuned).rstrip())


if __name__ == "__main__":
    main()

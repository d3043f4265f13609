"""Numbers about many rows, and their JSON form (`docs/schema/coverage.json`)."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from ferrotile.diagnostics.catalogue import CATALOGUE
from msgspec import Struct

from ferrotile_runner import json_values as read
from ferrotile_runner.coverage.rows import EntryRow, KernelRow
from ferrotile_runner.report import TOOL, Json, Rung, RungStatus

VERSION = 1
EXAMPLES = 3
SLOWEST = 5


class Refusal(Struct, frozen=True):
    """An error's code, and the kernels (`FILE::KERNEL`) that have it. A kernel may count under several codes."""

    code: str
    title: str
    kernels: tuple[str, ...]


class Unsafe(Struct, frozen=True):
    """Of `kernels` translated kernels: those without any `unsafe`, those with none assumed, and the blocks."""

    kernels: int
    none: int
    none_assumed: int
    proved: int
    assumed: int


class Summary(Struct, frozen=True):
    """`rungs` has the number of kernels of each status, those above `translated` only for translated kernels.
    `partly` are kernels of which some signatures are translated and some are not."""

    files: int
    kernels: int
    entries: int
    partly: int
    rungs: Mapping[str, Mapping[str, int]]
    refusals: tuple[Refusal, ...]
    unsafe: Unsafe
    forms: Mapping[str, int]
    median_ms: float
    slowest: tuple[tuple[str, float], ...]


def summarise(rows: Sequence[KernelRow], rungs: Sequence[str], files: int) -> Summary:
    """The numbers for `translated` and the `rungs`, of so many files. Times are the processor's for the translation
    alone: the file is parsed already."""
    reached: dict[str, Mapping[str, int]] = {}
    for rung in Rung:
        if rung is Rung.TRANSLATED or rung.value in rungs:
            counted = rows if rung is Rung.TRANSLATED else [row for row in rows if row.translated]
            counts = Counter(row.status(rung.value) for row in counted)
            reached[rung.value] = {status.value: counts[status] for status in RungStatus}
    times = sorted(((row.node, _ms(row)) for row in rows), key=lambda pair: -pair[1])
    return Summary(
        files=files,
        kernels=len(rows),
        entries=sum(len(row.entries) for row in rows),
        partly=sum(bool(row.translated) and row.status(Rung.TRANSLATED) is not RungStatus.PASSED for row in rows),
        rungs=reached,
        refusals=_refusals(rows),
        unsafe=unsafe_of(rows),
        forms=dict(Counter(form for row in rows for entry in row.translated for form in _forms(entry)).most_common()),
        median_ms=statistics.median(ms for _, ms in times) if times else 0.0,
        slowest=tuple(times[:SLOWEST]),
    )


def _ms(row: KernelRow) -> float:
    return sum(entry.ms(Rung.TRANSLATED) for entry in row.entries)


def _forms(entry: EntryRow) -> list[str]:
    return [read.text(read.mapping(output)["form"]) for output in read.items(entry.report["outputs"])]


def errors(row: KernelRow) -> tuple[str, ...]:
    """The codes of a kernel's errors, each once, in the order of its text."""
    found = (d for entry in row.entries for d in entry.diagnostics if d["severity"] == "error")
    return tuple(dict.fromkeys(read.text(d["code"]) for d in found))


def _refusals(rows: Sequence[KernelRow]) -> tuple[Refusal, ...]:
    by_code: dict[str, dict[str, None]] = {}
    for row in rows:
        for code in errors(row) if row.status(Rung.TRANSLATED) is RungStatus.FAILED else ():
            by_code.setdefault(code, {})[f"{row.node}:{row.line}"] = None
    made = [
        Refusal(code, CATALOGUE[code].title if code in CATALOGUE else "", tuple(nodes))
        for code, nodes in by_code.items()
    ]
    return tuple(sorted(made, key=lambda refusal: (-len(refusal.kernels), refusal.code)))


def unsafe_of(rows: Sequence[KernelRow]) -> Unsafe:
    """Over all kernels of which some signature is translated."""
    counts: list[tuple[int, int]] = []
    for row in rows:
        own = [read.mapping(entry.report["unsafe"]) for entry in row.translated]
        if own:
            counts.append((sum(read.integer(u["proved"]) for u in own), sum(read.integer(u["assumed"]) for u in own)))
    return Unsafe(
        kernels=len(counts),
        none=sum(proved == assumed == 0 for proved, assumed in counts),
        none_assumed=sum(assumed == 0 for _, assumed in counts),
        proved=sum(proved for proved, _ in counts),
        assumed=sum(assumed for _, assumed in counts),
    )


def unsafe_json(unsafe: Unsafe) -> dict[str, Json]:
    return {
        "kernels": unsafe.kernels,
        "none": unsafe.none,
        "none_assumed": unsafe.none_assumed,
        "proved": unsafe.proved,
        "assumed": unsafe.assumed,
    }


def to_json(
    rows: Sequence[KernelRow],
    summary: Summary,
    *,
    never: Unsafe | None,
    problems: Sequence[tuple[str, str]],
    options: Mapping[str, Json],
    tool_version: str,
) -> dict[str, Json]:
    """The whole report, ready for `json.dumps`. `never` is what `unsafe` would be under `--unsafe never`."""
    return {
        "version": VERSION,
        "tool": {"name": TOOL, "version": tool_version},
        "options": options,
        "summary": {
            "files": summary.files,
            "kernels": summary.kernels,
            "entries": summary.entries,
            "partly_translated": summary.partly,
            "rungs": {rung: dict(counts) for rung, counts in summary.rungs.items()},
            "refusals": [
                {"code": r.code, "title": r.title, "count": len(r.kernels), "kernels": list(r.kernels)}
                for r in summary.refusals
            ],
            "unsafe": unsafe_json(summary.unsafe),
            "unsafe_never": None if never is None else unsafe_json(never),
            "forms": dict(summary.forms),
            "analysis_ms": {"median": round(summary.median_ms, 3), "max": round(max_ms(summary), 3)},
            "slowest": [{"kernel": node, "ms": round(ms, 3)} for node, ms in summary.slowest],
        },
        "problems": [{"file": file, "message": message} for file, message in problems],
        "kernels": [entry.report for row in rows for entry in row.entries],
    }


def max_ms(summary: Summary) -> float:
    """The longest translation."""
    return summary.slowest[0][1] if summary.slowest else 0.0

"""`ferrotile coverage --refused`: every kernel that the rules refuse, by reason; where each could be drafted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ferrotile.diagnostics.catalogue import CATALOGUE
from ferrotile_runner import json_values as read
from ferrotile_runner.coverage.commit import commit_of
from ferrotile_runner.coverage.rows import EntryRow, KernelRow
from ferrotile_runner.coverage.summary import errors
from ferrotile_runner.report import Rung, RungStatus
from msgspec import Struct

from ferrotile_server.cli.output import plural

HEAD = ("code", "kernels", "kernel", "signatures refused", "signature", "reason")


class Refused(Struct, frozen=True):
    """A kernel with its first error; `place` is `FILE::KERNEL:LINE`, with the line of that error."""

    code: str
    place: str
    entries: int
    refused: int
    known: bool
    message: str


def _first_error(entry: EntryRow) -> tuple[str, int, str]:
    for found in entry.diagnostics:
        if found["severity"] == "error":
            return read.text(found["code"]), read.integer(found["line"]), read.text(found["message"])
    return "", read.integer(entry.report["line"]), entry.detail(Rung.TRANSLATED)


def refused_kernels(rows: Sequence[KernelRow]) -> tuple[Refused, ...]:
    """The refused ones, those with the most frequent code first."""
    made: list[Refused] = []
    for row in rows:
        if row.status(Rung.TRANSLATED) is not RungStatus.FAILED:
            continue
        bad = [entry for entry in row.entries if entry.status(Rung.TRANSLATED) is RungStatus.FAILED]
        code, line, message = _first_error(bad[0])
        known = all(entry.report["signature"] for entry in bad)
        place = f"{row.node}:{line}"
        made.append(Refused(code or "".join(errors(row)[:1]), place, len(row.entries), len(bad), known, message))
    counts = {r.code: sum(other.code == r.code for other in made) for r in made}
    return tuple(sorted(made, key=lambda r: (-counts[r.code], r.code, r.place)))


def refused_rows(refused: Sequence[Refused]) -> list[tuple[str, ...]]:
    """The table: code and count stand in the first row of each code."""
    made: list[tuple[str, ...]] = []
    previous = ""
    for one in refused:
        count = sum(other.code == one.code for other in refused)
        title = CATALOGUE[one.code].title if one.code in CATALOGUE else ""
        head = ("", "") if one.code == previous else (f"{one.code} {title}", str(count))
        signature = "known" if one.known else "not known"
        made.append((*head, one.place, f"{one.refused} of {one.entries}", signature, one.message.splitlines()[0]))
        previous = one.code
    return made


def measured_at(paths: Sequence[str]) -> tuple[str, ...]:
    """`REPOSITORY at COMMIT` for each checkout that the paths lie in."""
    found = (commit_of(Path(path) / "file") if Path(path).is_dir() else commit_of(Path(path)) for path in paths)
    return tuple(dict.fromkeys(f"{folder.name} at {commit[:12]}" for folder, commit in filter(None, found)))


def headline(rows: Sequence[KernelRow], refused: Sequence[Refused], paths: Sequence[str], version: str) -> str:
    """`5 of 183 kernels are refused; ferrotile 0.1.0; cutile-python at 0123abc`."""
    places = "; ".join((f"ferrotile {version}", *measured_at(paths)))
    return f"{len(refused)} of {plural(len(rows), 'kernel')} are refused; {places}"

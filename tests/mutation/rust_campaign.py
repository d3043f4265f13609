"""Mutants of the generated Rust, compiled by the real compiler and judged as those of Tile IR."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

import kinds_rust_table as table
import reasons
import reasons_rust
from campaign import Finding, judged
from ferrotile_runner.process import ProcessError
from ferrotile_runner.rungs.subject import RungFailure, RungSkipped
from ferrotile_runner.session import Session
from ferrotile_runner.tileir.model import Entry
from ferrotile_runner.tileir.printer import print_entry
from ferrotile_runner.tileir.text import ReadError
from judging import Judge
from msgspec.structs import replace
from subjects import Source, pair_of

TRIES = 4
"""Texts tried for each mutant that compiles, at most."""


def of_rust(
    session: Session, source: Source, count: int, seed: str, kinds: frozenset[str] | None = None
) -> Iterator[Finding]:
    """`count` mutants of a translation that compile and are another Tile IR, of these kinds (None: of any); none where
    it is not proved itself."""
    kernel = source.subject.kernel
    assert kernel.rust is not None
    pair = pair_of(session, source)
    if not pair.proved():
        return
    judge = Judge(pair)
    seen = {print_entry(judge.rust)}
    made = 0
    drawn = table.mutants(kernel.rust, f"{seed} {source.name}")
    wanted = (drawing for drawing in drawn if kinds is None or drawing[0].name in kinds)
    for kind, edit, text in islice(wanted, TRIES * count):
        subject = replace(source.subject, kernel=replace(kernel, rust=text))
        try:
            entry = session.rust_entry(subject)
        except (RungFailure, ProcessError, ReadError):
            continue
        printed = print_entry(entry)
        if printed in seen or not same_interface(entry, judge.rust):
            continue
        seen.add(printed)
        found = judged(judge, entry)
        line = kernel.rust.count("\n", 0, edit.start) + 1
        why = found.why.split("\n")[0][:160]
        proved = found.fate in reasons.PROVED
        reason = reasons_rust.of_rust(judge.sides, entry, proved) if found.fate in reasons.ASKED else ""
        yield Finding(kind.text, source.name, kind.name, edit.what, line, found.fate, found.seen, why, reason)
        made += 1
        if made == count:
            return


def of_every_kind(session: Session, sources: Sequence[Source], count: int, seed: str) -> Iterator[Finding]:
    """About `count` mutants of each kind, from kernels that have what it changes; short ones that have most first."""
    missing: Counter[str] = Counter({kind.name: count for kind in table.KINDS})
    lengths = {source.name: 20 + (source.subject.kernel.rust or "").count("\n") for source in sources}
    rest = {source.name: source for source in sources}
    kinds_of = {source.name: table.kinds_in(source.subject.kernel.rust or "") for source in sources}
    while rest:
        wanted = frozenset(name for name, number in missing.items() if number > 0)
        source = max(rest.values(), key=lambda one: len(kinds_of[one.name] & wanted) / lengths[one.name])
        if not kinds_of[source.name] & wanted:
            return
        del rest[source.name]
        with contextlib.suppress(RungFailure, RungSkipped, ProcessError):
            for finding in of_rust(session, source, len(kinds_of[source.name] & wanted), seed, wanted):
                missing[finding.kind] -= 1
                yield finding
        session.forget()


def same_interface(entry: Entry, original: Entry) -> bool:
    """Whether the launch of the one is a launch of the other."""
    return [p.type for p in entry.parameters] == [p.type for p in original.parameters]


def rust_campaign(session: Session, sources: Sequence[Source], count: int, seed: str) -> Iterator[Finding]:
    for source in sources:
        yield from of_rust(session, source, count, seed)
        session.forget()

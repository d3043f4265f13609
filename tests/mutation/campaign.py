"""Mutants by the thousand: each judged, within a time limit, and written down."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType

import reasons
import tile_ir
from ferrotile_runner.tileir.model import Entry
from judging import Fate, Judge, Judgement
from msgspec import Struct
from msgspec import json as records
from subjects import Pair

SECONDS = 300
"""For one mutant in all; more is a fault of the tool: neither proof nor simulation may hang."""


class Finding(Struct, frozen=True):
    """What became of one mutant. `line`: that of the disassembly, or of the Rust. `reason`: why it is the same
    program, where it was neither seen in a run nor has to be."""

    text: str
    kernel: str
    kind: str
    what: str
    line: int
    fate: Fate
    seen: str = ""
    why: str = ""
    reason: str = ""


class _Late(Exception):
    """The time limit was reached."""


def _stop(number: int, frame: FrameType | None) -> None:
    raise _Late


def judged(judge: Judge, mutant: Entry) -> Judgement:
    """Within the time limit."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.alarm(SECONDS)
    try:
        return judge(mutant)
    except _Late:
        return Judgement(Fate.NO_VERDICT, "", f"none within {SECONDS} s")
    except Exception as error:
        return Judgement(Fate.NO_VERDICT, "", f"{type(error).__name__}: {error}")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def of_tile_ir(judge: Judge, count: int | None, seed: str) -> Iterator[Finding]:
    """The mutants of the translation's Tile IR."""
    for mutant in tile_ir.mutants(judge.rust, count, f"{seed} {judge.pair.name}"):
        yield _finding(judge, mutant)


def of_proved(pair: Pair, count: int | None, seed: str) -> Iterator[Finding]:
    """As `of_tile_ir`, but of the mutants only those are run that are proved for no known reason: a rejected one need
    not be run to know that the prover did not believe it."""
    proof, runs = Judge(pair, simulated=False), None
    for mutant in tile_ir.mutants(proof.rust, count, f"{seed} {pair.name}"):
        found = _finding(proof, mutant)
        if found.fate is Fate.PROVED_ONLY and not found.reason:
            runs = runs or Judge(pair)
            found = _finding(runs, mutant)
        yield found


def _finding(judge: Judge, mutant: tile_ir.Mutant) -> Finding:
    name, kind = judge.pair.name, mutant.kind
    found = judged(judge, mutant.entry)
    reason = ""
    if found.fate in reasons.ASKED:
        reason = reasons.of_tile_ir(judge.sides, kind.name, mutant.edit, mutant.entry, found.fate in reasons.PROVED)
    where = kind.text, name, kind.name, mutant.what, mutant.line
    return Finding(*where, found.fate, found.seen, found.why.split("\n")[0][:160], reason)


class Log:
    """A file of findings, a line each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    def add(self, findings: Sequence[Finding]) -> None:
        with self.path.open("ab") as file:
            file.writelines(records.encode(finding) + b"\n" for finding in findings)


def campaign(
    pairs: Iterable[Pair],
    count: int | None,
    seed: str,
    log: Log | None,
    quiet: bool = False,
    only_proved: bool = False,
) -> list[Finding]:
    """`count` mutants of each pair. `only_proved`: of the mutants those that are proved for no known reason are run."""
    found: list[Finding] = []
    for pair in pairs:
        started = time.process_time()
        mutants = of_proved(pair, count, seed) if only_proved else of_tile_ir(Judge(pair, patient=True), count, seed)
        some = list(mutants)
        found += some
        if log is not None:
            log.add(some)
        if not quiet:
            spent = time.process_time() - started
            faults = sum(1 for f in some if f.fate is Fate.FAULT)
            line = {"kernel": pair.name, "mutants": len(some), "s": round(spent, 1), "faults": faults}
            print(json.dumps(line), flush=True)
    return found


class Report(Struct, frozen=True):
    """Numbers of mutants. `other`: programs that are not the same for one of the reasons, so that a run should tell;
    `seen_by_rung` of these by the rung's simulation, `seen` by any run."""

    mutants: int
    rejected: int
    proved: int
    faults: int
    unexplained: int
    beyond: int
    other: int
    seen_by_rung: int
    seen: int


def report_of(findings: Sequence[Finding]) -> Report:
    proved = [f for f in findings if f.fate in reasons.PROVED]
    other = [f for f in findings if f.fate in (Fate.CAUGHT, Fate.UNSEEN) and not f.reason]
    seen = [f for f in other if f.fate is Fate.CAUGHT]
    return Report(
        len(findings),
        sum(1 for f in findings if f.fate in reasons.REJECTED),
        len(proved),
        sum(1 for f in findings if f.fate in (Fate.FAULT, Fate.NO_VERDICT)),
        sum(1 for f in proved if not f.reason),
        sum(1 for f in findings if f.reason.startswith("beyond")),
        len(other),
        sum(1 for f in seen if f.seen == "simulation"),
        len(seen),
    )

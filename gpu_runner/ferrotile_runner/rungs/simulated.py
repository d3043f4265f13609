"""Rung `simulated`: original and translation give the same arrays in the interpreter, which runs in a process of its
own."""

from __future__ import annotations

from ferrotile_runner.launch_facts import facts_of
from ferrotile_runner.process import Ending, ProcessError
from ferrotile_runner.rungs.subject import RungFailure, RungSkipped, Subject
from ferrotile_runner.session import Session
from ferrotile_runner.simulation import Verdict


def simulated(session: Session, subject: Subject) -> str:
    """Says which launches agreed. Raises RungFailure with the first difference."""
    signature, rust = subject.kernel.signature, subject.kernel.entry
    if signature is None or rust is None:
        raise RungSkipped("not translated")
    if signature.grid is None and not facts_of(rust.hypotheses).grid:
        raise RungSkipped("the grid is not known: add `grid=(...)` to the `# ferrotile:` directive")
    original, translation = session.python_code(subject), session.rust_code(subject)
    found = session.simulator().simulate(original.tile_ir, translation.tile_ir, signature, rust, cancel=subject.cancel)
    match Verdict(found.verdict):
        case Verdict.AGREED:
            return found.text
        case Verdict.DIFFERS:
            raise RungFailure("FT505", found.text, subject.kernel.name_span)
        case Verdict.UNDECIDED:
            raise RungSkipped(found.text)
        case Verdict.OUT_OF_TIME:
            raise ProcessError(Ending.TIMEOUT, f"simulation: {found.text}")

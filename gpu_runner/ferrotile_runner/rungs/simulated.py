"""Rung `simulated`: original and translation give the same arrays in the interpreter, which runs in a process of its
own."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from ferrotile.syntax.span import Span
from ferrotile.translation import Origin
from msgspec.structs import replace

from ferrotile_runner.input_error import InputError
from ferrotile_runner.input_factory import factory_of, make_inputs
from ferrotile_runner.parameter_words import python_words, rust_words
from ferrotile_runner.process import Ending, ProcessError
from ferrotile_runner.report import Difference
from ferrotile_runner.rungs.explanation import explain
from ferrotile_runner.rungs.subject import BadInputs, RungFailure, RungSkipped, Subject
from ferrotile_runner.session import Code, Session
from ferrotile_runner.simulation import Verdict
from ferrotile_runner.simulator import Noticed
from ferrotile_runner.stores import stores_to
from ferrotile_runner.tileir.model import Entry, Operation, walk
from ferrotile_runner.tileir.refinement import Difference as TermDifference
from ferrotile_runner.tileir.refinement import Side

MOST_LINES = 8
"""Of what is noticed."""
UNTRUSTED = "not run: pass --trust to simulate on what it gives"


def simulated(session: Session, subject: Subject) -> str:
    """Says which launches agreed. Raises RungFailure with the first difference, BadInputs for inputs of the user that
    cannot be used."""
    factory = None if subject.function is None else factory_of(subject.module, subject.function)
    try:
        if session.inputs.file is not None:
            return _on(session, subject, (session.inputs.file,))
        if factory is None or subject.function is None:
            return _on(session, subject, ())
        if not session.inputs.trust:
            return f"{_on(session, subject, ())}\ninputs={factory} is {UNTRUSTED}"
        with tempfile.TemporaryDirectory(prefix="ferrotile-") as folder:
            made = make_inputs(subject.module, factory, session.inputs.seed, Path(folder), subject.cancel)
            return f"{_on(session, subject, made)}\non what {factory} gives"
    except InputError as error:
        raise BadInputs(f"inputs: {error}") from error


def _operation(entry: Entry, text_line: int) -> Operation | None:
    return next((one for one in walk(entry.body) if one.text_line == text_line), None)


def _in_the_python(session: Session, subject: Subject, code: Code, noticed: Sequence[Noticed]) -> list[str]:
    """What the original does that is undefined, or that depends on the order of its blocks, at its line of the
    Python."""
    if not noticed:
        return []
    entry = session.located(code)
    lines: dict[str, None] = {}
    for one in noticed:
        operation = _operation(entry, one.text_line)
        place = None
        if operation is not None and operation.location is not None:
            side = Side("", operation.location, operation.name)
            place = explain(subject, TermDifference("", one.text, side, None))[0].python
        where = "in the original" if place is None else f"in the original, line {place.line} (`{place.text}`)"
        lines[f"{where}: {one.text}"] = None
    return list(lines)[:MOST_LINES]


def _in_the_rust(
    session: Session, subject: Subject, code: Code, noticed: Sequence[Noticed]
) -> tuple[Span, Difference | None]:
    """The Python that made the access or the assert that shows a difference; the kernel's name for other
    differences."""
    entry = session.located(code) if noticed else None
    for one in noticed:
        operation = None if entry is None else _operation(entry, one.text_line)
        if operation is not None and operation.location is not None:
            side = Side("", operation.location, operation.name)
            difference, span = explain(subject, TermDifference("", one.text, None, side))
            return span, difference
    return subject.kernel.name_span, None


def _at_the_stores(
    session: Session, subject: Subject, original: Code, translation: Code, difference: Difference
) -> tuple[Difference, Span]:
    """The same difference where each side writes the array, if it does so at one place."""
    signature, rust = subject.kernel.signature, subject.kernel.entry
    assert signature is not None and rust is not None
    array = difference.expected.partition("[")[0]
    sides: list[Side | None] = []
    for code, words in ((original, python_words(signature)), (translation, rust_words(rust))):
        stores = stores_to(session.located(code), words, array)
        places = {one.location.entry.line for one in stores if one.location is not None}
        sides.append(Side("", stores[0].location, stores[0].name) if len(places) == 1 else None)
    found, span = explain(subject, TermDifference("", difference.words, sides[0], sides[1]))
    return replace(difference, python=found.python, rust=found.rust), span


def _lines_of(difference: Difference) -> list[str]:
    sides = (("Python", difference.python), ("Rust", difference.rust))
    return [f"{side} line {place.line}: `{place.text}`" for side, place in sides if place is not None]


def _on(session: Session, subject: Subject, inputs: Sequence[Path]) -> str:
    signature, rust = subject.kernel.signature, subject.kernel.entry
    if signature is None or rust is None:
        raise RungSkipped("not translated")
    original, translation = session.python_code(subject), session.rust_code(subject)
    found = session.simulator().simulate(
        original.tile_ir,
        translation.tile_ir,
        signature,
        rust,
        seconds=session.inputs.seconds,
        seed=session.inputs.seed,
        inputs=inputs,
        cancel=subject.cancel,
    )
    blamed = [one for one in found.noticed if one.side == "original"]
    text = "\n".join((found.text, *_in_the_python(session, subject, original, blamed)))
    match Verdict(found.verdict):
        case Verdict.AGREED:
            return text
        case Verdict.DIFFERS:
            shown = [one for one in found.noticed if one.side == "translation"]
            span, difference = _in_the_rust(session, subject, translation, shown)
            if difference is None and any(found.values):
                difference = Difference(None, None, found.text, *found.values)
                if subject.kernel.origin is not Origin.RULES:  # no source map leads from one text to the other
                    difference, span = _at_the_stores(session, subject, original, translation, difference)
                    text = "\n".join((text, *_lines_of(difference)))
            raise RungFailure("FT505", text, span, difference)
        case Verdict.UNDECIDED:
            raise RungSkipped(text)
        case Verdict.OUT_OF_TIME:
            raise ProcessError(Ending.TIMEOUT, f"simulation: {found.text}")

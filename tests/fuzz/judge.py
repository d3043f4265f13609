"""What becomes of random kernels on the ladder, and whether that is as it must be."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from ferrotile.diagnostics.model import Severity
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import Module, parse_module
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation
from ferrotile_runner.report import KernelReport, Rung, RungStatus
from ferrotile_runner.rungs.subject import RungFailure, RungSkipped, Subject
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate
from ferrotile_runner.verify import DEFAULT_TARGET, verify_kernels

RUNGS = ("type-checked", "proved", "simulated")


class Fate(Enum):
    """How a kernel ended. The first two are as they should be; `ACCEPTED_WRONG` is the one that must never be."""

    AGREED = "proved and simulated"
    REFUSED_BY_BOTH = "refused, and by cuda-tile too"
    REFUSED = "refused, though cuda-tile takes it"
    INTERNAL = "an internal error"
    INVALID_RUST = "rustc or the JIT refuses the Rust"
    ACCEPTED_WRONG = "proved, but the simulation differs"
    DIFFERS = "not proved, and the simulation differs"
    NOT_PROVED = "not proved, though the simulation agrees"
    NOT_SIMULATED = "proved, but not simulated"

    @property
    def good(self) -> bool:
        """Whether nothing is to be done about it."""
        return self in (Fate.AGREED, Fate.REFUSED_BY_BOTH)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A kernel's fate and the words of the tool that decided it."""

    name: str
    fate: Fate
    detail: str = ""


def judge(session: Session, text: str, rungs: Sequence[str] = RUNGS) -> Iterator[Judgement]:
    """Each kernel of a file, those that are translated first. Rungs that are not asked for count as passed."""
    document = Document(text)
    module = parse_module(document)
    kernels = translate_document(document).kernels
    translated = [k for k in kernels if k.rust is not None]
    for report in verify_kernels(document, translated, rungs, locate(), session=session):
        yield _climbed(report)
    for kernel in kernels:
        if kernel.rust is None:
            yield _refused(session, document, module, kernel)


def _climbed(report: KernelReport) -> Judgement:
    def passed(rung: Rung) -> bool:
        return rung not in report.rungs or report.rungs[rung].status is RungStatus.PASSED

    def judged(fate: Fate, rung: Rung) -> Judgement:
        result = report.rungs[rung]
        return Judgement(report.name, fate, f"{rung.value} {result.status.value}: {result.detail}")

    if not passed(Rung.TYPE_CHECKED):
        return judged(Fate.INVALID_RUST, Rung.TYPE_CHECKED)
    differs = not passed(Rung.SIMULATED) and report.rungs[Rung.SIMULATED].status is RungStatus.FAILED
    if not passed(Rung.PROVED):
        if differs:
            return judged(Fate.DIFFERS, Rung.SIMULATED)
        return judged(Fate.NOT_PROVED, Rung.PROVED)
    if differs:
        return judged(Fate.ACCEPTED_WRONG, Rung.SIMULATED)
    if not passed(Rung.SIMULATED):
        return judged(Fate.NOT_SIMULATED, Rung.SIMULATED)
    return Judgement(report.name, Fate.AGREED)


def _refused(session: Session, document: Document, module: Module, kernel: KernelTranslation) -> Judgement:
    errors = [d for d in kernel.diagnostics if d.severity is Severity.ERROR]
    said = "; ".join(f"{d.code} {d.message}" for d in errors)
    if any(d.code == "FT900" for d in errors):
        return Judgement(kernel.name, Fate.INTERNAL, said)
    function = next(f for f in module.functions if f.name == kernel.name)
    subject = Subject(document, module, function, kernel, DEFAULT_TARGET, threading.Event())
    try:
        session.python_code(subject)
    except (RungFailure, RungSkipped):  # skipped: the text uses a name that it does not define
        return Judgement(kernel.name, Fate.REFUSED_BY_BOTH, said)
    return Judgement(kernel.name, Fate.REFUSED, said)

"""Climbs the ladder with a kernel and reports how far it got."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from ferrotile.diagnostics.model import Diagnostic
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import Module, parse_module
from ferrotile.translation import KernelTranslation, Origin
from msgspec import Struct
from msgspec.structs import replace

from ferrotile_runner.process import ProcessError
from ferrotile_runner.report import KernelReport, Rung, RungResult, RungStatus, kernel_report
from ferrotile_runner.rungs.assembled import assembled
from ferrotile_runner.rungs.matched import matched
from ferrotile_runner.rungs.proved import proved
from ferrotile_runner.rungs.simulated import simulated
from ferrotile_runner.rungs.subject import (
    Outcome,
    Reached,
    RungSkipped,
    Subject,
    attempt,
    instance_text,
    subject_of,
)
from ferrotile_runner.rungs.translated import translated
from ferrotile_runner.rungs.type_checked import type_checked
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import Toolchain

CLIMBED: Mapping[Rung, Callable[[Session, Subject], str | Reached]] = MappingProxyType(
    {
        Rung.TYPE_CHECKED: type_checked,
        Rung.ASSEMBLED: assembled,
        Rung.PROVED: proved,
        Rung.SIMULATED: simulated,
        Rung.MATCHED: matched,
    }
)
"""The rungs that need tools, in order. None depends on another: each is tried."""

DEFAULT_TARGET = "sm_90"


def _quiet(message: str) -> None:
    """Progress that nobody watches."""


def _opened(session: Session | None, toolchain: Toolchain) -> contextlib.AbstractContextManager[Session]:
    """The session as it is, which stays open; without one a new one, closed at the end of the `with` block."""
    return Session(toolchain) if session is None else contextlib.nullcontext(session)


def verify_kernel(
    document: Document,
    kernel: KernelTranslation,
    rungs: Sequence[str],
    toolchain: Toolchain,
    progress: Callable[[str], None] = _quiet,
    cancel: threading.Event | None = None,
    *,
    target: str = DEFAULT_TARGET,
    session: Session | None = None,
    module: Module | None = None,
    file: str = "",
) -> KernelReport:
    """The report of one kernel on the named `rungs`; `translated` is always in it. With a `session`
    compilers stay warm between kernels, without one they are started and stopped here. Never raises for
    what a kernel or a tool does."""
    subject = subject_of(document, kernel, target, module, cancel)
    results: dict[Rung, RungResult] = {Rung.TRANSLATED: translated(kernel)}
    diagnostics: list[Diagnostic] = []
    with _opened(session, toolchain) as compilers:
        for rung in Rung:
            if rung is Rung.TRANSLATED or rung.value not in rungs:
                continue
            outcome = _climb(rung, compilers, subject, results, progress)
            results[rung] = _with_instance(outcome.result, kernel)
            # Rungs that compile the same text meet the same error.
            diagnostics.extend(d for d in outcome.diagnostics if d not in diagnostics)
    return kernel_report(document, kernel, results, tuple(diagnostics), file)


def _climb(
    rung: Rung,
    session: Session,
    subject: Subject,
    below: Mapping[Rung, RungResult],
    progress: Callable[[str], None],
) -> Outcome:
    is_ours = subject.kernel.origin is Origin.RULES
    if is_ours and below[Rung.TRANSLATED].status is not RungStatus.PASSED:
        return Outcome(RungResult(RungStatus.SKIPPED, "not translated"))
    climb = CLIMBED[rung]
    progress(f"{subject.kernel.name}: {rung.value}")
    return attempt(lambda: climb(session, subject), subject)


def _with_instance(result: RungResult, kernel: KernelTranslation) -> RungResult:
    instance = instance_text(kernel)
    if result.status is not RungStatus.PASSED or not instance:
        return result
    return replace(result, detail=f"{instance}\n{result.detail}".strip())


class Work(Struct, frozen=True):
    """Kernels of one file; `file` is its name in the reports, `module` the file with what it imports from its
    workspace, where that is known."""

    document: Document
    kernels: Sequence[KernelTranslation]
    file: str = ""
    module: Module | None = None


def verify_files(
    work: Sequence[Work],
    rungs: Sequence[str],
    session: Session,
    progress: Callable[[str], None] = _quiet,
    cancel: threading.Event | None = None,
    *,
    target: str = DEFAULT_TARGET,
) -> Iterator[KernelReport]:
    """The report of each kernel, in order, as soon as it is known. One run of `cargo` checks the types of all, before
    the first report; compilers stay warm in `session`. Ends early once `cancel` is set. Never raises for what a
    kernel or a tool does."""
    texts = [kernel.rust for one in work for kernel in one.kernels if kernel.rust is not None]
    if texts and Rung.SIMULATED.value in rungs:
        # It loads NumPy while the compilers work. What goes wrong here goes wrong again with each kernel.
        with contextlib.suppress(ProcessError):
            session.simulator().start()
    if texts and Rung.TYPE_CHECKED.value in rungs:
        progress("type-checking")
        # Each kernel's own check meets the same trouble and reports it.
        with contextlib.suppress(RungSkipped, ProcessError):
            session.check_types(texts, cancel)
    for one in work:
        module = parse_module(one.document) if one.module is None else one.module
        for kernel in one.kernels:
            if cancel is not None and cancel.is_set():
                return
            yield verify_kernel(
                one.document,
                kernel,
                rungs,
                session.toolchain,
                progress,
                cancel,
                target=target,
                session=session,
                module=module,
                file=one.file,
            )


def verify_kernels(
    document: Document,
    kernels: Sequence[KernelTranslation],
    rungs: Sequence[str],
    toolchain: Toolchain,
    progress: Callable[[str], None] = _quiet,
    cancel: threading.Event | None = None,
    *,
    target: str = DEFAULT_TARGET,
    session: Session | None = None,
    file: str = "",
) -> tuple[KernelReport, ...]:
    """As `verify_files` for the kernels of one file; without a `session` one is started and stopped here."""
    work = (Work(document, kernels, file),)
    with _opened(session, toolchain) as compilers:
        return tuple(verify_files(work, rungs, compilers, progress, cancel, target=target))

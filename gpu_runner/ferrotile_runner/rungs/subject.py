"""What a rung is given, what it answers, and how failures become results."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.frontends.cutile.discover import find_kernels
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, Source
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import FunctionSource, Module, parse_module
from ferrotile.syntax.span import Span
from ferrotile.translation import KernelTranslation, Origin
from msgspec import Struct
from msgspec.structs import replace

from ferrotile_runner.process import Ending, ProcessError
from ferrotile_runner.report import Difference, Place, RungResult, RungStatus


class Subject(Struct, frozen=True):
    """One kernel on its way up. `function` is the original in `module`."""

    document: Document
    module: Module
    function: FunctionSource | None
    kernel: KernelTranslation
    target: str
    cancel: threading.Event

    def rust_span(self, line: int | None) -> Span:
        """The Python that made a line (from 1) of the Rust text; the kernel's name where that is not
        known."""
        found = None if line is None else self.kernel.source_map.python_span(line - 1)
        return found if found is not None else self.kernel.name_span

    def rust_failure(self, code: str, message: str, line: int | None, column: int | None) -> RungFailure:
        """What a compiler says of the Rust (`line` from 1, `column` from 0), at the Python that made the line. Where
        the Rust is not ferrotile's, no Python made it: the failure shows the place in the Rust instead."""
        span = self.rust_span(line)
        if self.kernel.origin is Origin.RULES or self.kernel.rust is None or line is None:
            return RungFailure(code, message, span)
        text = self.kernel.rust.split("\n")[line - 1 : line]
        place = Place(line, (column or 0) + 1, text[0].strip() if text else "")
        said = f"{message}\nRust line {line}: `{place.text}`"
        return RungFailure(code, said, span, Difference(None, place, message))


def subject_of(
    document: Document,
    kernel: KernelTranslation,
    target: str,
    module: Module | None = None,
    cancel: threading.Event | None = None,
) -> Subject:
    """The kernel with its function in `module`, by default the document's own: the one of its name at its place."""
    module = parse_module(document) if module is None else module
    named = (f for f in find_kernels(module) if f.name == kernel.name and f.name_span == kernel.name_span)
    function = next(named, module.function(kernel.name))
    return Subject(document, module, function, kernel, target, cancel or threading.Event())


class Outcome(Struct, frozen=True):
    """A rung's result and the diagnostics that it adds."""

    result: RungResult
    diagnostics: tuple[Diagnostic, ...] = ()


class Reached(Struct, frozen=True):
    """What a rung that was reached says; `time_ratio` as in `RungResult`."""

    detail: str
    time_ratio: float | None = None


class RungFailure(Exception):
    """A rung was tried and not reached, for a reason that has a place in the Python."""

    def __init__(self, code: str, message: str, span: Span, difference: Difference | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.span, self.difference = code, message, span, difference


class RungSkipped(Exception):
    """A rung cannot be tried; the message says what it lacks, and what to do about it."""


class ToolMissing(RungSkipped):
    """A rung cannot be tried on this machine."""


class BadInputs(RungSkipped):
    """A rung cannot be tried on the inputs that the user gives."""


_ENDINGS = {
    Ending.MISSING: RungStatus.SKIPPED,
    Ending.CANCELLED: RungStatus.SKIPPED,
    Ending.TIMEOUT: RungStatus.TIMEOUT,
    Ending.CRASHED: RungStatus.CRASHED,
}


def attempt(rung: Callable[[], str | Reached], subject: Subject) -> Outcome:
    """Runs a rung, which answers with its detail, and makes every way of failing a result."""
    start = time.perf_counter()

    def result(status: RungStatus, detail: str, broken: bool = False) -> RungResult:
        return RungResult(status, detail, (time.perf_counter() - start) * 1e3, broken=broken)

    if subject.cancel.is_set():
        return Outcome(RungResult(RungStatus.SKIPPED, "cancelled"))
    try:
        reached = rung()
        if isinstance(reached, str):
            return Outcome(result(RungStatus.PASSED, reached))
        return Outcome(replace(result(RungStatus.PASSED, reached.detail), time_ratio=reached.time_ratio))
    except RungSkipped as skipped:
        broken = isinstance(skipped, ToolMissing | BadInputs)
        return Outcome(RungResult(RungStatus.SKIPPED, str(skipped), broken=broken))
    except RungFailure as failure:
        found = diagnostic(failure.code, failure.message, failure.span)
        failed = replace(result(RungStatus.FAILED, failure.message), difference=failure.difference)
        return Outcome(failed, (found,))
    except ProcessError as error:
        return Outcome(result(_ENDINGS[error.ending], str(error), error.ending is Ending.MISSING))
    except Exception as error:
        # A rung's own fault must not end the server; it is shown as what it is.
        message = f"{type(error).__name__}: {error}"
        crashed = result(RungStatus.CRASHED, message)
        return Outcome(crashed, (diagnostic("FT900", message, subject.kernel.name_span),))


def instance_text(kernel: KernelTranslation) -> str:
    """The types and constants that ferrotile chose itself, for which alone a verdict holds; empty without any."""
    if kernel.signature is None:
        return ""
    types = {
        a.dtype.variable: a.dtype.name
        for a in kernel.signature.arguments
        if isinstance(a, ArrayArgument) and a.dtype.variable is not None
    }
    chosen = [f"{variable}={name}" for variable, name in types.items()]
    chosen += [
        f"{a.name}={a.value!r}"
        for a in kernel.signature.arguments
        if isinstance(a, ConstantArgument) and a.source is Source.ASSUMED
    ]
    return f"for the instance {', '.join(chosen)} (assumed)" if chosen else ""

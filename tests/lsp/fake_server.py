"""The real server around a fake translator and verifier: no compilers, and foreseeable answers."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Event

from ferrotile_server.lsp import lean_types

lean_types.load()

from ferrotile.diagnostics.model import Diagnostic, Fix, Severity  # noqa: E402
from ferrotile.syntax.document import Document  # noqa: E402
from ferrotile.syntax.span import Span  # noqa: E402
from ferrotile.translation import KernelTranslation, Options, Origin, SourceMap, UnsafeCount  # noqa: E402
from ferrotile_runner.candidate_error import CandidateError  # noqa: E402
from ferrotile_runner.gpu.presence import Presence  # noqa: E402
from ferrotile_runner.report import Difference, Place  # noqa: E402
from ferrotile_server.application import Analysis, Application, Candidate  # noqa: E402
from ferrotile_server.lsp.features import run_kernel  # noqa: E402
from ferrotile_server.lsp.server import serve  # noqa: E402
from msgspec.structs import replace  # noqa: E402

_KERNEL = re.compile(rb"@ct\.kernel\s+def (\w+)")


@dataclass(frozen=True, slots=True)
class Translation:
    """One kernel a `@ct.kernel`; refused where its body says REFUSE, a crash where it says CRASH."""

    kernels: tuple[KernelTranslation, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    module: None = None
    consulted: tuple[tuple[str, bytes | None], ...] = ()

    def render_file(self, stem: str, kernels: Sequence[str] = ()) -> str:
        return "\n".join(k.rust for k in self.kernels if k.rust and (not kernels or k.name in kernels))


@dataclass(frozen=True, slots=True)
class Result:
    status: str
    detail: str = ""
    ms: float = 1.0
    difference: Difference | None = None
    time_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Report:
    name: str
    rungs: Mapping[str, Result]
    diagnostics: tuple[Diagnostic, ...] = ()
    entry: str | None = None
    origin: Origin = Origin.RULES


def translate(document: Document, options: Options) -> Translation:
    print("user-visible print must not reach the protocol")
    os.system("echo neither a child process")
    data = document.data
    if b"CRASH" in data:
        raise RuntimeError("translator fault")
    time.sleep(float(os.environ.get("FAKE_DELAY", "0")))
    heads = list(_KERNEL.finditer(data))
    kernels = []
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        end = following.start() if following else len(data)
        name, body = head[1].decode(), data[head.start() : end]
        place = Span(*head.span(1))
        diagnostics: tuple[Diagnostic, ...] = ()
        at = data.find(b"REFUSE", head.start(), end)
        if at >= 0:
            span = Span(at, at + 6)
            fix = Fix("Remove it", span, "pass")
            diagnostics = (Diagnostic("FT301", Severity.ERROR, "no `REFUSE` here", span, ((place, "kernel"),), fix),)
        text = body.decode("utf-8", "replace")
        rust = None if at >= 0 else f"mod {name} {{ /* ``` {len(text)} {options.target} */\nfn {name}() {{}} }}"
        kernels.append(
            KernelTranslation(
                name,
                "cutile",
                Span(head.start(), end),
                place,
                None,
                None,
                rust,
                None,
                (),
                UnsafeCount(1, 0),
                SourceMap(((1, place),)),
                diagnostics,
            )
        )
    return Translation(tuple(kernels))


def verify(
    analysis: Analysis,
    kernels: Sequence[KernelTranslation],
    rungs: Sequence[str],
    progress: Callable[[str], None],
    cancel: Event,
) -> Iterator[Report]:
    for kernel in kernels:
        progress("proving")
        if kernel.origin is not Origin.RULES:
            yield of_other_rust(kernel)
            continue
        if "slow" in kernel.name:
            cancel.wait(20)
            note("cancelled" if cancel.is_set() else "not cancelled")
        if "stubborn" in kernel.name:
            time.sleep(30)  # a worker that hangs and does not look at its cancel flag
        if "dies" in kernel.name:
            raise ChildProcessError("the worker was killed by signal 9")
        status = "failed" if "wrong" in kernel.name else "passed"
        at = analysis.document.data.find(b"pass", kernel.span.start)
        cause = Diagnostic("FT504", Severity.ERROR, "addf here", Span(at, at + 4))
        found = (cause,) if status == "failed" else ()
        if kernel.rust is None:
            yield Report(kernel.name, {"translated": Result("failed"), "proved": Result("skipped", "not translated")})
            continue
        rungs_of = {"translated": Result("passed")}
        if "proved" in rungs:
            rungs_of["proved"] = Result(status, "first difference: addf")
        elif "matched" in rungs:
            rungs_of["matched"] = Result(status, "y[3]: 1.0 and 2.0", time_ratio=0.85)
        else:
            rungs_of["simulated"] = Result(status, "y[3]: 1.0 and 2.0")
        if "differs" in kernel.name:
            text = "y[3]: 1.0 and 2.0 (error 1, allowed 0), the worst of 5 elements that differ from [1] on"
            seen = Difference(None, None, text, "y[3] = 1.0", "y[3] = 2.0")
            rungs_of["simulated"] = Result("failed", text, difference=seen)
            found += (Diagnostic("FT505", Severity.ERROR, text, kernel.name_span),)
        yield Report(kernel.name, rungs_of, found)


def candidate(kernel: KernelTranslation, made: Candidate) -> KernelTranslation:
    """Rust with `AMBIGUOUS` in it cannot be compared; the entry is called `port`."""
    lines = made.rust.split("\n")
    at = next((number for number, line in enumerate(lines, 1) if "AMBIGUOUS" in line), None)
    if at is not None:
        raise CandidateError("which argument `p` is cannot be told", at)
    note(f"candidate {kernel.name} {made.entry} {dict(made.mapping)} {made.grid} {made.origin}")
    return replace(kernel, rust=made.rust, origin=made.origin)


def of_other_rust(kernel: KernelTranslation) -> Report:
    """`SWAPPED` in the Rust is a difference there, and at the kernel's name in the Python."""
    assert kernel.rust is not None
    lines = kernel.rust.split("\n")
    at = next((number for number, line in enumerate(lines, 1) if "SWAPPED" in line), None)
    rungs = {"translated": Result("skipped", "not ours"), "proved": Result("passed", "")}
    if at is not None:
        column = lines[at - 1].index("SWAPPED") + 1
        seen = Difference(Place(4, 5, "add"), Place(at, column, "SWAPPED"), "the indices are exchanged")
        rungs["proved"] = Result("failed", "the indices are exchanged", difference=seen)
    return Report(kernel.name, rungs, (), "port", kernel.origin)


def note(words: str) -> None:
    """For tests: on standard error, and in a file where they name one."""
    print(words, file=sys.stderr)
    if path := os.environ.get("FAKE_LOG"):
        with open(path, "a", encoding="utf-8") as log:
            print(words, file=log)


def main(arguments: list[str]) -> int:
    """Serve until the editor ends; the exit code."""
    note("started")
    gpu = os.environ.get("FAKE_GPU")
    run_kernel.usable_gpu = lambda: Presence(gpu, "" if gpu else "none in a test")
    return serve(arguments, Application(translator=translate, verifier=verify, candidates=candidate))  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

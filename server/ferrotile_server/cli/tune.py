"""`ferrotile tune`: on a GPU, finds the hints with which a translated kernel is fastest, and keeps them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ferrotile.choices import Choices
from ferrotile.translation import KernelTranslation
from ferrotile_runner.export import files
from ferrotile_runner.gpu.elsewhere import objects_of, run_on
from ferrotile_runner.gpu.presence import usable_gpu
from ferrotile_runner.gpu.tuning import Results, Tuned, Tuner
from ferrotile_runner.process import Command, Completed, ProcessError
from ferrotile_runner.process import run as run_process
from ferrotile_runner.report import KernelReport, RungStatus
from ferrotile_runner.rungs.subject import ToolMissing
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate
from ferrotile_runner.verify import verify_kernel
from msgspec import Struct

from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.paths import PathError, read_sources
from ferrotile_server.cli.progress import Progress
from ferrotile_server.cli.translating import Translated, application, translate_source, translate_sources
from ferrotile_server.cli.tuned_comment import with_comment

SECONDS = 300.0
MEASURE_SECONDS = 3600.0


class Kept(Struct, frozen=True):
    """What became of a kernel: its trials, the choices that won (none: it is best as it is), and their proof."""

    name: str
    tuned: Tuned
    choices: Choices
    proof: str

    @property
    def proved(self) -> bool:
        return self.proof == "proved"

    def json(self) -> dict[str, object]:
        best, plain = self.tuned.best, self.tuned.plain
        return {
            "kernel": self.name,
            "choices": str(self.choices),
            "proof": self.proof,
            "ratio": {"plain": plain.ratio, "best": best.ratio},
            "trials": [{"choices": str(t.choices), "ratio": t.ratio, "why": t.why} for t in self.tuned.trials],
            "untried": self.tuned.untried,
        }


def run(arguments: Arguments) -> int:
    """0 where every kernel was measured, 1 where one could not be, 2 for wrong use or a machine without a GPU."""
    sources, errors = read_sources(arguments.paths)
    for error in errors:
        print(f"ferrotile: {error}", file=sys.stderr)
    device = arguments.host or _own_gpu()
    until = time.monotonic() + (arguments.seconds or SECONDS)
    results = Results(device, fresh=arguments.fresh)
    code = 2 if errors else 0
    told: list[dict[str, object]] = []
    try:
        with Session(locate()) as session, Progress(0) as progress:
            tuner = Tuner(session, _Measure(arguments.host), results, arguments.target, until, None, progress.step)
            for one in translate_sources(application(arguments), sources):
                kept = list(_tune(tuner, one, arguments))
                code = max(code, 1 if any(k.tuned.best.ratio is None for k in kept) else 0)
                if arguments.write:
                    _write(one, kept, arguments.target)
                told += [{"file": one.source.name, **k.json()} for k in kept]
                if arguments.format == "text":
                    print("\n".join(line for k in kept for line in _lines(one, k, arguments)))
    except ToolMissing as error:
        raise PathError(str(error)) from error
    except ProcessError as error:
        raise PathError(f"nothing can be measured: {error}") from error
    except KeyboardInterrupt:
        print("ended: what was measured is kept, and the next run goes on from there", file=sys.stderr)
        return 130
    if arguments.format == "json":
        print(json.dumps(told))
    return code


def _own_gpu() -> str:
    found = usable_gpu()
    if found.name is None:
        raise PathError(f"no GPU to tune on: {found.why}; `--on HOST` tunes on another machine's")
    return found.name


class _Measure(Struct, frozen=True):
    """Runs a bundle here, or on another host."""

    host: str

    def __call__(self, bundle: Path) -> Iterator[Mapping[str, object]]:
        done = self._done(bundle)
        found = objects_of(done)
        if not found:
            raise PathError(f"the worker printed nothing: {done.stderr.strip()[-500:]}")
        yield from found

    def _done(self, bundle: Path) -> Completed:
        if self.host:
            return run_on(self.host, bundle)
        return run_process(Command((sys.executable, str(bundle))), MEASURE_SECONDS)


def _tune(tuner: Tuner, one: Translated, arguments: Arguments) -> Iterator[Kept]:
    """Every kernel of a file, its first signature measured, all of them proved."""
    for name in one.names:
        kernels = [k for k in one.kernels if k.name == name]
        first = next((k for k in kernels if k.rust is not None), None)
        if first is None:
            print(f"{one.source.name}::{name}: it is not translated; `ferrotile check` says why", file=sys.stderr)
            continue
        number = kernels.index(first)

        def again(choices: Choices, name: str = name, number: int = number) -> KernelTranslation | None:
            found = _with(one, arguments, choices, name)
            return found[number] if number < len(found) else None

        tuned = tuner.tune(one.analysis.document, one.analysis.translation.module, first, again)
        best = tuned.best.choices if tuned.best.ratio is not None else Choices()
        proof = _proof(tuner, one, _with(one, arguments, best, name))
        yield Kept(name, tuned, best if proof == "proved" else Choices(), proof)


def _with(one: Translated, arguments: Arguments, choices: Choices, name: str) -> list[KernelTranslation]:
    """A kernel with choices, for each of its signatures."""
    made = translate_source(application(arguments, choices), one.source)
    return [k for k in made.analysis.translation.kernels if k.name == name]


def _proof(tuner: Tuner, one: Translated, kernels: Sequence[KernelTranslation]) -> str:
    """`proved`, or why one of the signatures is not."""
    for kernel in kernels:
        if kernel.rust is None:
            continue
        report = verify_kernel(
            one.analysis.document,
            kernel,
            ("proved",),
            locate(),
            target=tuner.target,
            session=tuner.session,
            module=one.analysis.translation.module,
            file=one.source.name,
        )
        unproved = _unproved(report)
        if unproved:
            return unproved
    return "proved"


def _unproved(report: KernelReport) -> str:
    found = report.rungs["proved"]
    return "" if found.status is RungStatus.PASSED else f"{found.status.value}: {found.detail}".strip()


def _write(one: Translated, kept: Sequence[Kept], target: str) -> None:
    """The comments in the Python file: replaced whole, or not at all."""
    text = one.source.text
    won = {k.name: k.choices for k in kept if k.choices != Choices()}
    places = {kernel.name: kernel for kernel in one.kernels if kernel.name in won}
    for kernel in sorted(places.values(), key=lambda kernel: -kernel.span.start):  # the last first: spans stay right
        text = with_comment(text, kernel, won[kernel.name], target)
    if text != one.source.text:
        files.write(one.source.path, text.encode())


def _lines(one: Translated, kept: Kept, arguments: Arguments) -> Iterator[str]:
    """A line a trial, then what to do."""
    yield f"{one.source.name}::{kept.name}"
    for trial in kept.tuned.trials:
        ratio = f"{trial.ratio:.3f}" if trial.ratio is not None else "    -"
        yield f"  {ratio}  {str(trial.choices) or 'as it is'}{f'  ({trial.why})' if trial.why else ''}"
    if kept.tuned.untried:
        yield f"  {kept.tuned.untried} not tried: the time was up; run it again to go on"
    best, plain = kept.tuned.best, kept.tuned.plain
    if best.ratio is None or plain.ratio is None:
        yield "  no times: nothing is chosen"
    elif not kept.proved:
        yield f"  the fastest is not proved, so nothing is chosen: {kept.proof}"
    elif kept.choices == Choices():
        yield f"  best as it is: {plain.ratio:.3f} of the Python's time"
    else:
        yield f"  {plain.ratio:.3f} -> {best.ratio:.3f} of the Python's time, proved, with"
        yield f"    {kept.choices.comment(arguments.target)}"
        yield "  written above the kernel" if arguments.write else "  keep it above the kernel, or run with --write"

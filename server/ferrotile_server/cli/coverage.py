"""`ferrotile coverage`: how many kernels get how far up the ladder, and why the others do not."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ferrotile.translation import Options
from ferrotile_runner.coverage.kernel_worker import Text
from ferrotile_runner.coverage.measure import Measured, Progress, Settings, measure
from ferrotile_runner.coverage.rows import KernelRow
from ferrotile_runner.coverage.summary import Unsafe, summarise, to_json, unsafe_of
from ferrotile_runner.project import Projects
from ferrotile_runner.report import Rung, RungStatus
from ferrotile_runner.toolchain import locate
from msgspec.structs import replace

from ferrotile_server.cli.arguments import VERSION, Arguments
from ferrotile_server.cli.coverage_refused import HEAD, headline, refused_kernels, refused_rows
from ferrotile_server.cli.coverage_text import markdown, print_refused, print_text, refused_markdown
from ferrotile_server.cli.output import console
from ferrotile_server.cli.paths import PathError, read_sources, split_node

TRANSLATED_SECONDS = 60.0
"""A longer translation is not waited for, however much time the other rungs have."""


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar on standard error; nothing where that is no terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total, message: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(done: int, total: int, message: str) -> None:
            bar.update(task, completed=done, total=total)
            if message:
                bar.update(task, description=message[-60:])

        yield show


def _measured(texts: Sequence[Text], settings: Settings) -> Measured:
    with progress_bar() as progress:
        return measure(texts, settings, locate(), progress)


def _never(texts: Sequence[Text], settings: Settings) -> Unsafe:
    """What `unsafe` is left under `--unsafe never`."""
    options = replace(settings.options, unsafe="never")
    return unsafe_of(_measured(texts, replace(settings, options=options, rungs=())).rows)


def _print_refused(rows: Sequence[KernelRow], arguments: Arguments) -> None:
    refused = refused_kernels(rows)
    head = headline(rows, refused, arguments.paths, VERSION)
    if arguments.format == "markdown":
        print(refused_markdown(head, refused_rows(refused), HEAD))
    else:
        print_refused(head, refused_rows(refused), HEAD)


def exit_code(rows: Sequence[KernelRow], rungs: Sequence[str]) -> int:
    """2 where this machine lacks what a rung needs, 1 where a kernel did not reach a rung, else 0."""
    asked = {Rung.TRANSLATED.value, *rungs}
    if any(entry.broken & asked for row in rows for entry in row.entries):
        print("ferrotile: tools are missing, so rungs were skipped; see `ferrotile doctor`", file=sys.stderr)
        return 2
    fine = (RungStatus.PASSED, RungStatus.SKIPPED)
    return 0 if all(row.status(rung) in fine for row in rows for rung in asked) else 1


def run(arguments: Arguments) -> int:
    """Measure, and print a report."""
    for path in arguments.paths:
        if split_node(path)[1] is not None:
            raise PathError(f"{path}: coverage counts whole files; name the file alone")
    sources, unreadable = read_sources(arguments.paths)
    projects = Projects()
    paths = [Path(os.path.abspath(source.path)) for source in sources]
    texts = [
        Text(source.name, source.text, path.as_posix(), projects.digest(path).hex())
        for source, path in zip(sources, paths, strict=True)
    ]
    unsafe = "proved" if arguments.unsafe == "both" else arguments.unsafe
    options = Options(target=arguments.target, unsafe=unsafe, checks=arguments.checks)
    above = tuple(rung for rung in arguments.rungs if rung != Rung.TRANSLATED)
    seconds = arguments.seconds if above else min(arguments.seconds, TRANSLATED_SECONDS)
    settings = Settings(options, above, arguments.jobs or os.cpu_count() or 1, seconds, arguments.fresh)
    measured = _measured(texts, settings)
    never = _never(texts, settings) if arguments.unsafe == "both" else None
    problems = [*((name, message) for name, message in measured.problems), *((str(e), "") for e in unreadable)]
    summary = summarise(measured.rows, above, len(texts))
    match arguments.format:
        case "text" | "markdown" if arguments.refused:
            _print_refused(measured.rows, arguments)
        case "json":
            chosen = {"target": options.target, "unsafe": arguments.unsafe, "checks": options.checks}
            made = to_json(
                measured.rows,
                summary,
                never=never,
                problems=problems,
                options={**chosen, "rungs": list(summary.rungs)},
                tool_version=VERSION,
            )
            print(json.dumps(made, indent=2, ensure_ascii=False))
        case "markdown":
            print(markdown(measured.rows, summary, never))
        case _:
            print_text(measured.rows, summary, never)
    for name, message in problems if arguments.format != "json" else ():
        print(f"ferrotile: {name}: {message}" if message else f"ferrotile: {name}", file=sys.stderr)
    for note in measured.notes:
        print(f"ferrotile: {note}", file=sys.stderr)
    code = exit_code(measured.rows, above)
    return 2 if unreadable else max(code, 1 if measured.problems else 0)

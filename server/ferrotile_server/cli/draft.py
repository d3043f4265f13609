"""`ferrotile draft`: a model proposes Rust for a kernel that no rule translates, and the ladder decides."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ferrotile_runner.export import files
from msgspec.structs import replace

from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.paths import PathError, read_source, split_node
from ferrotile_server.cli.translating import application, translate_source
from ferrotile_server.drafting import mark
from ferrotile_server.drafting.budget import Budget
from ferrotile_server.drafting.candidates import ladder_of
from ferrotile_server.drafting.destination import NoDestination, destination_of
from ferrotile_server.drafting.endpoint import Endpoint
from ferrotile_server.drafting.judgement import NoLadder
from ferrotile_server.drafting.log import LogError, LogFile, read, silent
from ferrotile_server.drafting.loop import Drafted, End, draft
from ferrotile_server.drafting.model import Model
from ferrotile_server.drafting.prompt import Task
from ferrotile_server.drafting.replay import Replay
from ferrotile_server.drafting.report import best_words, summary
from ferrotile_server.drafting.task import NotDraftable, kernel_of, task_of

INTERRUPTED = 130
_CLEAR = "\r\x1b[K"


def run(arguments: Arguments) -> int:
    """0 where a candidate was verified, 1 where none was, 2 for wrong use or a machine that cannot judge one."""
    try:
        return _run(arguments)
    except (NotDraftable, NoDestination, NoLadder, LogError) as error:
        raise PathError(str(error)) from None


def _run(arguments: Arguments) -> int:
    name, kernel_name = split_node(arguments.paths[0])
    path = Path(name)
    if path.is_dir() or kernel_name is None:
        raise PathError(f"{arguments.paths[0]}: name one kernel, as FILE::KERNEL")
    if arguments.write_unverified and arguments.output is None:
        raise PathError("--write-unverified needs -o FILE: what is not verified is not printed as if it were")
    target = None if arguments.output is None else Path(arguments.output)
    if target is not None:
        _may_write(target, arguments.force)
    core = application(arguments)
    translated = translate_source(core, read_source(path, name, kernel_name))
    kernel = kernel_of(translated.analysis, kernel_name)
    task = task_of(translated.analysis, kernel, path.name, core)
    model, model_name, date, budget = _model(arguments, task)
    with ExitStack() as opened:
        opened.callback(core.close)
        ladder = ladder_of(core, translated.analysis, kernel)
        log = silent if arguments.log is None else opened.enter_context(LogFile(Path(arguments.log))).write
        cancel = opened.enter_context(_interrupts())
        done = draft(
            task, model, ladder, budget, name=model_name, log=log, say=_say, hint=_hint, cancel=cancel, date=date
        )
    return _finish(done, task, budget, path, target, arguments.write_unverified)


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, so that compilers stop and the log has its end; pressed again, it interrupts."""
    cancel = threading.Event()

    def heard(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        cancel.set()

    before = signal.signal(signal.SIGINT, heard)
    try:
        yield cancel
    finally:
        signal.signal(signal.SIGINT, before)


def _model(arguments: Arguments, task: Task) -> tuple[Model, str, str, Budget]:
    """What answers, its name, the date of a draft that is run again, and what the draft may cost."""
    budget = Budget(arguments.tries, arguments.seconds, arguments.most_tokens, arguments.prices)
    if arguments.replay is not None:
        again = Replay(read(Path(arguments.replay)))
        if again.python != task.digest:
            raise LogError(f"{arguments.replay}: of {again.kernel}, which is another kernel, or has changed since")
        return again, again.name, again.date, replace(again.budget, prices=arguments.prices)
    destination = destination_of(arguments.base_url, arguments.model, os.environ)
    _say(f"{task.node}: {destination.model} at {destination.host}")
    return Endpoint(destination), destination.model, "", budget


def _finish(done: Drafted, task: Task, budget: Budget, python: Path, target: Path | None, unverified: bool) -> int:
    """Say how it ended; write what may be written."""
    _say(summary(done, budget.prices))
    if words := best_words(done):
        _say(words)
    found = done.candidate
    if found is not None and (done.verified or unverified):
        node = f"{_beside(python, target)}::{task.kernel}"
        about = mark.About(done.model, done.date, node, task.signature, task.digest)
        text = mark.marked(found.rust, found.judgement, about)
        _write(text, target, done.verified)
    elif found is not None:
        _say("nothing is written; -o FILE --write-unverified would keep it, marked as what it is")
    if done.end is End.CANCELLED:
        return INTERRUPTED
    return 0 if done.verified else 1


def _beside(python: Path, target: Path | None) -> str:
    """The Python as the draft names it: from the draft's folder."""
    if target is None:
        return python.name
    try:
        return Path(os.path.relpath(os.path.abspath(python), os.path.abspath(target.parent))).as_posix()
    except ValueError:  # drives of Windows
        return python.name


def _write(text: str, target: Path | None, verified: bool) -> None:
    """What has cost tokens is printed where it cannot be written."""
    if target is None:
        sys.stdout.write(text)
        return
    try:
        files.write(target, text.encode())
    except OSError as error:
        sys.stdout.write(text)
        raise PathError(f"{target}: {error.strerror or error}; the draft is printed instead") from None
    _say(f"wrote {target}{'' if verified else ', which is NOT verified'}")


def _may_write(target: Path, force: bool) -> None:
    """Raises `PathError` where a draft would destroy what is no draft, before anything is asked."""
    if force or not os.path.lexists(target):
        return
    try:
        found = mark.read(target.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        found = None
    if found is None or not found.intact:
        raise PathError(f"{target}: not an unedited draft; --force overwrites it")


def _say(text: str) -> None:
    print(f"{_CLEAR if sys.stderr.isatty() else ''}ferrotile: {text}", file=sys.stderr, flush=True)


def _hint(text: str) -> None:
    """What goes on meanwhile: in a terminal alone, in a line that the next one takes the place of."""
    if sys.stderr.isatty():
        print(f"{_CLEAR}{text[:100]}", end="", file=sys.stderr, flush=True)

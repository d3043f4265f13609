"""`export` into a folder, again and again: what people did there stays, what is generated follows the Python."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from ferrotile_runner.export.existing import ExportError, adapt
from ferrotile_runner.export.files import Replace, UnsafePath, checked, delete, digest, look, write
from ferrotile_runner.export.lock import Locked, locked
from ferrotile_runner.export.outcome import Action, FileOutcome, Outcome
from ferrotile_runner.export.planning import Generated, Step, plan
from ferrotile_runner.export.record import HOME, Entry, Record, announce, did, interrupted, load, save, sweep
from ferrotile_runner.export.sources import forgotten


def regenerate(
    folder: Path,
    files: Mapping[str, str | bytes],
    *,
    check: bool = False,
    module: str = "kernels",
    undecided: Sequence[str] = (),
    sources: Sequence[str] = (),
    drop: bool = False,
    replace_file: Replace = os.replace,
) -> Outcome:
    """Make `folder` the crate of `files`: texts (str, lines ended by LF) are merged with edits made there, bytes are
    replaced unless someone did that. A crate that is someone else's gets them as `module`. `check`: only say what
    would be done. `undecided`: files and folders that stay as they are where `files` lacks them. `sources`: what
    `files` were made of (`sources.node`); without `drop` nothing may be missing that was named before.

    Raises `ExportError`, also while another process exports into `folder`, `RecordError`, and `OSError` where the disk
    refuses."""
    for path in files:
        if checked(path).split("/")[0] == HOME:
            raise UnsafePath(f"{path!r} is in ferrotile's own folder")
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder} is no folder")
    try:
        with contextlib.nullcontext() if check else locked(folder):
            return _regenerate(folder, files, check, module, undecided, sources, drop, replace_file)
    except Locked:
        raise ExportError(f"another export writes into {folder}; export again when it is done") from None


def _regenerate(
    folder: Path,
    files: Mapping[str, str | bytes],
    check: bool,
    module: str,
    undecided: Sequence[str],
    sources: Sequence[str],
    drop: bool,
    replace_file: Replace,
) -> Outcome:
    record = load(folder)
    missing = [] if drop else forgotten(folder, record.sources, sources)
    if missing:
        names = ", ".join(os.path.normpath(folder / one) for one in missing)
        raise ExportError(f"{folder} is also made of {names}: name that too, or say --drop to take its Rust out")
    adapted = adapt(folder, files, record, module, undecided)
    decided = (record.paths | frozenset(adapted.files)) - adapted.undecided
    steps = [*plan(record, adapted.files, decided, lambda path: look(folder, path)), *adapted.steps]
    if check:
        return Outcome(_sorted(steps), adapted.notes, written=False)
    orphans = _orphans(steps, adapted.files) | (record.orphans & adapted.undecided)
    made_of = tuple(sorted(sources))
    same_record = (adapted.additions, orphans, made_of) == (record.additions, record.orphans, record.sources)
    nothing_new = same_record and not any(step.changes for step in steps)
    if nothing_new and not interrupted(folder):
        return Outcome(_sorted(steps), adapted.notes)
    if interrupted(folder):
        sweep(folder)
        save(folder, record, replace_file)
    announce(folder, (_entry(step) for step in steps if step.base is not None), replace_file)
    done = [_do(folder, step, replace_file) for step in steps]
    undone = {step.outcome.path for step in done if step.outcome.action is Action.CONFLICT and step.write is None}
    kept = {path: lines for path, lines in record.additions.items() if path in undone}
    added = {path: lines for path, lines in adapted.additions.items() if path not in undone}
    save(folder, replace(_after(record, done, {**added, **kept}), orphans=orphans, sources=made_of), replace_file)
    return Outcome(_sorted(done), adapted.notes)


def _orphans(steps: Sequence[Step], files: Mapping[str, str | bytes]) -> frozenset[str]:
    """Edited files that are generated no longer."""
    alone = (step.outcome for step in steps if step.outcome.action in (Action.ORPHANED, Action.KEPT))
    return frozenset(outcome.path for outcome in alone if outcome.path not in files)


def _entry(step: Step) -> Entry:
    base = step.base or Generated()
    after = step.after
    return Entry(step.outcome.path, None if after is None else digest(after), base.text, base.binary)


def _do(folder: Path, step: Step, replace_file: Replace) -> Step:
    """The step as it was done: nothing is written over what came there in the meantime."""
    path = step.outcome.path
    if step.write is None and not step.delete:
        return step
    if look(folder, path).data != step.seen:
        what = "changed while it was being exported; not touched: export again"
        return replace(step, outcome=FileOutcome(path, Action.CONFLICT, what), write=None, delete=False, base=None)
    if step.delete:
        delete(folder, path)
    elif step.write is not None:
        write(folder / path, step.write, replace_file)
    did(folder, path)
    return step


def _after(record: Record, steps: list[Step], additions: Mapping[str, tuple[str, ...]]) -> Record:
    texts, binaries = dict(record.texts), dict(record.binaries)
    for step in steps:
        if step.base is None:
            continue
        path = step.outcome.path
        texts.pop(path, None)
        binaries.pop(path, None)
        if step.base.text is not None:
            texts[path] = step.base.text
        elif step.base.binary is not None:
            binaries[path] = step.base.binary
    return Record(texts, binaries, additions)


def _sorted(steps: list[Step]) -> tuple[FileOutcome, ...]:
    return tuple(sorted((step.outcome for step in steps), key=lambda outcome: outcome.path))

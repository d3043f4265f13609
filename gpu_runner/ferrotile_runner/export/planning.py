"""Decides what an export does with each file, from what was generated last, what is there, and what is new."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from ferrotile_runner.export.files import Found, digest, like, with_lf
from ferrotile_runner.export.merging import MergeError, conflicts_of, merge
from ferrotile_runner.export.outcome import Action, Conflict, FileOutcome
from ferrotile_runner.export.record import HOME, Record

ALIKE = 0.5
"""A file that goes and one that comes are the same, renamed, from this share of equal lines on, as in git."""

Look = Callable[[str], Found]


class Generated(Struct, frozen=True):
    """What was generated for a file: text, its lines ended by LF, or the digest of what is no text."""

    text: bytes | None = None
    binary: str | None = None


GONE = Generated()


class Step(Struct, frozen=True):
    """What to do with one file. `write`: its new bytes; `delete`: it goes. `seen`: what was there when this was
    decided. `base`: what the record says afterwards; None: what it said before."""

    outcome: FileOutcome
    seen: bytes | None
    write: bytes | None = None
    delete: bool = False
    base: Generated | None = None

    @property
    def changes(self) -> bool:
        """Whether the file or the record is another afterwards."""
        return self.write is not None or self.delete or self.base is not None

    @property
    def after(self) -> bytes | None:
        """What is at the path once this is done."""
        return None if self.delete else self.seen if self.write is None else self.write


def plan(record: Record, files: Mapping[str, str | bytes], decided: Collection[str], look: Look) -> list[Step]:
    """One step for each file of `decided`, which was or is generated; a moved file's old place goes last."""
    steps = [_step(path, record, files.get(path), look(path)) for path in sorted(decided)]
    return _moves(record, files, steps)


def _step(path: str, record: Record, new: str | bytes | None, there: Found) -> Step:
    if there.strange:
        what = f"{there.strange} is where a file must go; move it and export again"
        return _say(path, Action.IN_THE_WAY, None, what) if new is not None else _left(path, None, record)
    if new is None:
        return _gone(path, there.data, record)
    if isinstance(new, bytes):
        return _binary(path, record.binaries.get(path), new, there.data)
    return _text(path, record.texts.get(path), new.encode(), there.data)


def _say(path: str, action: Action, seen: bytes | None, detail: str = "", base: Generated | None = None) -> Step:
    """A step that writes nothing."""
    return Step(FileOutcome(path, action, detail), seen, base=base)


def _gone(path: str, there: bytes | None, record: Record) -> Step:
    """A file that is generated no longer."""
    if there is None:
        return Step(FileOutcome(path, Action.DELETED), None, base=GONE)
    if with_lf(there) == record.texts.get(path) or digest(there) == record.binaries.get(path):
        return Step(FileOutcome(path, Action.DELETED), there, None, True, GONE)
    return _left(path, there, record)


def _left(path: str, seen: bytes | None, record: Record) -> Step:
    """The record keeps what was generated: where that comes back, it is merged."""
    if path in record.orphans:
        return _say(path, Action.KEPT, seen, "edited, and no longer generated")
    what = "no longer generated, but edited: left as it is, yours from now on; delete it if it is not needed"
    return _say(path, Action.ORPHANED, seen, what)


def _in_the_way(path: str, seen: bytes) -> Step:
    what = "a file that ferrotile did not write is where a new one must go; rename or delete it and export again"
    return _say(path, Action.IN_THE_WAY, seen, what)


def _binary(path: str, base: str | None, new: bytes, there: bytes | None) -> Step:
    now = None if there is None else digest(there)
    wanted = digest(new)
    generated = Generated(binary=wanted)
    if there is None:
        if base is not None:
            return _left_out(path, base != wanted, generated)
        return Step(FileOutcome(path, Action.CREATED), None, new, base=generated)
    if now == wanted:
        return _say(path, Action.UNCHANGED, there, base=None if base == wanted else generated)
    if base is None:
        return _in_the_way(path, there)
    if now == base:
        return Step(FileOutcome(path, Action.UPDATED), there, new, base=generated)
    if base == wanted:
        return _say(path, Action.KEPT, there)
    what = "replaced by hand, and generated anew: yours is kept; delete it and export again to have the new one"
    return _say(path, Action.CONFLICT, there, what, generated)


def _left_out(path: str, changed: bool, generated: Generated) -> Step:
    place = f"{HOME}/generated/{path}.last" if generated.binary is None else f"its line in {HOME}/record.json"
    again = f"deleted by hand; to have it again, delete {place} too"
    return _say(path, Action.LEFT_OUT, None, again, generated if changed else None)


def _text(path: str, base: bytes | None, new: bytes, there: bytes | None) -> Step:
    now = None if there is None else with_lf(there)
    generated = Generated(new)
    if there is None or now is None:
        if base is not None:
            return _left_out(path, base != new, generated)
        return Step(FileOutcome(path, Action.CREATED), None, new, base=generated)
    if now == new:
        return _say(path, Action.UNCHANGED, there, base=None if base == new else generated)
    if base is None:
        return _in_the_way(path, there)
    if now == base:
        return Step(FileOutcome(path, Action.UPDATED), there, like(new, there), base=generated)
    if open_ := conflicts_of(now):
        return _unresolved(path, there, open_)
    if base == new:
        return _say(path, Action.KEPT, there)
    return _merged(path, base, there, new)


def _unresolved(path: str, there: bytes, conflicts: tuple[Conflict, ...]) -> Step:
    what = "choose between the sides and delete the markers, then export again"
    return Step(FileOutcome(path, Action.UNRESOLVED, what, conflicts), there)


def _merged(path: str, base: bytes, there: bytes, new: bytes) -> Step:
    try:
        merged = merge(base, with_lf(there), new)
    except MergeError as error:
        return _say(path, Action.CONFLICT, there, str(error))
    text = like(merged.text, there)
    if merged.conflicts:
        what = "your edit and what is generated now differ here; choose and delete the markers"
        return Step(FileOutcome(path, Action.CONFLICT, what, merged.conflicts), there, text, base=Generated(new))
    return Step(FileOutcome(path, Action.MERGED), there, text, base=Generated(new))


def _moves(record: Record, files: Mapping[str, str | bytes], steps: list[Step]) -> list[Step]:
    """Edited files that are generated no longer, each joined with the new file that is its likeness."""
    alone = [s for s in steps if s.outcome.action in (Action.ORPHANED, Action.KEPT) and s.outcome.path not in files]
    left = {s.outcome.path: s for s in alone if s.outcome.path in record.texts and s.seen is not None}
    come = {s.outcome.path: s for s in steps if s.outcome.action is Action.CREATED}
    done: dict[str, Step] = {}
    last: list[Step] = []
    for likeness, old, new in sorted(_likenesses(record, files, left, come), reverse=True):
        there, text = left[old].seen, files[new]
        if likeness < ALIKE or old in done or new in done or there is None or not isinstance(text, str):
            continue
        if open_ := conflicts_of(with_lf(there)):
            done[old] = _unresolved(old, there, open_)
            done[new] = _say(new, Action.UNRESOLVED, None, f"will have the edits of {old}, whose conflict comes first")
            continue
        step = _merged(new, record.texts[old], there, text.encode())
        action = Action.CONFLICT if step.outcome.action is Action.CONFLICT else Action.MOVED
        if step.write is None:
            continue  # nothing could be merged: the edited file stays where it is
        detail = f"from {old}; {step.outcome.detail}" if step.outcome.detail else f"from {old}"
        done[new] = replace(step, outcome=replace(step.outcome, action=action, detail=detail), seen=None)
        done[old] = Step(FileOutcome(old, Action.DELETED, f"its edits are in {new}"), there, None, True, GONE)
        last.append(done[old])
    kept = (done.get(step.outcome.path, step) for step in steps)
    return [*(step for step in kept if step not in last), *last]


def _likenesses(
    record: Record, files: Mapping[str, str | bytes], left: Mapping[str, Step], come: Mapping[str, Step]
) -> list[tuple[float, str, str]]:
    found: list[tuple[float, str, str]] = []
    for old in left:
        lines = record.texts[old].splitlines()
        for new in come:
            text = files[new]
            if not isinstance(text, str) or PurePosixPath(old).suffix != PurePosixPath(new).suffix:
                continue
            matcher = SequenceMatcher(None, lines, text.encode().splitlines(), autojunk=False)
            # Bounds from above, of which each is cheaper than the next.
            if min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= ALIKE:
                found.append((matcher.ratio(), old, new))
    return found

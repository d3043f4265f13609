"""What an export did, or would do, with each file."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from ferrotile_runner.report import Json

VERSION = 1
"""Of the JSON form."""


class Action(Enum):
    """What became of one file. The values stand in reports."""

    CREATED = "created"
    UPDATED = "updated"
    MERGED = "merged"
    """Edited by hand and generated anew, in different places."""
    MOVED = "moved"
    """An edited file whose Python was renamed: the edits went along."""
    DELETED = "deleted"
    UNCHANGED = "unchanged"
    KEPT = "kept"
    """Edited by hand, and nothing new was generated."""
    LEFT_OUT = "left out"
    """Deleted by hand; not written again."""
    CONFLICT = "conflict"
    UNRESOLVED = "unresolved"
    """Still has the markers of an earlier conflict; not touched."""
    IN_THE_WAY = "in the way"
    """Something that was not generated is where a file must go; not touched."""
    ORPHANED = "orphaned"
    """No longer generated, but edited by hand; not touched, and from now on not ferrotile's."""


FAILED = frozenset({Action.CONFLICT, Action.UNRESOLVED, Action.IN_THE_WAY, Action.ORPHANED})
"""Actions that a person must look at."""

UP_TO_DATE = frozenset({Action.UNCHANGED, Action.KEPT, Action.LEFT_OUT})
"""Actions that leave the folder as it is."""


class Conflict(Struct, frozen=True):
    """1-based lines of the markers `<<<<<<<` and `>>>>>>>` in the file as it is written."""

    first: int
    last: int


class FileOutcome(Struct, frozen=True):
    """One file; `path` is relative to the folder, with `/`. `detail`: for a person, what to do next."""

    path: str
    action: Action
    detail: str = ""
    conflicts: tuple[Conflict, ...] = ()

    @property
    def line(self) -> int | None:
        """Where to look first."""
        return self.conflicts[0].first if self.conflicts else None


class Outcome(Struct, frozen=True):
    """All files, in the order of their paths, and what else is to be said."""

    files: tuple[FileOutcome, ...]
    notes: tuple[str, ...] = ()
    written: bool = True
    """False where only the question was asked (`--check`)."""

    @property
    def up_to_date(self) -> bool:
        """Whether the folder already was what an export makes of it."""
        return all(file.action in UP_TO_DATE for file in self.files)

    @property
    def failed(self) -> bool:
        """Whether a person must look at a file."""
        return any(file.action in FAILED for file in self.files)

    def to_json(self) -> dict[str, Json]:
        """For editors and scripts."""
        files: list[Json] = [
            {
                "path": file.path,
                "action": file.action.value,
                "detail": file.detail,
                "conflicts": [{"first": c.first, "last": c.last} for c in file.conflicts],
            }
            for file in self.files
        ]
        return {
            "version": VERSION,
            "written": self.written,
            "up_to_date": self.up_to_date,
            "failed": self.failed,
            "files": files,
            "notes": list(self.notes),
        }

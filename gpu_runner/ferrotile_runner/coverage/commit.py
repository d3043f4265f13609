"""The commit of a checkout, read from its `.git` without starting git."""

from __future__ import annotations

import re
from pathlib import Path

_NAME = re.compile(r"[0-9a-f]{40,64}")
LARGEST = 1_000_000


def commit_of(path: Path) -> tuple[Path, str] | None:
    """The checkout that a file lies in and the commit it is at; None outside a checkout, or where git keeps it in a way
    that is not known here."""
    for folder in path.absolute().parents:
        mark = folder / ".git"
        if mark.exists():
            found = _head(mark)
            return None if found is None else (folder, found)
    return None


def _head(mark: Path) -> str | None:
    git = mark
    if mark.is_file():  # a work tree of its own, or a submodule
        where = _read(mark).removeprefix("gitdir:").strip()
        git = mark.parent / where
    head = _read(git / "HEAD").strip()
    if not head.startswith("ref:"):
        return head if _NAME.fullmatch(head) else None
    name = head.removeprefix("ref:").strip()
    common = git / (_read(git / "commondir").strip() or ".")
    for folder in (git, common):
        found = _read(folder / name).strip()
        if _NAME.fullmatch(found):
            return found
    packed = re.search(rf"^([0-9a-f]{{40,64}}) {re.escape(name)}$", _read(common / "packed-refs"), re.MULTILINE)
    return None if packed is None else packed[1]


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

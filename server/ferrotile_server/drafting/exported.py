"""Drafts in a crate: an export refuses those that the ladder did not let pass, were edited since, or are of Python that
is another now."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from ferrotile_server.drafting import mark

LARGEST = 200_000
SKIPPED = frozenset({"target", ".git", ".ferrotile"})

Digests = Callable[[], Mapping[str, str]]
"""The digests of the kernels that no rule translates, by `file.py::kernel`; asked for where there is a draft."""


def unverified_drafts(folder: Path, digests: Digests) -> tuple[str, ...]:
    """A line for each draft below `folder` that is not verified, which says why."""
    found = [(path, one) for path in _rust_files(folder) if (one := _mark(path)) is not None]
    now = digests() if found else {}
    lines = ((path, _why(one, now.get(PurePosixPath(one.python).name))) for path, one in found)
    return tuple(f"{path}: a draft by AI, {why}" for path, why in lines if why)


def _why(found: mark.Mark, digest: str | None) -> str:
    if not found.rung:
        return "not verified"
    if not found.intact:
        return f"edited since it was {found.rung}"
    if digest is not None and digest != found.digest:
        return f"whose Python, {found.python}, has changed since it was {found.rung}"
    return ""


def _mark(path: Path) -> mark.Mark | None:
    try:
        return None if path.stat().st_size > LARGEST else mark.read(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def _rust_files(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        yield from (Path(parent, name) for name in sorted(files) if name.endswith(".rs"))

"""Which Python a crate is made of: an export that names less would take the Rust of the rest away."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def node(path: Path, kernel: str | None, folder: Path) -> str:
    """A file, a folder or a kernel of a file (`PATH::KERNEL`) as seen from the crate's folder, the same on every
    machine."""
    try:
        seen = os.path.relpath(path, folder)
    except ValueError:  # another drive of Windows
        seen = os.path.abspath(path)
    return seen.replace(os.sep, "/") + (f"::{kernel}" if kernel else "")


def forgotten(folder: Path, recorded: Iterable[str], named: Iterable[str]) -> list[str]:
    """Those of `recorded` that are there and that `named` leaves out; both as `node` says them."""
    wanted = [_place(folder, one) for one in named]
    return [one for one in recorded if _place(folder, one)[0].exists() and not _covered(_place(folder, one), wanted)]


def _place(folder: Path, one: str) -> tuple[Path, str]:
    path, _, kernel = one.partition("::")
    return Path(os.path.abspath(folder / path)), kernel


def _covered(place: tuple[Path, str], wanted: list[tuple[Path, str]]) -> bool:
    path, kernel = place
    return any((w == path and k in ("", kernel)) or (not k and w in path.parents) for w, k in wanted)

"""The Cargo workspace around a folder."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from ferrotile_runner.export.files import look
from ferrotile_runner.export.manifest import ManifestError, Toml, parse, table

MANIFEST = "Cargo.toml"


class Workspace(Struct, frozen=True):
    """`manifest`: its values; empty where there is no workspace."""

    folder: Path
    manifest: Toml


def workspace_around(folder: Path) -> Workspace:
    """The workspace that Cargo finds from a crate in `folder` upwards, which the crate itself may be the root of."""
    start = Path(os.path.abspath(folder))
    for parent in (start, *start.parents):
        data = look(parent, MANIFEST).data
        if data is None:
            continue
        try:
            found = parse(data.decode(), MANIFEST)
        except (ManifestError, UnicodeDecodeError):
            break
        if "workspace" in found:
            return Workspace(parent, found)
    return Workspace(start, {})


def told_to_join(folder: Path) -> str | None:
    """What Cargo would complain about in a new crate: a workspace is around it that does not name it."""
    workspace = workspace_around(folder)
    path = Path(os.path.abspath(folder)).relative_to(workspace.folder).as_posix()
    if not workspace.manifest or path == ".":
        return None
    said = table(workspace.manifest, "workspace")
    if any(path == e or path.startswith(f"{e}/") for e in _texts(said.get("exclude"))):
        return None
    if any(_matches(path, member.rstrip("/")) for member in _texts(said.get("members"))):
        return None
    todo = f'add "{path}" to the `members` of its workspace, or make it a dependency of a member'
    return f"{workspace.folder / MANIFEST}: {todo}; else Cargo refuses the crate"


def _matches(path: str, pattern: str) -> bool:
    """As Cargo's globs: `*` stays within a folder."""
    parts, wanted = path.split("/"), pattern.removeprefix("./").split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []

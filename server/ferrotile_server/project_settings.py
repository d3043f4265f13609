"""`[tool.ferrotile]` of a project's `pyproject.toml`: how the project is translated, whoever looks at it. It names no
program and no path, so it is read in workspaces that are not trusted, too.

    [tool.ferrotile]
    target = "sm_100"    # as `--target`
    unsafe = "never"     # or "proved"
    checks = "keep"      # or "free"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ferrotile.translation import Options
from ferrotile_runner.project import root_of
from msgspec.structs import replace

FILE = "pyproject.toml"
LARGEST = 1_000_000
_CHOICES: Mapping[str, frozenset[str]] = {
    "unsafe": frozenset({"proved", "never"}),
    "checks": frozenset({"free", "keep"}),
}


def merged(options: Options, given: object) -> Options:
    """`options` with what `given` says otherwise, as a section of settings does; what is malformed there says nothing.
    Total."""
    if not isinstance(given, dict):
        return options
    target = given.get("target")
    if isinstance(target, str) and target.startswith("sm_") and target[3:].isalnum():
        options = replace(options, target=target)
    for name, choices in _CHOICES.items():
        if isinstance(choice := given.get(name), str) and choice in choices:
            options = replace(options, **{name: choice})
    return options


class ProjectSettings:
    """The settings of projects, read when they are asked for and again when the file changes. Not for use by two
    threads at once."""

    def __init__(self) -> None:
        self._roots: dict[tuple[Path, tuple[Path, ...]], Path | None] = {}
        self._read: dict[Path, tuple[tuple[int, int] | None, object]] = {}

    def options(self, path: Path, folders: Sequence[Path], editor: Options) -> Options:
        """Those for a file: its project's, and `editor`'s where that says nothing."""
        key = (path, tuple(folders))
        if key not in self._roots:
            self._roots[key] = root_of(path, folders)
        root = self._roots[key]
        return editor if root is None else merged(editor, self._section(root / FILE))

    def relist(self) -> None:
        """Files were made or removed."""
        self._roots.clear()

    def _section(self, file: Path) -> object:
        try:
            found = file.stat()
            stamp: tuple[int, int] | None = (found.st_mtime_ns, found.st_size)
        except (OSError, ValueError):
            stamp = None
        known = self._read.get(file)
        if known is None or known[0] != stamp:
            known = self._read[file] = stamp, None if stamp is None or stamp[1] > LARGEST else _section_of(file)
        return known[1]


def _section_of(file: Path) -> object:
    import tomllib  # not needed where there is no such file

    try:
        tool = tomllib.loads(file.read_text(encoding="utf-8")).get("tool")
    except (OSError, ValueError):
        return None
    return tool.get("ferrotile") if isinstance(tool, dict) else None

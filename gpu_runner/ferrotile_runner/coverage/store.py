"""Results kept between runs, by the content that they depend on."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import ferrotile

from ferrotile_runner import json_values as read
from ferrotile_runner.report import Json
from ferrotile_runner.toolchain import Toolchain, cache_directory

KEPT_SECONDS = 14 * 24 * 3600
"""How long results of another version of ferrotile are kept after their last use."""


def tool_digest(toolchain: Toolchain) -> str:
    """Identifies ferrotile's own code and the compilers: what a result depends on beside the kernel."""
    state = hashlib.sha256()
    for package in (Path(next(iter(ferrotile.__path__))), Path(__file__).parents[1]):
        for path in sorted(package.rglob("*.py")):
            state.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
    for part in (toolchain.host, toolchain.tileiras, toolchain.tileirdisasm, toolchain.cargo, toolchain.cuda_tile):
        state.update(str(part).encode() + b"\0")
    return state.hexdigest()


def _drop_old(root: Path) -> None:
    """Removes generations that no run has used for a while."""
    oldest = time.time() - KEPT_SECONDS
    with contextlib.suppress(OSError):
        for folder in root.iterdir():
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)


class Store:
    """JSON values under keys of text, one file each, for one `generation` of the tool. A folder that cannot be written
    makes it forgetful, and `unusable` says so. Safe to use from several threads and processes."""

    def __init__(self, generation: str, folder: Path | None = None) -> None:
        root = folder if folder is not None else cache_directory() / "coverage"
        self._folder = root / generation[:16]
        self.unusable = ""
        with contextlib.suppress(OSError):
            os.utime(self._folder)
        _drop_old(root)

    def _path(self, key: tuple[str, ...]) -> Path:
        digest = hashlib.sha256("\0".join(key).encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / digest[:2] / f"{digest[2:]}.json"

    def get(self, key: tuple[str, ...]) -> Mapping[str, object] | None:
        """What was put under `key`; None where that is nothing, or not readable."""
        try:
            return read.mapping(json.loads(self._path(key).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None

    def put(self, key: tuple[str, ...], value: Mapping[str, Json]) -> None:
        """Keeps `value`. A reader sees the old file or the new one, never half of one."""
        path = self._path(key)
        partial = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(json.dumps(value), encoding="utf-8")
            os.replace(partial, path)
        except OSError as error:
            self.unusable = f"{self._folder}: {error.strerror or error}: results are not kept"
            with contextlib.suppress(OSError):
                partial.unlink()

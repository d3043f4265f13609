"""One export at a time into a folder. The lock is the operating system's, so it ends with the process that has it,
however that ends: there is nothing to clean up after a crash."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path


class Locked(Exception):
    """Another process exports into the folder."""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other exports out of `folder`, which is made where it is not there, and taken away again if it is still
    empty afterwards. Raises `Locked` at once, and `OSError` where the disk refuses."""
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    handle = _open(folder)
    try:
        _take(handle, folder)
        try:
            yield
        finally:
            if new:
                with contextlib.suppress(OSError):  # it is not empty
                    folder.rmdir()
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt
    import tempfile
    from hashlib import sha256

    def _open(folder: Path) -> int:
        name = sha256(os.path.normcase(os.path.realpath(folder)).encode()).hexdigest()[:32]
        return os.open(Path(tempfile.gettempdir()) / f"ferrotile-export-{name}.lock", os.O_RDWR | os.O_CREAT)

    def _take(handle: int, folder: Path) -> None:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            raise Locked(folder) from None

else:
    import fcntl

    def _open(folder: Path) -> int:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)

    def _take(handle: int, folder: Path) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Locked(folder) from None

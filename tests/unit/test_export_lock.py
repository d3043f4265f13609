"""Two exports into one folder at once: the second is refused, and a crash leaves no lock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ferrotile_runner.export.existing import ExportError
from ferrotile_runner.export.lock import Locked, locked
from ferrotile_runner.export.regenerate import regenerate

HOLDS = """
import sys
from pathlib import Path
from ferrotile_runner.export.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def _holder(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDS, str(folder)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    return holder


def test_an_export_into_a_folder_that_another_writes_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "crate"
    regenerate(folder, {"src/a.rs": "a\n"})
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    with _holder(folder) as holder:
        with pytest.raises(ExportError, match=r"another export writes into .*crate; export again when it is done"):
            regenerate(folder, {"src/a.rs": "b\n"})
        assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before
        # Looking is no writing.
        assert not regenerate(folder, {"src/a.rs": "b\n"}, check=True).up_to_date
        # Killed, not ended: the lock goes with the process.
        holder.kill()
    regenerate(folder, {"src/a.rs": "b\n"})
    assert (folder / "src/a.rs").read_text() == "b\n"


def test_other_folders_are_free(tmp_path: Path) -> None:
    with locked(tmp_path / "one"), locked(tmp_path / "two"), pytest.raises(Locked), locked(tmp_path / "one"):
        pass


def test_nothing_is_left_where_an_export_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "deep" / "new"):
        raise ZeroDivisionError
    assert not (tmp_path / "deep" / "new").exists()
    (tmp_path / "empty").mkdir()
    with locked(tmp_path / "empty"):
        pass
    assert (tmp_path / "empty").exists()
    with locked(tmp_path / "made"):
        (tmp_path / "made" / "file").touch()
    assert (tmp_path / "made" / "file").exists()

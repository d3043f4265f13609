"""What goes wrong outside ferrotile: files, tools, processes, pipes. A clear message, the right exit code, never a
traceback, never a process left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ferrotile_runner import session
from ferrotile_runner.python_worker import PythonCompiler
from ferrotile_runner.toolchain import Toolchain
from ferrotile_server.cli import verify
from ferrotile_server.cli.main import main
from msgspec.structs import replace

ROOT = Path(__file__).resolve().parents[2]
VECTOR_ADD = str(ROOT / "examples" / "vector_add.py")
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("translation", "gpu_runner", "server")),
}
NOTHING = Toolchain(None, None, None, None, None, None, None, None, False)

posix = pytest.mark.skipif(os.name == "nt", reason="signals and shell scripts")


def program(path: Path, body: str) -> Path:
    """A shell script that can be started."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("command", ["check", "translate", "verify", "run", "coverage"])
@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("latin.py", b"import cuda.tile\n# caf\xe9\n", "latin.py: not UTF-8 (byte 0xe9 at offset 22)"),
        ("large.py", b"# kernel cuda\n" * 400_000, "large.py: 5.6 MB is more than the 5 MB ferrotile reads"),
        ("gone.py", None, "gone.py: no such file"),
    ],
)
def test_files_that_cannot_be_read(
    command: str,
    name: str,
    data: bytes | None,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if data is not None:
        (tmp_path / name).write_bytes(data)
    assert main([command, name]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"ferrotile: {message}\n"
    assert captured.out == ""


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("check", 0, "0 kernels in 1 file: no findings"),
        ("translate", 1, "no kernel is defined here"),
        ("verify", 0, "no kernels in 1 file"),
        ("run", 0, "no kernels in 1 file"),
        ("coverage", 0, "no kernels in 1 file"),
    ],
)
@pytest.mark.parametrize("text", ["", "x = 1\n"])
def test_files_without_kernels(
    command: str, code: int, message: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plain.py"
    file.write_text(text)
    assert main([command, str(file)]) == code
    captured = capsys.readouterr()
    assert message in captured.out + captured.err


@pytest.mark.parametrize("command", ["check", "verify", "coverage"])
def test_folder_without_python(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "readme.txt").write_text("nothing here\n")
    assert main([command, str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"ferrotile: {tmp_path}: no Python files in this folder\n"


def test_without_tools_rungs_are_skipped_and_the_environment_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verify, "locate", lambda: NOTHING)
    assert main(["verify", VECTOR_ADD]) == 2
    captured = capsys.readouterr()
    assert "skipped type-checked: cargo is not installed: get it from https://rustup.rs" in captured.out
    assert "skipped assembled: ferrotile-host is not built: run `ferrotile setup`" in captured.out
    assert "skipped proved: cuda-tile is not installed: install it with `pip install" in captured.out
    assert "see `ferrotile doctor`" in captured.err


def test_without_tools_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(verify, "locate", lambda: NOTHING)
    assert main(["verify", VECTOR_ADD, "--format", "json"]) == 2
    captured = capsys.readouterr()
    (kernel,) = json.loads(captured.out)["kernels"]
    assert kernel["rungs"]["translated"]["status"] == "passed"
    assert kernel["rungs"]["assembled"] == {
        "status": "skipped",
        "detail": "ferrotile-host is not built: run `ferrotile setup`",
        "ms": 0.0,
    }


def test_rungs_that_need_no_tool_do_not_ask_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "locate", lambda: NOTHING)
    assert main(["verify", VECTOR_ADD, "--rungs", "translated"]) == 0


@posix
def test_a_host_that_is_killed_in_the_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = program(tmp_path / "host", "read line\necho the last words >&2\nkill -9 $$")
    monkeypatch.setattr(verify, "locate", lambda: replace(NOTHING, host=host))
    assert main(["verify", VECTOR_ADD, "--rungs", "assembled"]) == 1
    out = capsys.readouterr().out
    assert "::vector_add assembled crashed" in out
    assert "compile: the process was killed by SIGKILL" in out
    assert "the last words" in out
    assert "FT900" not in out


@posix
def test_a_python_worker_that_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = program(tmp_path / "python", "read line\nexit 3")
    monkeypatch.setattr(session, "PythonCompiler", lambda: PythonCompiler(str(worker)))
    monkeypatch.setattr(verify, "locate", lambda: replace(NOTHING, cuda_tile=True))
    assert main(["verify", VECTOR_ADD, "--rungs", "proved"]) == 1
    out = capsys.readouterr().out
    assert "::vector_add proved crashed" in out
    assert "the process ended with status 3" in out


@posix
def test_a_cargo_that_fails_on_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = tmp_path / "host"
    source.mkdir()
    (source / "Cargo.toml").write_text('[package]\nname = "ferrotile-host"\n')
    (source / "Cargo.lock").write_text("")
    cargo = program(tmp_path / "cargo", "echo no network >&2\nexit 101")
    tools = replace(NOTHING, cargo=cargo, host_source=source, cuda=tmp_path, libclang=tmp_path / "libclang.so")
    monkeypatch.setattr(verify, "locate", lambda: tools)
    assert main(["verify", VECTOR_ADD, "--rungs", "type-checked"]) == 1
    out = capsys.readouterr().out
    assert "type-checked crashed" in out
    assert "cargo ended with status 101" in out
    assert "no network" in out


@posix
def test_a_cache_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    source = tmp_path / "host"
    source.mkdir()
    tools = replace(NOTHING, cargo=Path(sys.executable), host_source=source, cuda=tmp_path, libclang=tmp_path / "l")
    monkeypatch.setattr(verify, "locate", lambda: tools)
    assert main(["verify", VECTOR_ADD, "--rungs", "type-checked"]) == 2
    out = capsys.readouterr().out
    assert "choose another cache folder with XDG_CACHE_HOME" in out
    assert "FT900" not in out
    assert main(["coverage", VECTOR_ADD]) == 0
    captured = capsys.readouterr()
    assert "1 kernel in 1 file" in captured.out
    assert "results are not kept" in captured.err
    assert main(["check", VECTOR_ADD]) == 0
    assert main(["doctor"]) == 2


def _children(pid: int) -> set[int]:
    """Processes below `pid`, from /proc."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
    found: set[int] = set()
    while new := {child for child, parent in parents.items() if parent in found | {pid}} - found:
        found |= new
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


HANGING_HOST = """
import sys
from pathlib import Path
from ferrotile_runner.toolchain import Toolchain
from ferrotile_server.cli import verify
from ferrotile_server.cli.main import main
verify.locate = lambda: Toolchain(None, None, None, None, None, None, None, Path(sys.argv[1]), False)
sys.exit(main(["verify", sys.argv[2], "--rungs", "assembled,simulated"]))
"""
HANGING_WORKER = """
import sys
from ferrotile_runner.workers import kernels
from ferrotile_server.cli.main import main
kernels.__file__ = sys.argv[1]
sys.exit(main(["coverage", sys.argv[2], "--fresh"]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("driver", [HANGING_HOST, HANGING_WORKER], ids=["verify", "coverage"])
def test_an_interrupt_ends_everything(driver: str, tmp_path: Path) -> None:
    hang = tmp_path / "hang"
    sleep = "import time\ntime.sleep(600)\n" if driver is HANGING_WORKER else "#!/bin/sh\nsleep 600\n"
    hang.write_text(sleep)
    hang.chmod(0o755)
    command = [sys.executable, "-c", driver, str(hang), VECTOR_ADD]
    running = subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 30
    while not (below := _children(running.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    below |= _children(running.pid)
    assert below, "the hanging process was started"
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    deadline = time.monotonic() + 5
    while any(map(_alive, below)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in below if _alive(pid)], "nothing is left behind"


@posix
@pytest.mark.parametrize(
    "arguments", [("check", "examples"), ("coverage", VECTOR_ADD, "--format", "json"), ("explain",), ("doctor",)]
)
def test_a_reader_that_leaves_early(arguments: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "ferrotile_server.cli.main", *arguments]
    done = subprocess.run(
        command, stdout=write, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, cwd=ROOT, check=False, timeout=60
    )
    os.close(write)
    assert done.returncode == 0
    assert done.stderr == ""

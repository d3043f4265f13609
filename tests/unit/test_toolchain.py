"""Locating compilers, and supervising children, with no compiler at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from ferrotile_runner import toolchain
from ferrotile_runner.doctor import Status, doctor
from ferrotile_runner.host import HostClient
from ferrotile_runner.process import Command, Ending, JsonProcess, ProcessError, RpcError, run
from ferrotile_runner.session import Session
from ferrotile_runner.setup import SetupError, setup
from ferrotile_runner.typecheck import parse_messages, type_check
from msgspec.structs import replace

NOTHING = toolchain.Toolchain(None, None, None, None, None, None, None, None, False)

CHILD = """
import json, os, sys, tempfile, time
for line in sys.stdin:
    request = json.loads(line)
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    match request["method"]:
        case "echo": reply["result"] = request["params"]
        case "scratch": reply["result"] = {"folder": tempfile.mkdtemp()}
        case "fail": reply["error"] = {"code": 7, "message": "no", "data": {"line": 3}}
        case "hang": time.sleep(60)
        case "noise": print("not json", flush=True)
        case "exit":
            print("last words", file=sys.stderr, flush=True)
            os._exit(3)
    print(json.dumps(reply), flush=True)
"""


@pytest.fixture
def child(tmp_path: Path) -> JsonProcess:
    program = tmp_path / "child.py"
    program.write_text(CHILD)
    return JsonProcess(Command((sys.executable, str(program))))


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_everything_missing_is_named() -> None:
    assert NOTHING.missing[0] == "cuda-tile"
    assert NOTHING.missing[-1] == "ferrotile-host"
    assert toolchain.locate().host_source is not None


def test_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert toolchain.cache_directory() == tmp_path / "ferrotile"
    assert toolchain.target_directory().is_relative_to(tmp_path)


def test_the_binary_depends_on_the_sources(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in ("Cargo.toml", "Cargo.lock", "src/main.rs"):
        (tmp_path / name).write_text("")
    before = toolchain.host_binary(tmp_path)
    (tmp_path / "src" / "main.rs").write_text("fn main() {}")
    assert toolchain.host_binary(tmp_path) != before


def test_doctor_names_a_fix_for_each_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = doctor(NOTHING)
    failed = [check for check in checks if check.status is Status.FAILED]
    assert {"cuTile Python", "tileiras", "Rust", "ferrotile-host"} <= {check.name for check in failed}
    assert all(check.fix for check in failed)


@pytest.mark.parametrize("installed", [True, False])
def test_doctor_names_the_solver(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "z3-solver" and not installed:
            raise PackageNotFoundError(name)
        return "4.99"

    monkeypatch.setattr("ferrotile_runner.doctor.metadata.version", version)
    (found,) = (check for check in doctor(NOTHING) if check.name == "z3")
    if installed:
        assert (found.status, found.detail) == (Status.OK, "z3-solver 4.99")
    else:
        assert found.status is Status.OPTIONAL and "pip install" in found.fix


def test_setup_says_what_is_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ferrotile_runner.setup.locate", lambda: NOTHING)
    with pytest.raises(SetupError, match="CUDA headers, libclang, cargo"):
        setup()


def test_a_host_that_is_not_built_is_missing() -> None:
    with pytest.raises(ProcessError) as raised:
        HostClient(NOTHING)
    assert raised.value.ending is Ending.MISSING


def test_calls_are_answered(child: JsonProcess) -> None:
    assert child.call("echo", {"a": 1}, 10) == {"a": 1}
    with pytest.raises(RpcError) as raised:
        child.call("fail", {}, 10)
    assert (raised.value.code, raised.value.data) == (7, {"line": 3})
    child.close()


def test_a_crash_is_reported_and_the_next_call_works(child: JsonProcess) -> None:
    with pytest.raises(ProcessError, match="last words") as raised:
        child.call("exit", {}, 10)
    assert raised.value.ending is Ending.CRASHED
    assert child.call("echo", {}, 10) == {}
    child.close()


def test_noise_is_a_crash(child: JsonProcess) -> None:
    with pytest.raises(ProcessError, match="not an answer"):
        child.call("noise", {}, 10)
    assert child.call("echo", {"b": 2}, 10) == {"b": 2}
    child.close()


def test_a_hang_ends_with_the_time_limit(child: JsonProcess) -> None:
    child.call("echo", {}, 10)
    pid = child.pid
    assert pid is not None
    with pytest.raises(ProcessError) as raised:
        child.call("hang", {}, 0.2)
    assert raised.value.ending is Ending.TIMEOUT
    assert gone(pid)


def test_temporary_files_of_a_killed_child_are_removed(child: JsonProcess) -> None:
    folder = Path(str(child.call("scratch", {}, 10)["folder"]))
    assert folder.is_dir()
    with pytest.raises(ProcessError):
        child.call("hang", {}, 0.2)
    assert not folder.exists() and not folder.parent.exists()
    again = Path(str(child.call("scratch", {}, 10)["folder"]))
    child.close()
    assert not again.exists()


def test_temporary_files_of_a_run_are_removed() -> None:
    script = "import sys, tempfile; print(tempfile.mkdtemp()); sys.exit(3)"
    done = run(Command((sys.executable, "-c", script)), 20)
    assert done.stdout.strip() and not Path(done.stdout.decode().strip()).exists()


def test_a_call_can_be_cancelled(child: JsonProcess) -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(ProcessError) as raised:
        child.call("hang", {}, 30, cancel)
    assert raised.value.ending is Ending.CANCELLED  # not TIMEOUT, after 30 s


def test_close_ends_a_call_of_another_thread(child: JsonProcess) -> None:
    child.call("echo", {}, 10)
    threading.Timer(0.3, child.close).start()
    with pytest.raises(ProcessError) as raised:
        child.call("hang", {}, 30)
    assert raised.value.ending is Ending.CRASHED


def test_a_run_kills_the_whole_group() -> None:
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    with pytest.raises(ProcessError) as raised:  # a grandchild that lived would hold the pipes
        run(Command((sys.executable, "-c", script)), 0.5)
    assert raised.value.ending is Ending.TIMEOUT


def test_a_run_returns_output_status_and_lines() -> None:
    lines: list[str] = []
    script = "import sys; print('out'); print('one\\ntwo', file=sys.stderr); sys.exit(4)"
    done = run(Command((sys.executable, "-c", script)), 20, on_stderr=lines.append)
    assert (done.returncode, done.stdout.split(), lines) == (4, [b"out"], ["one", "two"])


def test_stderr_is_bounded() -> None:
    script = "import sys; sys.stderr.write('x' * 1_000_000 + 'end')"
    done = run(Command((sys.executable, "-c", script)), 20)
    assert len(done.stderr) <= 64 * 1024
    assert done.stderr.endswith("end")


def test_a_missing_program_is_named() -> None:
    with pytest.raises(ProcessError, match="/no/such/program") as raised:
        run(Command(("/no/such/program",)), 1)
    assert raised.value.ending is Ending.MISSING


@pytest.mark.skipif(sys.platform != "linux", reason="the death signal is Linux's")
def test_children_die_with_their_parent(tmp_path: Path) -> None:
    program = tmp_path / "child.py"
    program.write_text(CHILD)
    parent = (
        "import os, sys, threading, time\n"
        "from ferrotile_runner.process import Command, JsonProcess\n"
        f"child = JsonProcess(Command((sys.executable, {str(program)!r})))\n"
        # Started on a thread that ends at once: the child must survive that, and die with the process.
        "first = threading.Thread(target=lambda: child.call('echo', {}, 10)); first.start(); first.join()\n"
        "threading.Thread(target=lambda: child.call('hang', {}, 60), daemon=True).start(); time.sleep(0.3)\n"
        "print(child.pid, child._child.process.poll(), flush=True); os._exit(0)\n"
    )
    search = os.pathsep.join(sys.path)
    done = run(Command((sys.executable, "-c", parent), {"PYTHONPATH": search}), 30)
    pid, status = done.stdout.split()
    assert status == b"None", done.stderr
    deadline = time.monotonic() + 5
    while not gone(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert gone(int(pid)) or Path(f"/proc/{int(pid)}/stat").read_text().split()[2] == "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="the death signal is Linux's")
def test_what_a_child_started_dies_with_the_parent_too(tmp_path: Path) -> None:
    child = tmp_path / "child.sh"
    child.write_text("#!/bin/sh\nsleep 600 &\necho $! >&2\nsleep 600\n")
    child.chmod(0o755)
    parent = (
        "import os, signal, sys, threading\n"
        "from ferrotile_runner.process import Command, run\n"
        "def die(line):\n"
        "    print(line, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        f"run(Command(({str(child)!r},)), 60, on_stderr=die)\n"
    )
    done = run(Command((sys.executable, "-c", parent), {"PYTHONPATH": os.pathsep.join(sys.path)}), 30)
    assert done.returncode == -9, "as the parent ended"
    grandchild = int(done.stdout)
    deadline = time.monotonic() + 5
    while not gone(grandchild) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert gone(grandchild) or Path(f"/proc/{grandchild}/stat").read_text().split()[2] == "Z"


def span(file: str, line: int, expansion: object = None) -> dict[str, object]:
    return {
        "file_name": file,
        "line_start": line,
        "line_end": line,
        "column_start": 5,
        "column_end": 9,
        "is_primary": True,
        "label": "here",
        "expansion": expansion,
    }


def test_rustc_messages_are_sorted_by_kernel() -> None:
    def message(where: dict[str, object], level: str = "error") -> bytes:
        body = {
            "level": level,
            "message": "mismatched types",
            "code": {"code": "E0308"},
            "spans": [where],
            "children": [{"level": "note", "message": "expected"}],
            "rendered": "error",
        }
        return json.dumps({"reason": "compiler-message", "message": body}).encode()

    inside_macro = span("core.rs", 400, {"span": span("src/k0.rs", 3)})
    output = b"\n".join(
        [message(span("src/k1.rs", 7)), message(inside_macro), message(span("src/k0.rs", 1), "warning"), b""]
    )
    first, second = parse_messages(output, 2)
    assert [(e.line, e.column, e.code) for e in first] == [(3, 5, "E0308")]
    assert [(e.line, e.message) for e in second] == [(7, "mismatched types\nnote: expected")]


@pytest.mark.skipif(sys.platform == "win32", reason="no file locks there")
def test_waiting_for_another_type_check_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    lock = toolchain.cache_directory() / "typecheck" / "lock"
    lock.parent.mkdir(parents=True)
    tools = replace(NOTHING, cargo=Path(sys.executable), host_source=tmp_path)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ProcessError, match="another ferrotile") as raised:
            type_check(tools, ["mod a {}"], seconds=0.1)
        assert raised.value.ending is Ending.TIMEOUT
        cancel = threading.Event()
        cancel.set()
        with pytest.raises(ProcessError) as raised:
            type_check(tools, ["mod a {}"], cancel=cancel)
        assert raised.value.ending is Ending.CANCELLED


def test_a_session_closes_while_types_are_checked() -> None:
    session = Session(NOTHING)
    with session._checking:
        cancel = threading.Event()
        cancel.set()
        with pytest.raises(ProcessError) as raised:
            session.check_types(["mod a {}"], cancel)
        assert raised.value.ending is Ending.CANCELLED
        session.close()


@pytest.mark.parametrize("worker", ["gpu", "guard", "python_compiler"])
def test_workers_for_other_machines_need_none_of_our_dependencies(worker: str) -> None:
    """They run where there is a GPU, or in the user's own interpreter."""
    blocked = ("msgspec", "tree_sitter", "pygls", "lsprotocol", "rich", "ml_dtypes")
    script = (
        "import sys, types\n"
        f"sys.modules.update(dict.fromkeys({blocked!r}))\n"  # None: importing it raises
        "sys.modules.update({n: types.ModuleType(n) for n in ('cuda', 'cuda.bindings')})\n"
        "sys.modules['cuda.bindings'].driver = None\n"
        f"import ferrotile_runner.workers.{worker}\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr

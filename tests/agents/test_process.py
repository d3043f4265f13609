"""`ferrotile mcp` as a process, as agents start it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ferrotile_runner import mcp_sdk
from ferrotile_runner.doctor import Check, Status, doctor
from ferrotile_runner.toolchain import Toolchain
from ferrotile_server.cli.main import main

from .support import KERNEL, call, command, process, run, words

pytestmark = pytest.mark.timeout(60)

NOTHING = Toolchain(None, None, None, None, None, None, None, None, False)


def test_a_session_over_stdio_in_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(KERNEL)

    async def scenario() -> None:
        async with process(folder=tmp_path, era="auto") as client:
            assert client.server_info is not None and client.server_info.name == "ferrotile"
            assert client.instructions is not None and "ferrotile://guide/cutile-0.5" in client.instructions
            assert not (await call(client, "check", path="good.py")).is_error
            assert "outside" in words(await call(client, "check", path="/etc/passwd"))

    run(scenario)


def test_the_root_of_the_disk_is_no_folder_of_kernels() -> None:
    async def scenario() -> None:
        async with process(folder=Path("/")) as client:
            result = await call(client, "check", path="etc/passwd")
            assert result.is_error and "ferrotile mcp FOLDER" in words(result)

    run(scenario)


def test_end_of_input_ends_the_server(tmp_path: Path) -> None:
    started = command(folder=tmp_path)
    line = [started.command, *started.args]
    done = subprocess.run(line, cwd=tmp_path, env=started.env, input=b"no message\n", capture_output=True, timeout=50)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_without_the_sdk_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mcp_sdk, "installed", lambda: None)
    assert main(["mcp"]) == 2
    assert "pip install 'ferrotile[mcp]'" in capsys.readouterr().err
    monkeypatch.setattr(mcp_sdk, "installed", lambda: "1.30.0")
    assert main(["mcp"]) == 2
    assert "1.30.0" in capsys.readouterr().err


def test_doctor_says_whether_agents_can_be_served(monkeypatch: pytest.MonkeyPatch) -> None:
    def line() -> Check:
        (found,) = [check for check in doctor(NOTHING) if check.name == "mcp"]
        return found

    assert (line().status, line().fix) == (Status.OK, "")
    monkeypatch.setattr(mcp_sdk, "installed", lambda: None)
    assert (line().status, line().fix) == (Status.OPTIONAL, "pip install 'ferrotile[mcp]'")


def test_a_folder_that_is_not_there_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--trust", "/no/such/folder"]) == 2
    assert "/no/such/folder: no such folder" in capsys.readouterr().err


def test_only_the_command_that_needs_it_imports_the_sdk() -> None:
    code = "import sys; from ferrotile_server.cli.main import main; main(['explain']); print('mcp' in sys.modules)"
    started = command(folder=Path.cwd())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=started.env, timeout=50)
    assert done.stdout.splitlines()[-1] == "False"

"""The grammar of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from ferrotile_server.cli.arguments import parse


def test_check() -> None:
    arguments = parse(["check", "a.py", "b", "--format", "json"])
    assert (arguments.command, arguments.paths, arguments.format) == ("check", ("a.py", "b"), "json")


def test_rungs() -> None:
    assert parse(["verify", "a.py", "--rungs", "proved, simulated"]).rungs == ("proved", "simulated")


def test_inputs() -> None:
    arguments = parse(["run", "a.py::k", "--inputs", "in.npz", "--seed", "7", "--trust"])
    assert (arguments.inputs, arguments.seed, arguments.trust) == ("in.npz", 7, True)
    arguments = parse(["verify", "a.py"])
    assert (arguments.inputs, arguments.seed, arguments.trust) == (None, 0, False)


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["no-such-command"],
        ["check"],
        ["translate", "a.py", "b.py"],
        ["verify", "a.py", "--rungs", "hoped"],
        ["run", "a.py", "--backend", "abacus"],
        ["check", "a.py", "--format", "xml"],
        ["verify", "a.py", "--seed", "-1"],
        ["verify", "a.py", "--seed", "x"],
    ],
)
def test_wrong_use_is_exit_code_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(argv)
    assert caught.value.code == 2
    assert "ferrotile" in capsys.readouterr().err


def test_server_takes_what_editors_pass() -> None:
    assert parse(["server", "--stdio", "--clientProcessId=12"]).command == "server"


def test_a_project_says_what_the_call_does_not(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.ferrotile]\ntarget = "sm_100"\nunsafe = "never"\n')
    (tmp_path / "p").mkdir()
    for path in (tmp_path, tmp_path / "p", tmp_path / "p" / "k.py::kernel"):
        arguments = parse(["check", str(path)])
        assert (arguments.target, arguments.unsafe, arguments.checks) == ("sm_100", "never", "free")
    given = parse(["translate", str(tmp_path / "k.py"), "--target", "sm_90"])
    assert (given.target, given.unsafe) == ("sm_90", "never")
    assert parse(["coverage", str(tmp_path)]).target == "sm_90"

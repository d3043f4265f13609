"""`ferrotile bundle` and `ferrotile run` as typed, where no compiler and no GPU is needed; `ssh` is a program here."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from ferrotile_runner.gpu.elsewhere import run_on
from ferrotile_runner.gpu.presence import Presence
from ferrotile_runner.process import ProcessError
from ferrotile_server.cli.gpu_text import verdict_lines
from ferrotile_server.cli.main import main

REFUSED = """\
import cuda.tile as ct


# ferrotile: x: f32[N], grid=(N/16,)
@ct.kernel
def refused(x):
    ct.nothing(x)
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "k.py"
    path.write_text(REFUSED)
    return path


def test_a_bundle_of_nothing_is_not_written(kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", str(kernel), "-o", str(tmp_path / "b.zip")]) == 2
    assert "nothing to bundle" in (said := capsys.readouterr().err) and "k.py::refused: it is not translated" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["k.py"]


def test_a_bundle_needs_a_folder(kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", str(kernel), "-o", str(tmp_path / "no" / "b.zip")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_without_a_choice_the_backend_is_said(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ferrotile_server.cli.run.usable_gpu", lambda: Presence(None, "no NVIDIA driver"))
    main(["run", str(kernel)])
    assert "simulated on the CPU: no NVIDIA driver" in capsys.readouterr().err


SSH = """\
#!{python}
import subprocess, sys
assert sys.argv[1:-2] == ["-T", "-o", "BatchMode=yes", "--"], sys.argv
print("to", sys.argv[-2], file=sys.stderr)
sys.exit(subprocess.run(["sh", "-c", sys.argv[-1]]).returncode)
"""
PROGRAM = "import sys\nprint(sys.argv[1:])\nsys.exit(3)\n"


def test_a_bundle_is_run_on_another_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh, bundle = tmp_path / "ssh", tmp_path / "bundle.zip"
    ssh.write_text(SSH.format(python=sys.executable))
    ssh.chmod(0o755)
    bundle.write_text(PROGRAM)
    monkeypatch.setenv("PATH", os.pathsep.join((str(tmp_path), os.environ["PATH"])))
    done = run_on("gpu-box", bundle, ("--seconds", "5"))
    assert (done.returncode, done.stdout.decode()) == (3, "['--seconds', '5']\n")
    assert "to gpu-box" in done.stderr


def test_a_host_is_no_option(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match="-oProxyCommand=true is no host"):
        run_on("-oProxyCommand=true", tmp_path / "bundle.zip")


def test_verdicts_read_like_sentences() -> None:
    match = {"equal": True, "bit_equal": True, "words": "bit-equal"}
    lines = [
        {"device": {"name": "NVIDIA H200", "architecture": "sm_90", "driver": 13000}},
        {
            "kernel": "add",
            "launch": "large: N=4",
            "verdict": "match",
            "fault": None,
            "arrays": {"z": match},
            "time": None,
        },
        {"kernel": "add", "launch": "one", "fault": {"step": "translation", "kind": "hang", "words": "no end"}},
        {"summary": {"matched": 1, "launches": 2, "bit_equal": 1, "time_ratio": 0.5}},
    ]
    assert list(verdict_lines(json.loads(json.dumps(lines)))) == [
        "NVIDIA H200 (sm_90)",
        "add: match: z bit-equal (large: N=4)",
        "add: translation: hang: no end (one)",
        "1 of 2 launches match, 1 bit-equal, 0.5 of the originals' time",
    ]


def test_tuning_needs_a_gpu_and_says_where_one_may_be(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ferrotile_server.cli.tune.usable_gpu", lambda: Presence(None, "no NVIDIA driver"))
    assert main(["tune", str(kernel)]) == 2
    assert "no NVIDIA driver; `--on HOST`" in capsys.readouterr().err

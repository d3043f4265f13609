"""`check --format sarif` and `--format github`: what is found is said where it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ferrotile_server.cli.main import main

SOURCE = """import cuda.tile as ct


# ferrotile: a: i32[N], b: u32[N], c: i32[N], grid=(N/16,)
@ct.kernel
def k(a, b, c):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), 16) + ct.load(b, (i,), 16))
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a,b.py").write_text(SOURCE)
    return "a,b.py"


def test_sarif(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", file, "--format", "sarif"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == "FT203" and result["level"] == "error"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["FT203"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == file
    line = SOURCE.splitlines()[7]
    region = place["region"]
    assert region["startLine"] == region["endLine"] == 8
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1].startswith("ct.load(a")


def test_github_escapes_what_ends_a_property(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", file, "--format", "github"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::error file=a%2Cb.py,line=8,col=")
    head, _, message = line[2:].partition("::")
    assert "FT203" in head and "do not combine" in message


def test_nothing_found_is_an_empty_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fine.py"
    path.write_text(SOURCE.replace("u32", "i32"))
    assert main(["check", str(path), "--format", "sarif"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["results"] == []
    assert main(["check", str(path), "--format", "github"]) == 0
    assert capsys.readouterr().out == ""

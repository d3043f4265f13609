"""`check --format sarif` and `--format github`: what is found is said where it is.

The schema of SARIF may not be copied here; what it requires of the parts that are written is checked by hand, by
sections of the specification."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from ferrotile.syntax.span import Span
from ferrotile_server.cli.ci_paths import Range, Ranges
from ferrotile_server.cli.github_annotations import data, property_
from ferrotile_server.cli.main import main

SOURCE = """import cuda.tile as ct


# ferrotile: a: i32[N], b: u32[N], c: i32[N], grid=(N/16,)
@ct.kernel
def k(a, b, c):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), 16) + ct.load(b, (i,), 16))
"""
UNKNOWN = """import cuda.tile as ct


@ct.kernel
def é(x, y, n):
    ct.store(y, (0,), ct.load(x, (0,), 16) + n)
"""
"""A kernel without a launch site: what is assumed has a fix."""


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder that is the root of a checkout."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    return tmp_path


@pytest.fixture
def file(checkout: Path) -> str:
    (checkout / "a,b 100%.py").write_text(SOURCE)
    return "a,b 100%.py"


def run_of(out: str) -> dict[str, object]:
    """The one run of a SARIF log, after what section 3 of the specification demands of its parts."""
    log = json.loads(out)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "ferrotile" and re.fullmatch(r"\d+\.\d+\.\d+", driver["semanticVersion"])
    ids = [rule["id"] for rule in driver["rules"]]
    assert ids == sorted(set(ids)) and all(rule["shortDescription"]["text"] for rule in driver["rules"])
    (invocation,) = run["invocations"]
    assert isinstance(invocation["executionSuccessful"], bool)
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error") and result["message"]["text"]
        places = [*result["locations"], *result.get("relatedLocations", [])]
        fixes = [change for fix in result.get("fixes", []) for change in fix["artifactChanges"]]
        regions = [place["physicalLocation"]["region"] for place in places]
        regions += [replacement["deletedRegion"] for change in fixes for replacement in change["replacements"]]
        for region in regions:
            start, end = (region["startLine"], region["startColumn"]), (region["endLine"], region["endColumn"])
            assert (1, 1) <= start <= end and start[1] >= 1 and end[1] >= 1
        for artifact in [p["physicalLocation"]["artifactLocation"] for p in places]:
            assert re.fullmatch(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+", artifact["uri"])
            assert artifact["uri"].startswith("file:///") or artifact["uriBaseId"] in run["originalUriBaseIds"]
    return run


def results(out: str) -> list[dict[str, object]]:
    found = run_of(out)["results"]
    assert isinstance(found, list)
    return found


def place(result: dict[str, object]) -> tuple[str, dict[str, int]]:
    locations = result["locations"]
    assert isinstance(locations, list)
    physical = locations[0]["physicalLocation"]
    return physical["artifactLocation"]["uri"], physical["region"]


def test_sarif(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", file, "--format", "sarif"]) == 1
    (result,) = results(capsys.readouterr().out)
    assert result["ruleId"] == "FT203" and result["level"] == "error"
    uri, region = place(result)
    assert " " not in uri and unquote(uri) == file
    line = SOURCE.splitlines()[7]
    assert region["startLine"] == region["endLine"] == 8
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "ct.load(a, (i,), 16) + ct.load(b, (i,), 16)"


def test_a_fix_is_the_edit_that_editors_offer(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "é.py").write_text(UNKNOWN)
    main(["check", "é.py", "--format", "sarif"])
    found = results(capsys.readouterr().out)
    assert found and all(unquote(place(result)[0]) == "é.py" for result in found)
    fixes = [fix for result in found for fix in result.get("fixes", [])]  # type: ignore[attr-defined]
    (change,) = fixes[0]["artifactChanges"]
    (replacement,) = change["replacements"]
    region, lines = replacement["deletedRegion"], UNKNOWN.splitlines(keepends=True)
    assert region["startLine"] == region["endLine"] and region["startColumn"] == region["endColumn"]
    at = sum(len(line) for line in lines[: region["startLine"] - 1]) + region["startColumn"] - 1
    fixed = UNKNOWN[:at] + replacement["insertedContent"]["text"] + UNKNOWN[at:]
    (checkout / "é.py").write_text(fixed)
    main(["check", "é.py", "--format", "sarif"])
    assert len(results(capsys.readouterr().out)) < len(found)


def test_paths_are_from_the_root_of_the_checkout(
    file: str, checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    below = checkout / "sub"
    below.mkdir()
    (below / "k.py").write_text(SOURCE)
    main(["check", str(below / "k.py"), "--format", "sarif"])
    assert place(results(capsys.readouterr().out)[0])[0] == "sub/k.py"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(checkout))
    monkeypatch.chdir(below)
    main(["check", "k.py", "--format", "github"])
    assert capsys.readouterr().out.startswith("::error file=sub/k.py,line=8,")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(checkout / "elsewhere"))
    main(["check", "k.py", "--format", "sarif"])
    assert place(results(capsys.readouterr().out)[0])[0] == (below / "k.py").as_uri()
    main(["check", "k.py", "--format", "github"])
    assert capsys.readouterr().out.startswith("::error file=k.py,")


def test_what_cannot_be_read_is_said(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "sub").mkdir()
    (checkout / "sub/bad.py").write_bytes(b"# cuda kernel \xff\n")
    assert main(["check", "sub", "--format", "sarif"]) == 2
    (invocation,) = run_of(capsys.readouterr().out)["invocations"]  # type: ignore[misc]
    assert not invocation["executionSuccessful"]
    (said,) = invocation["toolExecutionNotifications"]
    assert "not UTF-8" in said["message"]["text"]
    assert main(["check", "sub", "--format", "github"]) == 2
    assert "not UTF-8" in capsys.readouterr().out


def test_github_escapes_what_ends_a_property(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", file, "--format", "github"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::error file=a%2Cb 100%25.py,line=8,endLine=8,col=")
    head, _, message = line[2:].partition("::")
    assert "FT203" in head and "do not combine" in message


@pytest.mark.parametrize("text", ["a%0Ab", "100%", "a:b,c", "two\r\nlines", "%25", "é"])
def test_the_runner_undoes_every_escape(text: str) -> None:
    """As `unescapeData` and `unescapeProperty` of the runner do, in their order."""
    for escaped, more in ((data(text), ()), (property_(text), ((":", "%3A"), (",", "%2C")))):
        assert not set("\r\n") & set(escaped)
        undone = escaped
        for plain, code in (("\r", "%0D"), ("\n", "%0A"), *more, ("%", "%25")):
            undone = undone.replace(code, plain)
        assert undone == text
    assert not set(":,") & set(property_(text))


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 2, Range(1, 1, 1, 3)),
        (0, 4, Range(1, 1, 1, 4)),  # to the end of the first line, its line end included
        (1, 7, Range(1, 2, 2, 3)),
        (4, 6, Range(2, 1, 2, 2)),  # é is two bytes and one character
        (2, 2, Range(1, 3, 1, 4)),  # nothing is shown as one character
        (90, 99, Range(3, 1, 3, 2)),
    ],
)
def test_ranges_count_characters(start: int, end: int, expected: Range) -> None:
    assert Ranges("abc\néfg\n").of(Span(start, end)) == expected


def test_nothing_found_is_an_empty_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fine.py"
    path.write_text(SOURCE.replace("u32", "i32"))
    assert main(["check", str(path), "--format", "sarif"]) == 0
    assert results(capsys.readouterr().out) == []
    assert main(["check", str(path), "--format", "github"]) == 0
    assert capsys.readouterr().out == ""

"""`ferrotile draft` with the real compilers: a kernel that rules refuse and hand-written Rust says, a scripted model
that takes five tries, and the same again from the log."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from threading import Event

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translation import Options
from ferrotile_runner.toolchain import locate
from ferrotile_server.application import Application
from ferrotile_server.cli.main import main
from ferrotile_server.drafting.candidates import ladder_of
from ferrotile_server.drafting.mark import read
from ferrotile_server.drafting.task import kernel_of

sys.path.append(str(Path(__file__).parents[1] / "unit"))

from draft_support import KERNEL, RIGHT, WRONG
from scripted_endpoint import KEY, endpoint, rust, says

pytestmark = [pytest.mark.compilers, pytest.mark.timeout(600)]

TYPES = RIGHT.replace("0.0f32.broadcast", "0.0f64.broadcast")
READS = RIGHT.replace("let (i, j)", 'let _secret = include_str!("/etc/passwd");\n        let (i, j)')
EXCHANGED = RIGHT.replace(".load([i, j])", ".load([j, i])")
STORE = "y.store(select(here, 0.0f32.broadcast(shape![TILE, TILE]), t));"
UNSAFE = RIGHT.replace("core::*", "core::{ordering::Weak, scope::TileBlock, *}").replace(
    STORE,
    """let kept = select(here, 0.0f32.broadcast(shape![TILE, TILE]), t);
        let mut p = y.partition_mut(y.shape());
        unsafe { store_view_tko_mut(&mut p, kept, [0i32, 0i32], Weak, TileBlock, None, tma::Disabled) };""",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if locate().missing:
        pytest.skip(f"needs {', '.join(locate().missing)}: run `ferrotile setup`")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FERROTILE_API_KEY", KEY)
    (tmp_path / "tiles.py").write_text(KERNEL, encoding="utf-8")
    return tmp_path


def test_a_model_gets_there_in_the_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = [says(rust(text)) for text in (READS, TYPES, EXCHANGED, WRONG, RIGHT)]
    with endpoint(*script) as server:
        where = ("--base-url", server.url, "--model", "scripted")
        assert main(["draft", "tiles.py::clear_tile", *where, "-o", "out.rs", "--log", "log.jsonl"]) == 0
        asked = [request.body["messages"] for request in server.requests]
    mark = read((folder / "out.rs").read_text())
    assert mark is not None
    assert (mark.verified, mark.rung) == (True, "proved")
    verdicts = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    failures = [record["failure"] for record in verdicts if record["kind"] == "verdict"]
    assert "line 12" in failures[0]  # the text that would have read a file was given to no compiler
    assert failures[1].startswith("type-checked failed: E0308")
    assert failures[2] == "proved failed: y: the indices of the load of `x` are exchanged"
    assert failures[3] == "proved failed: y: the Python computes `and`, the Rust `or`"
    assert failures[4] == ""
    told = [messages[-1]["content"] for messages in asked if isinstance(messages, list)]
    assert "Rust line 12: `let _secret = include_str!" in told[1]
    assert "Rust line 16: `y.store(select(here, 0.0f64.broadcast" in told[2]
    assert "Python line 18: `ct.load(x, index=(i, j), shape=(TILE, TILE))`" in told[3]
    assert "Rust line 13: `x.partition(shape![TILE, TILE]).load([j, i])`" in told[3]
    capsys.readouterr()
    assert main(["draft", "tiles.py::clear_tile", "--replay", "log.jsonl", "-o", "again.rs"]) == 0
    assert (folder / "again.rs").read_text() == (folder / "out.rs").read_text()
    assert main(["verify", "tiles.py::clear_tile", "--rust", "out.rs", "--format", "json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)["kernels"]
    assert (report["origin"], report["rungs"]["proved"]["status"]) == ("ai", "passed")


def test_what_the_project_forbids_is_not_verified(folder: Path) -> None:
    del folder
    verdicts = []
    for unsafe in ("proved", "never"):
        core = Application(Options(unsafe=unsafe))
        analysis = core.check_document(Document(KERNEL))
        ladder = ladder_of(core, analysis, kernel_of(analysis, "clear_tile"))
        verdicts.append(ladder(UNSAFE, lambda _: None, Event()))
        core.close()
    assert [(one.verified, one.unsafe) for one in verdicts] == [("proved", 1), ("", 1)]
    assert "allows no `unsafe`" in verdicts[1].failure

"""`ferrotile draft` against a scripted endpoint, with a ladder that reads: what is written, said, logged, and sent."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from draft_support import KERNEL, RIGHT, WRONG, reading_ladder
from ferrotile_server.cli import draft as command
from ferrotile_server.cli.main import main
from ferrotile_server.drafting import asking
from ferrotile_server.drafting.mark import read
from scripted_endpoint import KEY, breaks, drips, endpoint, garbage, hangs, refuses, rust, says

Draft = Callable[..., int]


@pytest.fixture
def draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Draft:
    """Runs the command on the kernel in an empty folder; nothing of the environment says where to ask."""
    for name in ("FERROTILE_BASE_URL", "FERROTILE_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FERROTILE_API_KEY", KEY)
    monkeypatch.setattr(command, "ladder_of", reading_ladder)
    monkeypatch.setattr(asking, "FIRST_PAUSE_S", 0.01)
    monkeypatch.chdir(tmp_path)
    Path("tiles.py").write_text(KERNEL, encoding="utf-8")

    def run(*arguments: str, node: str = "tiles.py::clear_tile") -> int:
        return main(["draft", node, *arguments])

    return run


def at(url: str) -> tuple[str, ...]:
    return "--base-url", url, "--model", "scripted-1"


def nothing_has_the_key(folder: Path, said: str) -> None:
    assert KEY not in said
    assert not [path for path in folder.rglob("*") if path.is_file() and KEY in path.read_text()]


def test_right_at_the_second_try(draft: Draft, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with endpoint(says(rust(WRONG)), says(rust(RIGHT))) as server:
        code = draft(*at(server.url), "-o", "clear_tile.rs", "--log", "log.jsonl", "--prices", "1000,2000")
    said = capsys.readouterr()
    assert code == 0
    text = Path("clear_tile.rs").read_text()
    assert text.startswith("// Drafted by AI, checked by ferrotile: proved.\n// Origin: ai\n// Model: scripted-1\n")
    assert text.endswith("\n\n" + RIGHT)
    mark = read(text)
    assert mark is not None
    assert (mark.verified, mark.python) == (True, "tiles.py::clear_tile")
    assert said.out == ""
    assert "try 1: proved failed: y: the Python computes `and`, the Rust `or`" in said.err
    assert "verified: proved (2 tries, " in said.err
    assert "240 tokens, 0.2800 by your prices)" in said.err  # 2 * 100 at 1000 and 2 * 20 at 2000 for a million
    first, second = (json.dumps(request.body["messages"]) for request in server.requests)
    for wanted in ("Place(i, j) == Place(row, column)", "x: f32[M, N]", "FT301", "cutile", "```rust"):
        assert wanted in first
    assert "def easy" not in first
    assert "Rust line 14" in second
    assert [json.loads(line)["kind"] for line in Path("log.jsonl").read_text().splitlines()] == [
        *("draft", "prompt", "answer", "verdict", "prompt", "answer", "verdict", "end")
    ]
    nothing_has_the_key(tmp_path, said.out + said.err)


def test_the_log_gives_the_same_file_without_an_endpoint(draft: Draft, monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint(says("no code"), says(rust(WRONG)), says(rust(RIGHT))) as server:
        assert draft(*at(server.url), "-o", "one.rs", "--log", "log.jsonl") == 0
    monkeypatch.delenv("FERROTILE_API_KEY")
    assert draft("-o", "two.rs", "--replay", "log.jsonl", "--log", "again.jsonl") == 0
    assert Path("two.rs").read_text() == Path("one.rs").read_text()
    assert Path("again.jsonl").read_text() == Path("log.jsonl").read_text()


def test_a_log_of_another_kernel_is_refused(draft: Draft, capsys: pytest.CaptureFixture[str]) -> None:
    with endpoint(says(rust(RIGHT))) as server:
        assert draft(*at(server.url), "--log", "log.jsonl") == 0
    Path("tiles.py").write_text(KERNEL.replace("where(here, 0.0", "where(here, 1.0"))
    assert draft("--replay", "log.jsonl") == 2
    assert "has changed since" in capsys.readouterr().err


def test_never_right_leaves_no_file(draft: Draft, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with endpoint(says(rust(WRONG))) as server:
        assert draft(*at(server.url), "--tries", "3", "-o", "out.rs") == 1
        assert len(server.requests) == 3
    said = capsys.readouterr()
    assert [path.name for path in tmp_path.iterdir()] == ["tiles.py"]
    assert said.out == ""
    assert "no verified draft: 3 tries, none verified" in said.err
    assert "the best of them, try 1: proved failed" in said.err


def test_the_unverified_is_written_where_that_is_said(draft: Draft, capsys: pytest.CaptureFixture[str]) -> None:
    with endpoint(says(rust(WRONG))) as server:
        assert draft(*at(server.url), "--tries", "1", "-o", "out.rs", "--write-unverified") == 1
    text = Path("out.rs").read_text()
    assert text.startswith("// Drafted by AI, checked by ferrotile: UNVERIFIED. Do not use it as it is.\n")
    assert "\n// Failed: proved failed: y: the Python computes `and`, the Rust `or`\n" in text
    mark = read(text)
    assert mark is not None
    assert not mark.verified
    assert "which is NOT verified" in capsys.readouterr().err


def test_a_draft_elsewhere_names_its_python_from_there(draft: Draft) -> None:
    with endpoint(says(rust(RIGHT))) as server:
        assert draft(*at(server.url), "-o", "rust/kernels/out.rs") == 0
    mark = read(Path("rust/kernels/out.rs").read_text())
    assert mark is not None
    assert (mark.python, mark.verified) == ("../../tiles.py::clear_tile", True)


def test_a_draft_that_cannot_be_written_is_not_lost(draft: Draft, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    with endpoint(says(rust(RIGHT))) as server:
        assert draft(*at(server.url), "-o", "file/out.rs") == 2
    said = capsys.readouterr()
    assert read(said.out) is not None
    assert "the draft is printed instead" in said.err


def test_without_a_file_the_verified_draft_is_printed(draft: Draft, capsys: pytest.CaptureFixture[str]) -> None:
    with endpoint(says(rust(RIGHT))) as server:
        assert draft(*at(server.url)) == 0
    mark = read(capsys.readouterr().out)
    assert mark is not None
    assert mark.verified


def test_a_rate_limit_a_break_and_garbage_pass(draft: Draft, capsys: pytest.CaptureFixture[str]) -> None:
    script = (refuses(429, "slow down", retry_after="0"), breaks("```rust\nmod"), garbage, says(rust(RIGHT)))
    with endpoint(*script) as server:
        assert draft(*at(server.url), "--log", "log.jsonl") == 0
        assert len(server.requests) == 4
    said = capsys.readouterr().err
    for words in ("limits the rate of requests", "broke off after 11 characters", "what is no completion", "(1 try, "):
        assert words in said
    kinds = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    assert [r["trouble"] for r in kinds if r["kind"] == "again"] == [
        *("rate limit", "broken connection", "malformed answer")
    ]


@pytest.mark.parametrize("turn", [hangs, drips, refuses(429, "later", retry_after="3600")])
def test_the_time_holds_whatever_the_endpoint_does(
    draft: Draft, turn: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    start = time.monotonic()
    with endpoint(turn) as server:
        assert draft(*at(server.url), "--seconds", "1", "-o", "out.rs") == 1
    assert time.monotonic() - start < 6
    assert "no verified draft" in capsys.readouterr().err
    assert not Path("out.rs").exists()


def test_the_tokens_hold(draft: Draft, capsys: pytest.CaptureFixture[str]) -> None:
    with endpoint(says(rust(WRONG), prompt=40_000, answer=9_000)) as server:
        assert draft(*at(server.url), "--max-tokens", "100000", "--tries", "9") == 1
        assert len(server.requests) == 2
    assert "the tokens are used up" in capsys.readouterr().err


def test_a_wrong_key_ends_at_once(draft: Draft, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with endpoint(refuses(401, f"Incorrect API key provided: {KEY}")) as server:
        assert draft(*at(server.url), "--log", "log.jsonl") == 1
        assert len(server.requests) == 1
    said = capsys.readouterr()
    assert "refuses the key (401)" in said.err
    nothing_has_the_key(tmp_path, said.out + said.err)


def test_nothing_is_sent_without_a_destination(draft: Draft, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text('[tool.ferrotile]\nbase_url = "http://localhost:1/v1"\nmodel = "m"\n')
    assert draft() == 2
    assert "nothing is sent anywhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("tiles.py::easy", "translated by rules"),
        ("tiles.py::unknown", "signature of `unknown` is not known"),
        ("tiles.py::mistaken", "a mistake of its own, FT210"),
        ("tiles.py::nothing", "no kernel is called 'nothing'"),
        ("tiles.py", "name one kernel"),
    ],
)
def test_kernels_that_need_no_model(draft: Draft, node: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with endpoint(says(rust(RIGHT))) as server:
        assert draft(*at(server.url), node=node) == 2
        assert server.requests == []
    assert message in capsys.readouterr().err


def test_what_is_no_draft_is_not_overwritten(draft: Draft, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.rs").write_text("fn mine() {}\n")
    with endpoint(says(rust(RIGHT))) as server:
        assert draft(*at(server.url), "-o", "mine.rs") == 2
        assert server.requests == []
        assert "not an unedited draft" in capsys.readouterr().err
        assert draft(*at(server.url), "-o", "mine.rs", "--force") == 0
        assert draft(*at(server.url), "-o", "mine.rs") == 0
        Path("mine.rs").write_text(Path("mine.rs").read_text().replace("here", "there"))
        assert draft(*at(server.url), "-o", "mine.rs") == 2


def test_ctrl_c_ends_it_in_order(draft: Draft) -> None:
    with endpoint(hangs) as server:
        timer = threading.Timer(0.7, lambda: signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT))
        timer.start()
        assert draft(*at(server.url), "--log", "log.jsonl", "-o", "out.rs") == 130
    assert not Path("out.rs").exists()
    assert json.loads(Path("log.jsonl").read_text().splitlines()[-1])["end"] == "cancelled"


def test_without_the_sdk_it_says_what_to_install(
    draft: Draft, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    assert draft(*at("http://localhost:1/v1")) == 2
    assert "pip install 'ferrotile[draft]'" in capsys.readouterr().err

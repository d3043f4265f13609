"""Code actions of the real server, as an editor gets them in JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import TRUSTED, capabilities
from .strict_client import REAL, Client

pytestmark = pytest.mark.timeout(180)

TWO = """import cuda.tile as ct


# ferrotile: x: f32[N], y: f32[N], T=64, grid=(N/T)
@ct.kernel
def twice(x, y, T: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (T,)) * 2.0)


# ferrotile: x: f32[N], y: f32[N], T=64, grid=(N/T)
@ct.kernel
def half(x, y, T: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (T,)) * 0.5)
"""
LAUNCHED = """import cuda.tile as ct
import torch


@ct.kernel
def twice(x, y, T: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (T,)) * 2.0)


def run(n: int) -> None:
    x = torch.zeros(n, dtype=torch.float16)
    ct.launch(None, (ct.cdiv(n, 64),), twice, (x, torch.empty_like(x), 64))
"""
UNKNOWN = """import cuda.tile as ct


@ct.kernel
def twice(x, y, T):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (T,)) * 2.0)
"""


def place(line: int, character: int = 5, last: int | None = None) -> dict[str, object]:
    end = {"line": line if last is None else last, "character": character}
    return {"start": {"line": line, "character": character}, "end": end}


def actions(
    client: Client, uri: str, where: dict[str, object], diagnostics: object = (), **more: object
) -> list[dict[str, object]]:
    context = {"diagnostics": list(diagnostics), **more}  # type: ignore[call-overload]
    params = {"textDocument": {"uri": uri}, "range": where, "context": context}
    found = client.request("textDocument/codeAction", params)
    assert isinstance(found, list)
    return found


def titles(found: list[dict[str, object]]) -> list[object]:
    return [a["title"] for a in found]


def named(found: list[dict[str, object]], title: str) -> dict[str, object]:
    return next(a for a in found if str(a["title"]).startswith(title))


def written(client: Client, action: dict[str, object]) -> str:
    """The text that a Translate action puts into the Rust file."""
    resolved = client.request("codeAction/resolve", action)
    assert isinstance(resolved, dict)
    create, change = resolved["edit"]["documentChanges"]
    assert create["kind"] == "create" and create["uri"] == change["textDocument"]["uri"]
    (edit,) = change["edits"]
    text = edit["newText"]
    assert isinstance(text, str)
    return text


def applied(text: str, action: dict[str, object], version: int = 0) -> str:
    """The text after the one insertion of an action."""
    (change,) = action["edit"]["documentChanges"]  # type: ignore[index]
    assert change["textDocument"]["version"] == version
    (edit,) = change["edits"]
    start, end = edit["range"]["start"], edit["range"]["end"]
    assert start == end
    lines = text.split("\n")
    line = lines[start["line"]]
    lines[start["line"]] = line[: start["character"]] + edit["newText"] + line[start["character"] :]
    return "\n".join(lines)


def preview(client: Client, uri: str, kernel: str) -> str:
    address = client.request("ferrotile/previewUri", {"uri": uri, "kernel": kernel})
    assert isinstance(address, dict)
    content = client.request("workspace/textDocumentContent", {"uri": address["uri"]})
    assert isinstance(content, dict)
    return str(content["text"])


def test_the_kernel_at_the_cursor_joins_those_that_are_written(shared: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "my two.py").as_uri()
    shared.open(uri, TWO)
    first = written(shared, named(actions(shared, uri, place(5)), "Translate to Rust: `twice` (my two.rs)"))
    assert "fn twice" in first and "fn half" not in first
    (tmp_path / "my two.rs").write_text(first)
    both = written(shared, named(actions(shared, uri, place(11)), "Translate to Rust: `half` (my two.rs)"))
    assert "fn twice" in both and "fn half" in both


def test_a_selection_and_the_whole_file(shared: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "two.py").as_uri()
    shared.open(uri, TWO)
    selected = actions(shared, uri, place(5, last=11))
    text = written(shared, named(selected, "Translate to Rust (two.rs)"))
    assert "fn twice" in text and "fn half" in text
    outside = actions(shared, uri, place(0))
    assert titles(outside) == ["Translate all kernels to Rust (two.rs)"]
    assert outside[0]["kind"] == "source.translateAll.ferrotile"
    assert written(shared, outside[0]) == text


def test_only_what_is_asked_for(shared: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "two.py").as_uri()
    shared.open(uri, TWO)
    assert [a["kind"] for a in actions(shared, uri, place(5), only=["source"])] == ["source.translateAll.ferrotile"]
    assert {a["kind"] for a in actions(shared, uri, place(5), only=["refactor"])} == {"refactor.rewrite.ferrotile"}
    assert actions(shared, uri, place(5), only=["refactor.extract"]) == []
    assert actions(shared, uri, place(5), only=["source.fixAll"]) == []


def test_the_signature_as_a_directive_changes_nothing(shared: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "launched.py").as_uri()
    shared.open(uri, LAUNCHED)
    before = preview(shared, uri, "twice")
    action = named(actions(shared, uri, place(5)), "Add signature directive")
    text = applied(LAUNCHED, action)
    assert text.split("\n")[4] == "# ferrotile: x: f16[n], y: f16[n], T=64, grid=(n/64)"
    shared.change(uri, 1, {"text": text})
    assert preview(shared, uri, "twice") == before
    assert "Add signature directive" not in titles(actions(shared, uri, place(6)))


def test_a_constant_alone(shared: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "launched.py").as_uri()
    shared.open(uri, LAUNCHED)
    found = named(actions(shared, uri, place(5, LAUNCHED.split("\n")[5].index("T:"))), "Set T=64")
    assert applied(LAUNCHED, found).split("\n")[4] == "# ferrotile: T=64"


def test_a_shape_needs_a_constant(shared: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "unknown.py").as_uri()
    shared.open(uri, UNKNOWN)
    report = shared.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert isinstance(report, dict)
    error = next(d for d in report["items"] if d["code"] == "FT204")
    fix = named(actions(shared, uri, error["range"], only=["quickfix"]), "Make `T` a constant")
    text = applied(UNKNOWN, fix)
    assert "def twice(x, y, T: ct.Constant[int]):" in text
    shared.change(uri, 1, {"text": text})
    assert "fn twice" in preview(shared, uri, "twice")


def test_one_fix_for_all_that_it_mends(shared: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "unknown.py").as_uri()
    shared.open(uri, UNKNOWN.replace("y, T)", "y, s, T: ct.Constant[int])").replace("2.0", "s"))
    report = shared.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert isinstance(report, dict)
    warnings = [d for d in report["items"] if "fix" in d["data"]]
    assert [d["severity"] for d in warnings] == [2, 4, 4, 4]  # one line in a list of problems
    assert warnings[0]["message"].endswith("(3 more of this signature are assumed)")
    assert [r["message"] for r in warnings[0]["relatedInformation"]] == [w["message"] for w in warnings[1:]]
    assert {d["code"] for d in warnings} == {"FT101", "FT103"}
    (fix,) = actions(shared, uri, place(4, 0, 5), report["items"], only=["quickfix"])
    assert fix["isPreferred"] is True
    assert sorted(d["message"] for d in fix["diagnostics"]) == sorted(  # type: ignore[attr-defined]
        d["message"] for d in warnings
    )
    (change,) = fix["edit"]["documentChanges"]  # type: ignore[index]
    assert change["edits"][0] == warnings[0]["data"]["fix"]["edit"]


def test_what_goes_when_the_kernel_goes(shared: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "two.py").as_uri()
    shared.open(uri, TWO)
    action = named(actions(shared, uri, place(5)), "Translate to Rust: `twice`")
    shared.change(uri, 1, {"text": TWO.replace("twice", "thrice")})
    assert shared.error("codeAction/resolve", action) == (-32602, "`twice` is no longer there.")


@pytest.mark.parametrize("editor", ["neovim", "minimal"])
def test_editors_without_lenses_verify_from_here(editor: str, tmp_path: Path) -> None:
    client = Client(REAL)
    try:
        client.initialize(capabilities(editor), TRUSTED)
        uri = (tmp_path / "two.py").as_uri()
        client.open(uri, TWO)
        found = actions(client, uri, place(5))
        # An editor without action literals gets commands alone.
        names = [a["command"]["command"] if isinstance(a["command"], dict) else a["command"]
                 for a in found if "command" in a]  # fmt: skip
        assert "ferrotile.server.verify" in names
        client.stop()
    finally:
        client.kill()


def test_notes_stay_out_of_lists_of_problems(shared: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "inplace.py").as_uri()
    text = TWO[: TWO.index("\n\n\n# ferrotile: x: f32[N], y: f32[N], T=64, grid=(N/T)\n@ct.kernel\ndef half")]
    shared.open(uri, text.replace("ct.load(x", "ct.load(y") + "\n")
    report = shared.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert isinstance(report, dict)
    assert [(d["code"], d["severity"]) for d in report["items"]] == [("FT402", 4)]
    assert report["items"][0]["data"]["action"].startswith("Nothing to do")
    again = {"textDocument": {"uri": uri}, "previousResultId": report["resultId"]}
    unchanged = shared.request("textDocument/diagnostic", again)
    assert isinstance(unchanged, dict)
    assert (unchanged["kind"], unchanged["resultId"]) == ("unchanged", report["resultId"])

"""Drafts in an editor: one whose own model answers `ferrotile/complete`, and one with an endpoint in the
environment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import TRUSTED, capabilities
from .strict_client import Client, Message

sys.path.append(str(Path(__file__).parents[1] / "unit"))

from draft_support import KERNEL, RIGHT, WRONG
from ferrotile_server.drafting.log import read as records
from ferrotile_server.drafting.mark import read
from scripted_endpoint import KEY, endpoint, rust, says

pytestmark = pytest.mark.timeout(120)

SERVER = (sys.executable, str(Path(__file__).with_name("draft_server.py")))
COMPLETES = {**TRUSTED, "completes": True, "clientCommands": ["ferrotile.draft"]}
TOKEN = "draft-1"

Model = Callable[[dict[str, object]], Message]


class DraftingClient(Client):
    """An editor with a language model, and a user who presses one button."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        self.model: Model = lambda _: {"result": None}
        self.button: str | None = None
        self.asked: list[dict[str, object]] = []
        super().__init__(SERVER, environment, forked=False)

    def _take(self, message: Message) -> None:
        method, params = message.get("method"), message.get("params")
        if "id" not in message or method not in ("ferrotile/complete", "window/showMessageRequest"):
            super()._take(message)
            return
        assert isinstance(params, dict)
        with self._changed:
            self.requests.append(message)
            self._changed.notify_all()
        if method == "window/showMessageRequest":
            answer: Message = {"result": None if self.button is None else {"title": self.button}}
        else:
            self.asked.append(params)
            answer = self.model(params)
        if answer:
            self.send({"jsonrpc": "2.0", "id": message["id"], **answer})


def scripted(*answers: str) -> Model:
    """One answer after the other, the last for ever."""
    rest = list(answers)
    return lambda _: {
        "result": {"text": rest.pop(0) if len(rest) > 1 else rest[0], "promptTokens": 50, "answerTokens": 5}
    }


@pytest.fixture(scope="module")
def session() -> Iterator[DraftingClient]:
    """A trusted editor with a model; each test has a folder of its own."""
    yield from _session(COMPLETES, {})


def _session(options: object, environment: dict[str, str]) -> Iterator[DraftingClient]:
    made = DraftingClient(environment)
    try:
        made.initialize(capabilities("vscode"), options)
        yield made
        made.stop()
    finally:
        made.kill()


@pytest.fixture
def client(session: DraftingClient) -> DraftingClient:
    session.requests.clear()
    session.asked.clear()
    session.button = None
    while not session.notifications.empty():
        session.notifications.get()
    return session


def opened(client: Client, folder: Path, text: str = KERNEL) -> str:
    path = folder / "tiles.py"
    path.write_text(text, encoding="utf-8")
    client.open(path.as_uri(), text)
    return path.as_uri()


def params(uri: str, **more: object) -> dict[str, object]:
    return {"uri": uri, "kernel": "clear_tile", "model": "Scripted", "workDoneToken": TOKEN, **more}


def actions(client: Client, uri: str, kernel: str, text: str = KERNEL) -> list[dict[str, object]]:
    line = text[: text.index(f"def {kernel}")].count("\n")
    place = {"line": line, "character": 6}
    asked = {"textDocument": {"uri": uri}, "range": {"start": place, "end": place}, "context": {"diagnostics": []}}
    found = client.request("textDocument/codeAction", asked)
    assert isinstance(found, list)
    return [action for action in found if "with AI" in action["title"]]


def content(client: Client, uri: str) -> str:
    found = client.request("workspace/textDocumentContent", {"uri": uri})
    assert isinstance(found, dict)
    return str(found["text"])


def test_the_action_is_for_refused_kernels_alone(client: DraftingClient, tmp_path: Path) -> None:
    uri = opened(client, tmp_path)
    (action,) = actions(client, uri, "clear_tile")
    assert action["title"] == "Draft `clear_tile` with AI"
    assert action["command"] == {
        "title": "Draft with AI",
        "command": "ferrotile.draft",
        "arguments": [uri, "clear_tile"],
    }
    assert [actions(client, uri, kernel) for kernel in ("easy", "unknown", "mistaken")] == [[], [], []]


def test_right_at_the_second_try_is_written_and_shown(client: DraftingClient, tmp_path: Path) -> None:
    uri = opened(client, tmp_path)
    client.model = scripted(rust(WRONG), rust(RIGHT))
    log = tmp_path / "log.jsonl"
    result = client.request("ferrotile/draft", params(uri, log=str(log)))
    assert isinstance(result, dict)
    assert (result["verified"], result["rung"], result["failure"]) == (True, "proved", "")
    assert [record["kind"] for record in records(log)].count("verdict") == 2
    assert client.error("ferrotile/draft", params(uri, log=str(log)))[0] == -32803  # it is not overwritten
    written = tmp_path / "tiles_clear_tile.rs"
    assert result["uri"] == written.as_uri()
    mark = read(written.read_text())
    assert mark is not None
    assert (mark.verified, mark.model) == (True, "Scripted")
    assert [asked["draft"] for asked in client.asked] == [TOKEN, TOKEN]
    first, second = (asked["messages"] for asked in client.asked)
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert [m["role"] for m in second] == ["system", "user", "assistant", "user"]
    assert "Place(i, j) == Place(row, column)" in first[1]["content"]
    assert "Rust line 14" in second[3]["content"]
    assert client.wait_request("window/showDocument")["params"] == {"uri": written.as_uri(), "takeFocus": False}
    said = []
    while not client.notifications.empty():
        message = client.notifications.get()
        if message["method"] == "$/progress":
            value = message["params"]["value"]  # type: ignore[index]
            said.append(value["kind"] if value["kind"] != "report" else value["message"])
    assert (said[0], said[-1]) == ("begin", "end")
    assert "try 1: proved failed: y: the Python computes `and`, the Rust `or`" in said
    assert "try 2: proved" in said


def test_never_right_leaves_no_file_and_shows_what_failed(client: DraftingClient, tmp_path: Path) -> None:
    uri = opened(client, tmp_path)
    client.model = scripted(rust(WRONG))
    result = client.request("ferrotile/draft", params(uri, tries=2))
    assert isinstance(result, dict)
    assert (result["verified"], result["rung"]) == (False, "")
    assert "proved failed" in str(result["failure"])
    shown = str(result["uri"])
    assert shown.startswith("ferrotile-rs:")
    text = content(client, shown)
    assert text.startswith("// Drafted by AI, checked by ferrotile: UNVERIFIED.")
    assert "// Failed: proved failed: y: the Python computes `and`, the Rust `or`\n" in text
    asked = client.wait_request("window/showMessageRequest")["params"]
    assert isinstance(asked, dict)
    assert [action["title"] for action in asked["actions"]] == ["Write Unverified Draft"]
    assert "Nothing was written" in asked["message"]
    assert [path.name for path in tmp_path.iterdir()] == ["tiles.py"]


def test_the_unverified_is_written_where_the_user_says_so(client: DraftingClient, tmp_path: Path) -> None:
    uri = opened(client, tmp_path)
    client.model = scripted(rust(WRONG))
    client.button = "Write Unverified Draft"
    client.request("ferrotile/draft", params(uri, tries=1))
    client.wait_request("window/showMessageRequest")
    written = tmp_path / "tiles_clear_tile.rs"
    with client._changed:
        shown = lambda: [r for r in client.requests if r["method"] == "window/showDocument"]  # noqa: E731
        assert client._changed.wait_for(lambda: len(shown()) == 2, 20)
    mark = read(written.read_text())
    assert mark is not None
    assert not mark.verified


def test_a_file_of_someone_else_is_left_alone(client: DraftingClient, tmp_path: Path) -> None:
    uri = opened(client, tmp_path)
    mine = tmp_path / "tiles_clear_tile.rs"
    mine.write_text("fn mine() {}\n")
    client.model = scripted(rust(RIGHT))
    result = client.request("ferrotile/draft", params(uri))
    assert isinstance(result, dict)
    assert mine.read_text() == "fn mine() {}\n"
    assert content(client, str(result["uri"])).startswith("// Drafted by AI, checked by ferrotile: proved.")
    message = client.notification("window/showMessage")["message"]
    assert "left alone" in str(message)


def test_a_model_that_refuses(client: DraftingClient, tmp_path: Path) -> None:
    uri = opened(client, tmp_path)
    client.model = lambda _: {"error": {"code": -32803, "message": "No consent.", "data": {"passing": False}}}
    result = client.request("ferrotile/draft", params(uri))
    assert isinstance(result, dict)
    assert (result["verified"], result["uri"]) == (False, None)
    assert "No consent." in str(result["summary"])
    assert len(client.asked) == 1


def test_trouble_that_passes_is_asked_again(client: DraftingClient, tmp_path: Path) -> None:
    uri = opened(client, tmp_path)
    answers: list[Message] = [
        {"error": {"code": -32803, "message": "busy", "data": {"passing": True}}},
        {"result": {"text": rust(RIGHT)}},
    ]
    client.model = lambda _: answers.pop(0)
    result = client.request("ferrotile/draft", params(uri))
    assert isinstance(result, dict)
    assert result["verified"]
    assert "about" in str(result["summary"])  # nobody counted the tokens


def test_an_answer_that_is_none(client: DraftingClient, tmp_path: Path) -> None:
    uri = opened(client, tmp_path)
    client.model = lambda _: {"result": {"words": 5}}
    result = client.request("ferrotile/draft", params(uri, seconds=2))
    assert isinstance(result, dict)
    assert "answered without text" in str(result["summary"])


def test_cancel_reaches_the_model(client: DraftingClient, tmp_path: Path) -> None:
    uri = opened(client, tmp_path)
    client.model = lambda _: {}  # silence
    number = client.start("ferrotile/draft", params(uri))
    question = client.wait_request("ferrotile/complete")
    client.notify("$/cancelRequest", {"id": number})
    answer = client.wait(number)
    assert answer["error"]["code"] == -32800  # type: ignore[index]
    assert client.notification("$/cancelRequest")["id"] == question["id"]
    assert [path.name for path in tmp_path.iterdir()] == ["tiles.py"]


def test_a_draft_of_what_needs_none_is_refused(client: DraftingClient, tmp_path: Path) -> None:
    uri = opened(client, tmp_path)
    for kernel, message in (("easy", "translated by rules"), ("mistaken", "FT210"), ("nothing", "no kernel `nothing`")):
        code, text = client.error("ferrotile/draft", {**params(uri), "kernel": kernel})
        assert code == -32803
        assert message in text
    bad = ({"tries": 0}, {"seconds": "many"}, {"workDoneToken": []}, {"model": 1})
    for wrong in (None, [], {"uri": uri}, *(params(uri, **one) for one in bad)):
        assert client.error("ferrotile/draft", wrong)[0] == -32602
    assert client.asked == []


def test_nothing_is_drafted_in_a_workspace_that_is_not_trusted(tmp_path: Path) -> None:
    for client in _session({**COMPLETES, "workspaceTrusted": False}, {}):
        uri = opened(client, tmp_path)
        assert actions(client, uri, "clear_tile") == []
        assert client.error("ferrotile/draft", params(uri))[0] == -32803
        assert client.asked == []


def test_an_editor_without_a_model_asks_the_endpoint_of_its_environment(tmp_path: Path) -> None:
    with endpoint(says(rust(WRONG)), says(rust(RIGHT))) as server:
        environment = {"FERROTILE_BASE_URL": server.url, "FERROTILE_MODEL": "local", "FERROTILE_API_KEY": KEY}
        for client in _session(TRUSTED, environment):
            uri = opened(client, tmp_path)
            (action,) = actions(client, uri, "clear_tile")
            command = action["command"]
            assert isinstance(command, dict)
            assert command["command"] == "ferrotile.server.draft"
            client.request("workspace/executeCommand", {k: command[k] for k in ("command", "arguments")})
            client.wait_request("window/showDocument")
            mark = read((tmp_path / "tiles_clear_tile.rs").read_text())
            assert mark is not None
            assert (mark.verified, mark.model) == (True, "local")
            assert KEY not in client.log.decode()
        assert len(server.requests) == 2


def test_without_any_model_there_is_no_action(tmp_path: Path) -> None:
    for client in _session(TRUSTED, {"FERROTILE_BASE_URL": "", "FERROTILE_MODEL": ""}):
        uri = opened(client, tmp_path)
        assert actions(client, uri, "clear_tile") == []
        code, message = client.error("ferrotile/draft", params(uri))
        assert code == -32803
        assert "nothing is sent anywhere" in message

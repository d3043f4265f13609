"""Settings of the user, of a workspace folder and of a project, and what they change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ferrotile.translation import Options
from ferrotile_server.project_settings import ProjectSettings, merged

from .conftest import capabilities
from .strict_client import FAKE, REAL, Client
from .texts import KERNEL

pytestmark = pytest.mark.timeout(180)

BAD = """import cuda.tile as ct


# ferrotile: x: f32[N], T=64
@ct.kernel
def k(x, T: ct.Constant[int]):
    ct.no_such(x)
"""


class ByFolder(Client):
    """An editor with settings for each folder."""

    def __init__(self, answers: dict[str | None, object], command: tuple[str, ...] = FAKE) -> None:
        self.by_scope = answers
        super().__init__(command)

    def _take(self, message: dict[str, object]) -> None:
        if message.get("method") == "workspace/configuration" and "id" in message:
            items = message["params"]["items"]  # type: ignore[index]
            result = [self.by_scope.get(i.get("scopeUri")) for i in items]
            self.requests.append(message)
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            return
        super()._take(message)


def begin(client: Client, folders: list[Path], settings: object = None) -> dict[str, object]:
    """A session of VS Code with these workspace folders."""
    params = {
        "processId": None,
        "rootUri": None,
        "workspaceFolders": [{"uri": f.as_uri(), "name": f.name} for f in folders],
        "capabilities": capabilities("vscode"),
        "initializationOptions": {"settings": settings},
    }
    result = client.request("initialize", params)
    assert isinstance(result, dict)
    client.notify("initialized", {})
    return result


@pytest.fixture
def ended() -> Iterator[list[Client]]:
    """Clients that are stopped in order at the end."""
    clients: list[Client] = []
    try:
        yield clients
        for client in clients:
            client.stop()
    finally:
        for client in clients:
            client.kill()


def until(found: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end
        time.sleep(0.05)


def target(client: Client, uri: str) -> str:
    """The target that the fake translator was told, which it writes into its Rust."""
    params = {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 5}}
    hover = client.request("textDocument/hover", params)
    assert isinstance(hover, dict)
    return str(hover["contents"]["value"].split(" */")[0].rsplit(" ", 1)[1])


def test_each_folder_has_its_own(ended: list[Client], tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    client = ByFolder({None: {"target": "sm_90"}, two.as_uri(): {"target": "sm_100"}})
    ended.append(client)
    begin(client, [one, two])
    for folder in (one, two):
        client.open((folder / "k.py").as_uri(), KERNEL)
    until(lambda: target(client, (two / "k.py").as_uri()) == "sm_100")
    assert target(client, (one / "k.py").as_uri()) == "sm_90"
    client.by_scope = {None: {"target": "sm_120"}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    until(lambda: target(client, (one / "k.py").as_uri()) == "sm_120")
    assert target(client, (two / "k.py").as_uri()) == "sm_120"


def test_a_project_says_how_it_is_translated(ended: list[Client], tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[tool.ferrotile]\ntarget = "sm_100"\n')
    client = Client(FAKE)
    client.settings = {"target": "sm_90"}
    ended.append(client)
    begin(client, [tmp_path])
    uri = (tmp_path / "k.py").as_uri()
    client.open(uri, KERNEL)
    assert target(client, uri) == "sm_100"
    project.write_text('[tool.ferrotile]\ntarget = "sm_1000"\n')
    changes = [{"uri": project.as_uri(), "type": 2}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    until(lambda: target(client, uri) == "sm_1000")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"target": "sm_100", "unsafe": "never", "checks": "keep"}, Options("sm_100", "never", "keep")),
        ({"target": "gcc -o", "unsafe": 1, "checks": ["keep"], "interpreter": "/bin/sh"}, Options()),
        ([], Options()),
        (None, Options()),
    ],
)
def test_malformed_settings_say_nothing(given: object, expected: Options) -> None:
    assert merged(Options(), given) == expected


@pytest.mark.parametrize("text", ["", "[tool]\nferrotile = 1\n", "[tool.ferrotile\n", "tool = 3\n", "\xff"])
def test_malformed_projects_say_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(text.encode("latin-1"))
    assert ProjectSettings().options(tmp_path / "k.py", (), Options("sm_80")) == Options("sm_80")


def test_workspace_diagnostics(ended: list[Client], tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(BAD)
    (tmp_path / "two.py").write_text(BAD)
    (tmp_path / "none.py").write_text("x = 1\n")
    client = Client(REAL)
    client.settings = {"diagnosticMode": "workspace"}
    ended.append(client)
    made = begin(client, [tmp_path], client.settings)
    assert made["capabilities"]["diagnosticProvider"]["workspaceDiagnostics"] is True  # type: ignore[index]

    def pull(previous: dict[str, str]) -> int:
        ids = [{"uri": uri, "value": value} for uri, value in previous.items()]
        return client.start("workspace/diagnostic", {"previousResultIds": ids})

    def items(identity: int) -> list[dict[str, object]]:
        answer = client.wait(identity, 60)["result"]
        assert isinstance(answer, dict)
        return sorted(answer["items"], key=lambda i: str(i["uri"]))

    one, two = items(pull({}))
    assert [one["uri"], two["uri"]] == [(tmp_path / n).as_uri() for n in ("one.py", "two.py")]
    assert [d["code"] for d in one["items"] if d["severity"] == 1] == ["FT210"]  # type: ignore[attr-defined]
    known = {str(i["uri"]): str(i["resultId"]) for i in (one, two)}
    waiting = pull(known)
    with pytest.raises(TimeoutError):  # nothing is new: the request stays open
        client.wait(waiting, 2)
    (tmp_path / "two.py").write_text("x = 1\n")
    changes = [{"uri": (tmp_path / "two.py").as_uri(), "type": 2}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    one, two = items(waiting)
    assert (one["kind"], two["kind"], two["items"]) == ("unchanged", "full", [])
    waiting = pull({str(i["uri"]): str(i["resultId"]) for i in (one, two)})
    client.notify("$/cancelRequest", {"id": waiting})
    assert client.wait(waiting, 20)["error"]["code"] == -32800  # type: ignore[index]


def test_open_files_alone_where_nothing_else_is_set(ended: list[Client], tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(BAD)
    client = Client(FAKE)
    ended.append(client)
    made = begin(client, [tmp_path])
    assert made["capabilities"]["diagnosticProvider"]["workspaceDiagnostics"] is False  # type: ignore[index]
    assert client.request("workspace/diagnostic", {"previousResultIds": []}) == {"items": []}

"""What editors other than VS Code are given, each with the capabilities that it really sends."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
import pytest_lsp
from ferrotile_server.lsp.convert import escape
from lsprotocol import types

from .conftest import FAKE_SERVER, TRUSTED, capabilities, until_the_end
from .lsp_client import StrictClient, refusal, timely
from .strict_client import Client
from .texts import KERNEL, REFUSED

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning"),
]
PUBLISH = types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS
EDITORS = ["neovim", "emacs", "helix"]


@pytest_lsp.fixture(config=FAKE_SERVER)
async def session(client: StrictClient):  # type: ignore[no-untyped-def]
    """A session that is not initialized yet; it must end in order."""
    async for _ in until_the_end(client):
        yield


def actions(client: Client, uri: str, line: int) -> dict[str, dict[str, object]]:
    """Code actions by title, as JSON: lsprotocol takes one that has a command for a bare command."""
    place = {"line": line, "character": 4}
    context = {"range": {"start": place, "end": place}, "context": {"diagnostics": []}}
    found = client.request("textDocument/codeAction", {"textDocument": {"uri": uri}, **context})
    assert isinstance(found, list)
    return {action["title"]: action for action in found}


async def command(session: StrictClient, name: str, *arguments: object) -> object:
    params = types.ExecuteCommandParams(f"ferrotile.server.{name}", list(arguments))
    return await timely(session.workspace_execute_command_async(params))


async def published(session: StrictClient, uri: str, wanted: str) -> list[types.Diagnostic]:
    """The first publication of which some message holds `wanted`."""
    while True:
        await session.notification(PUBLISH)
        found = list(session.diagnostics.get(uri, ()))
        if any(wanted in d.message for d in found):
            return found


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.asyncio
async def test_diagnostics_are_pushed_where_the_editor_cannot_be_told_to_ask_again(
    session: StrictClient, editor: str, tmp_path: Path
) -> None:
    result = await session.begin(editor)
    assert result.capabilities.diagnostic_provider is None
    uri = (tmp_path / "k.py").as_uri()
    session.open(uri, REFUSED)
    (found,) = await published(session, uri, "REFUSE")
    assert (found.code, found.severity) == ("FT301", types.DiagnosticSeverity.Error)


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.asyncio
async def test_a_verdict_shows_without_lenses_that_can_be_refreshed(
    session: StrictClient, editor: str, tmp_path: Path
) -> None:
    await session.begin(editor, TRUSTED)
    uri = (tmp_path / "k.py").as_uri()
    session.open(uri, KERNEL)
    await command(session, "verify", uri, "add")
    (passed,) = await published(session, uri, "verified")
    assert (passed.severity, passed.source) == (types.DiagnosticSeverity.Information, "ferrotile verify")
    assert "proved" in passed.message
    session.change(uri, 1, KERNEL.replace("pass", "return"))
    (stale,) = await published(session, uri, "changed since it was verified")
    assert (stale.severity, stale.range) == (types.DiagnosticSeverity.Hint, passed.range)
    session.change(uri, 2, KERNEL)
    (back,) = await published(session, uri, "verified: ")
    assert back.severity == types.DiagnosticSeverity.Information


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("editor", EDITORS)
def test_verify_is_offered_where_it_is_allowed(client: Client, editor: str, trusted: bool, tmp_path: Path) -> None:
    client.initialize(capabilities(editor), {"workspaceTrusted": trusted})
    uri = (tmp_path / "k.py").as_uri()
    client.open(uri, KERNEL)
    found = actions(client, uri, 4)
    assert ("Verify `add`" in found) is trusted
    if trusted:
        assert found["Verify `add`"]["command"]["arguments"] == [uri, "add"]  # type: ignore[index]


def test_an_editor_that_creates_files_gets_an_edit_and_shows_the_file(client: Client, tmp_path: Path) -> None:
    """Neovim says that it creates files, but not that it takes `documentChanges`, without which no edit does; and it
    keeps the new file where nobody sees it."""
    client.initialize(capabilities("neovim"))
    uri = (tmp_path / "k.py").as_uri()
    client.open(uri, KERNEL)
    resolved = client.request("codeAction/resolve", actions(client, uri, 4)["Translate to Rust (k.rs)"])
    assert isinstance(resolved, dict)
    create, _ = resolved["edit"]["documentChanges"]
    assert create["kind"] == "create"
    show = {name: resolved["command"][name] for name in ("command", "arguments")}
    client.request("workspace/executeCommand", show)
    assert client.wait_request("window/showDocument")["params"]["uri"] == create["uri"]  # type: ignore[index]


def test_what_an_editor_has_not_saved_yet_is_replaced_as_a_whole(client: Client, tmp_path: Path) -> None:
    """An editor that creates a file writes an empty one, and keeps the text to itself until it is saved."""
    client.initialize(capabilities("neovim"))
    uri = (tmp_path / "k.py").as_uri()
    client.open(uri, KERNEL)
    translate = actions(client, uri, 4)["Translate to Rust (k.rs)"]
    first = client.request("codeAction/resolve", translate)
    (tmp_path / "k.rs").touch()
    second = client.request("codeAction/resolve", translate)
    made = ""
    for resolved in (first, second):
        assert isinstance(resolved, dict)
        (edit,) = resolved["edit"]["documentChanges"][1]["edits"]
        start, end = edit["range"]["start"], edit["range"]["end"]
        assert start == {"line": 0, "character": 0} and end["character"] == 0
        made = edit["newText"] + "".join(made.splitlines(keepends=True)[end["line"] :])
    assert made.count("fn add") == 1


def test_of_a_rust_file_that_the_editor_shows_its_text_counts(client: Client, tmp_path: Path) -> None:
    client.initialize(capabilities("vscode"))
    uri, rust, path = (tmp_path / "k.py").as_uri(), (tmp_path / "k.rs").as_uri(), tmp_path / "k.rs"
    client.open(uri, KERNEL + KERNEL.replace("add", "twice"))
    client.notify(
        "textDocument/didOpen", {"textDocument": {"uri": rust, "version": 0, "languageId": "rust", "text": ""}}
    )

    def text() -> str:
        action = actions(client, uri, 4)["Translate to Rust: `add` (k.rs)"]
        resolved = client.request("codeAction/resolve", action)
        assert isinstance(resolved, dict)
        return str(resolved["edit"]["documentChanges"][1]["edits"][0]["newText"])

    alone = text()
    assert "fn add" in alone and "fn twice" not in alone
    path.touch()
    client.change(rust, 1, {"text": alone.replace("fn add", "\n    fn twice")})
    both = text()
    assert "fn add" in both and "fn twice" in both, "what is not saved yet stays"
    client.change(rust, 2, {"text": "fn mine() {}\n"})
    action = actions(client, uri, 4)["Translate to Rust: `add` (k.rs)"]
    assert "left alone" in client.error("codeAction/resolve", action)[1]


@pytest.mark.parametrize("editor", ["emacs", "helix"])
@pytest.mark.asyncio
async def test_for_an_editor_that_cannot_the_file_is_written(
    session: StrictClient, editor: str, tmp_path: Path
) -> None:
    """Helix 25.01 creates files, but cannot show them: what it is given stays unsaved where nobody sees it."""
    await session.begin(editor)
    path = tmp_path / "k.rs"
    uri = (tmp_path / "k.py").as_uri()
    session.open(uri, KERNEL)
    await command(session, "translate", uri)
    assert "fn add" in path.read_text(encoding="utf-8")
    assert [m.message for m in session.messages] == [f"ferrotile: Wrote {path}"]
    session.change(uri, 1, KERNEL.replace("add", "sum"))
    await command(session, "translate", uri)
    assert "fn sum" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("there", ["file", "link"])
@pytest.mark.asyncio
async def test_what_someone_else_wrote_is_left_alone(session: StrictClient, there: str, tmp_path: Path) -> None:
    await session.begin("emacs")
    theirs, path = tmp_path / "theirs.rs", tmp_path / "k.rs"
    theirs.write_text("fn mine() {}\n", encoding="utf-8")
    if there == "file":
        theirs.rename(path)
    else:
        path.symlink_to(theirs)
    uri = (tmp_path / "k.py").as_uri()
    session.open(uri, KERNEL)
    number, message = await refusal(command(session, "translate", uri))
    assert (number, "left alone" in message) == (-32803, True)
    assert path.read_text(encoding="utf-8") == "fn mine() {}\n"
    assert not session.messages, "the editor shows the error; a message would be the second"
    assert b"ERROR" not in session.log, "a refusal is no fault of the server's"


@pytest.mark.asyncio
async def test_a_preview_on_disk_is_told_and_follows_the_python(session: StrictClient, tmp_path: Path) -> None:
    await session.begin("emacs")
    uri = (tmp_path / "k.py").as_uri()
    session.open(uri, KERNEL)
    shown = await command(session, "preview", uri, "add")
    path = Path(str(shown).removeprefix("file://"))
    assert [m.message for m in session.messages] == [f"ferrotile: The Rust is in {path}"]
    before = path.read_text(encoding="utf-8")
    assert "fn add" in before
    assert os.access(path.parent, os.W_OK) and path.stat().st_mode & 0o777 == 0o400
    session.change(uri, 1, KERNEL.replace("pass", "return"))
    async with asyncio.timeout(60):
        while path.read_text(encoding="utf-8") == before:
            await asyncio.sleep(0.02)
    await session.finish()
    assert not path.parent.exists()


@pytest.mark.asyncio
async def test_previews_of_two_files_do_not_share_a_name(session: StrictClient, tmp_path: Path) -> None:
    await session.begin("neovim")
    shown = []
    for name in ("a.py", "b.py"):
        uri = (tmp_path / name).as_uri()
        session.open(uri, KERNEL)
        shown.append(await command(session, "preview", uri, "add"))
    assert len(set(shown)) == 2


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("softmax: proved, type-checked", "softmax: proved, type-checked"),
        ("ping_pong: a + b", "ping_pong: a + b"),
        ("_x_ and *y*", r"\_x\_ and \*y\*"),
        ("[a](b) <c> `d` &lt;", r"\[a\](b) \<c\> \`d\` \&lt;"),
        ("- no list", r"\- no list"),
        ("1. nor this", r"1\. nor this"),
        ("# no heading\n---", r"\# no heading ---"),
    ],
)
@pytest.mark.asyncio
async def test_markdown_shows_text_as_it_is_with_few_backslashes(text: str, markdown: str) -> None:
    """By CommonMark 0.31: what may begin inline markup anywhere (2.4, 6), or a block at the line's start (4, 5)."""
    assert escape(text) == markdown

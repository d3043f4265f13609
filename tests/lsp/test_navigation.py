"""Ways between Python and the generated Rust, from the real translator; lines of Rust are looked for by their text."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_lsp
from ferrotile.syntax.document import Document
from ferrotile_server.application import Application
from lsprotocol import types

from .conftest import REAL_SERVER, until_the_end
from .lsp_client import CAPABILITIES, StrictClient, refusal, timely

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning"),
]

TEXT = """import cuda.tile as ct


def scaled(v):
    w = v * 3.0  # é𝄞
    return w


# ferrotile: x: f32[N], y: f32[N], T=256, grid=(N/T,)
@ct.kernel
def twice(x, y, T: ct.Constant[int]):
    \"\"\"Says nothing in Rust.\"\"\"
    i = ct.bid(0)
    t = ct.load(
        x,
        index=(i,),
        shape=(T,),
    )
    ct.store(y, index=(i,), tile=scaled(t))


# ferrotile: x: f16[M, N], y: f32[M], TN=64, grid=(M,)
@ct.kernel
def rows(x, y, TN: ct.Constant[int]):
    i, j = ct.bid(0), 0
    t = ct.load(x, index=(i, j), shape=(1, TN))
    ct.store(y, index=(i,), tile=ct.sum(t.astype(ct.float32), axis=1))


# ferrotile: x: f32[N], y: f32[N], T=256, grid=(N/T,)
@ct.kernel
def refused(x, y, T: ct.Constant[int]):
    ct.store(y, index=(ct.bid(0),), tile=ct.no_such_operation(x))
"""
LINES = TEXT.split("\n")
LINKS = {"dynamicRegistration": True, "linkSupport": True}


@pytest_lsp.fixture(config=REAL_SERVER)
async def session(client: StrictClient) -> AsyncIterator[None]:
    """A session with the real translator that is not initialized yet; it must end in order."""
    async for _ in until_the_end(client):
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pair.py"


def here(path: Path) -> types.TextDocumentIdentifier:
    return types.TextDocumentIdentifier(path.as_uri())


def at(text: str, within: str, word: str | None = None) -> types.Position:
    """The place of `word` in the first line that contains `within`; in ASCII lines."""
    lines = text.split("\n")
    number = next(n for n, line in enumerate(lines) if within in line)
    return types.Position(number, lines[number].index(word or within))


async def begin(client: StrictClient, editor: str = "vscode", options: object = None, **asks: object) -> None:
    """As an editor that asks for both ways, unless `asks` says otherwise."""
    loaded = json.loads((CAPABILITIES / f"{editor}.json").read_text(encoding="utf-8"))
    offered = {"definition": LINKS, "implementation": {"linkSupport": True}} | asks
    await client.begin(editor, options, textDocument=loaded.get("textDocument", {}) | offered)


async def rust_of(client: StrictClient, path: Path, place: types.Position) -> list[tuple[str, int]]:
    """(document, line) of each way to the Rust."""
    params = types.ImplementationParams(here(path), place)
    found = await timely(client.text_document_implementation_async(params))
    links = [] if found is None else found if isinstance(found, list | tuple) else [found]
    assert all(isinstance(link, types.LocationLink) for link in links)
    return [(k.target_uri, k.target_range.start.line) for k in links if isinstance(k, types.LocationLink)]


async def python_of(client: StrictClient, uri: str, line: int) -> tuple[str, types.Range] | None:
    params = types.DefinitionParams(types.TextDocumentIdentifier(uri), types.Position(line, 0))
    found = await timely(client.text_document_definition_async(params))
    if found is None:
        return None
    assert isinstance(found, list | tuple)
    (link,) = found
    assert isinstance(link, types.LocationLink)
    return link.target_uri, link.target_range


async def content(client: StrictClient, uri: str) -> str:
    return (await timely(client.workspace_text_document_content_async(types.TextDocumentContentParams(uri)))).text


def write_rust(path: Path, text: str = TEXT, kernels: tuple[str, ...] = ()) -> str:
    """What Translate to Rust writes beside the Python."""
    application = Application()
    made = application.rust_file(application.check_document(Document(text)), path.stem, kernels)
    assert made is not None
    path.with_suffix(".rs").write_text(made, encoding="utf-8", newline="\n")
    return made


def head_of(name: str, rust: str) -> int:
    return next(n for n, line in enumerate(rust.split("\n")) if line.startswith(f"    fn {name}<"))


def line_of(name: str, within: str, rust: str) -> int:
    """The first line at or below the head of kernel `name` that contains `within`."""
    return next(n for n, line in enumerate(rust.split("\n")) if n >= head_of(name, rust) and within in line)


WAYS = [
    # kernel, a line of its Python, a word in it, the Rust that this line became
    ("twice", "@ct.kernel", "ct", "fn twice<"),
    ("twice", "def twice", "twice", "fn twice<"),
    ("twice", "def twice", "T: ct", "fn twice<"),
    ("twice", "Says nothing", "Says", "fn twice<"),
    ("twice", "i = ct.bid(0)", "bid", "program_id(0)"),
    ("twice", "t = ct.load(", "t", ".load([i])"),
    ("twice", "shape=(T,)", "shape", ".load([i])"),
    ("twice", "tile=scaled(t)", "ct", "y.store("),
    ("rows", "def rows", "rows", "fn rows<"),
    ("rows", "shape=(1, TN)", "t", "load_row("),
    ("rows", "t.astype", "t.astype", "convert_tile("),
]


@pytest.mark.parametrize("written", [False, True])
async def test_lines_lead_to_their_rust(session: StrictClient, path: Path, written: bool) -> None:
    await begin(session)
    if written:
        rust = write_rust(path)
    session.open(path.as_uri(), TEXT)
    for name, line, word, expected in WAYS:
        ((target, number),) = await rust_of(session, path, at(TEXT, line, word))
        if written:
            assert target == path.with_suffix(".rs").as_uri()
        else:
            assert target.startswith(f"ferrotile-rs:/{name}.rs?")
            rust = await content(session, target)
        assert number == line_of(name, expected, rust), (line, word)


async def test_a_helper_leads_to_each_kernel_that_has_it(session: StrictClient, path: Path) -> None:
    await begin(session)
    both = TEXT.replace(
        "tile=ct.sum(t.astype(ct.float32), axis=1)", "tile=ct.sum(scaled(t).astype(ct.float32), axis=1)"
    )
    rust = write_rust(path, both)
    session.open(path.as_uri(), both)
    found = await rust_of(session, path, at(both, "w = v * 3.0", "v"))
    assert len(found) == 2
    lines = rust.split("\n")
    assert "3.0" in lines[found[0][1]] and head_of("twice", rust) < found[0][1] < head_of("rows", rust)
    assert "3.0" in lines[found[1][1]] and head_of("rows", rust) < found[1][1]
    assert await rust_of(session, path, at(both, "import")) == []


async def test_rust_leads_to_its_python(session: StrictClient, path: Path) -> None:
    await begin(session)
    rust = write_rust(path)
    uri = path.with_suffix(".rs").as_uri()
    session.open(path.as_uri(), TEXT)
    preview = str((await session.custom("ferrotile/previewUri", {"uri": path.as_uri()})).uri)  # type: ignore[attr-defined]
    assert await python_of(session, preview, 0) is None  # it was never shown
    assert await content(session, preview) == rust
    expected = [
        (line_of("twice", "fn twice<", rust), at(TEXT, "def twice", "twice")),
        (line_of("twice", "program_id", rust), at(TEXT, "ct.bid(0)")),
        (line_of("twice", ".load(", rust), at(TEXT, "ct.load(")),
        (line_of("twice", "// é", rust), at(TEXT, "v * 3.0")),
        (line_of("twice", "3.0", rust), at(TEXT, "v * 3.0")),
        (line_of("twice", "y.store", rust), at(TEXT, "ct.store(y, index=(i,), tile=scaled")),
        (head_of("rows", rust) - 1, at(TEXT, "def rows", "rows")),
        (line_of("rows", "load_row", rust), at(TEXT, "ct.load(x, index=(i, j)")),
    ]
    for line, start in expected:
        for document in (uri, preview):
            found = await python_of(session, document, line)
            assert found is not None, (document, line)
            assert (found[0], found[1].start) == (path.as_uri(), start)
    for nowhere in (0, 3, line_of("twice", "    }", rust) + 1, 999):
        assert await python_of(session, uri, nowhere) is None
    assert await python_of(session, path.as_uri(), 12) is None  # Python is for Python's servers


@pytest.mark.parametrize(("editor", "encoding"), [("vscode", "utf-16"), ("neovim", "utf-8"), ("minimal", "utf-16")])
async def test_positions_are_in_the_editors_encoding(
    session: StrictClient, path: Path, editor: str, encoding: str
) -> None:
    await begin(session, editor)
    text = TEXT.replace("    i = ct.bid(0)\n", "    s = '𝄞'; i = ct.bid(0)\n")
    rust = write_rust(path, text)
    session.open(path.as_uri(), text)
    place = at(text, "i = ct.bid(0)")
    before = text.split("\n")[place.line].partition("ct.bid")[0]
    expected = len(before.encode()) if encoding == "utf-8" else len(before.encode("utf-16-le")) // 2
    found = await python_of(session, path.with_suffix(".rs").as_uri(), line_of("twice", "program_id", rust))
    assert found is not None
    assert found[1].start == types.Position(place.line, expected)
    params = types.ImplementationParams(here(path), types.Position(at(text, "w = v").line, 4))
    (link,) = await timely(session.text_document_implementation_async(params)) or ()  # type: ignore[misc]
    assert isinstance(link, types.LocationLink)
    rust_line = rust.split("\n")[link.target_range.start.line]
    assert link.target_range.start.character == 8
    assert link.target_range.end.character == len(rust_line)


async def test_after_an_edit_no_line_leads_to_a_wrong_one(session: StrictClient, path: Path) -> None:
    await begin(session)
    rust = write_rust(path)
    uri = path.with_suffix(".rs").as_uri()
    session.open(path.as_uri(), TEXT)
    session.change(path.as_uri(), 1, edited := "# above\n" + TEXT.replace("v * 3.0", "v * 3.0 + 1.0"))
    ((target, number),) = await rust_of(session, path, at(edited, "tile=scaled(t)"))
    assert target.startswith("ferrotile-rs:/twice.rs?")  # the file has this kernel as it was
    assert "y.store" in (await content(session, target)).split("\n")[number]
    ((target, number),) = await rust_of(session, path, at(edited, "shape=(1, TN)"))
    assert (target, number) == (uri, line_of("rows", "load_row", rust))  # and that one as it is
    assert await python_of(session, uri, line_of("twice", "y.store", rust)) is None
    found = await python_of(session, uri, line_of("rows", "load_row", rust))
    assert found is not None and found[1].start == at(edited, "ct.load(x, index=(i, j)")
    session.change(path.as_uri(), 2, TEXT)
    found = await python_of(session, uri, line_of("twice", "y.store", rust))
    assert found is not None and found[1].start == at(TEXT, "ct.store(y, index=(i,), tile=scaled")


async def test_a_preview_that_is_not_refreshed_yet(session: StrictClient, path: Path) -> None:
    await begin(session)
    session.open(path.as_uri(), TEXT)
    ((target, _),) = await rust_of(session, path, at(TEXT, "def twice"))
    rust = await content(session, target)
    store = line_of("twice", "y.store", rust)
    session.change(path.as_uri(), 1, TEXT.replace("i = ct.bid(0)", "i = 0 + ct.bid(0) * 2"))
    assert await python_of(session, target, store) is None
    await content(session, target)
    assert await python_of(session, target, line_of("twice", "store", await content(session, target)))


async def test_a_refused_kernel_has_no_rust_but_reasons(session: StrictClient, path: Path) -> None:
    await begin(session)
    session.open(path.as_uri(), TEXT)
    assert await rust_of(session, path, at(TEXT, "def refused", "refused")) == []
    asked = {"uri": path.as_uri(), "kernel": "refused"}
    preview = str((await session.custom("ferrotile/previewUri", asked)).uri)  # type: ignore[attr-defined]
    assert (await content(session, preview)).startswith("// Not translated:")
    found = await python_of(session, preview, 1)
    assert found is not None and found[1].start == at(TEXT, "ct.no_such_operation")
    assert await python_of(session, preview, 0) is None


async def test_an_untrusted_workspace_has_the_ways_too(session: StrictClient, path: Path) -> None:
    await begin(session, options={"workspaceTrusted": False})
    ran = path.with_name("ran")
    text = f"open({str(ran)!r}, 'w').close()\n{TEXT}"
    rust = write_rust(path, text)
    session.open(path.as_uri(), text)
    ((_, number),) = await rust_of(session, path, at(text, "tile=scaled(t)"))
    assert number == line_of("twice", "y.store", rust)
    assert await python_of(session, path.with_suffix(".rs").as_uri(), number)
    assert not ran.exists()


async def test_what_ferrotile_did_not_write_is_left_alone(session: StrictClient, path: Path) -> None:
    await begin(session, "neovim")
    target = path.with_suffix(".rs")
    rust = write_rust(path)
    session.open(path.as_uri(), TEXT)
    place, line = at(TEXT, "def twice", "twice"), head_of("twice", rust)
    assert await rust_of(session, path, place) == [(target.as_uri(), line)]
    target.write_text(rust.replace("\n", "\r\n"), newline="")
    assert await rust_of(session, path, place) == [(target.as_uri(), line)]
    target.write_text(rust.partition("\n")[2])
    assert await rust_of(session, path, place) == []
    assert await python_of(session, target.as_uri(), line - 1) is None
    target.unlink()
    assert await rust_of(session, path, place) == []
    target.symlink_to(path)
    assert await rust_of(session, path, place) == []
    target.unlink()
    os.mkfifo(target)  # reading it would wait for ever
    assert await rust_of(session, path, place) == []
    assert await python_of(session, target.as_uri(), line) is None


def registered(client: StrictClient) -> list[object]:
    """The selectors of all registrations."""
    found: list[object] = []
    for message in client.requests:
        params = message.get("params")
        if message["method"] == types.CLIENT_REGISTER_CAPABILITY and isinstance(params, dict):
            assert [r["method"] for r in params["registrations"]] == [types.TEXT_DOCUMENT_DEFINITION]
            found += [s for r in params["registrations"] for s in r["registerOptions"]["documentSelector"]]
    return found


async def until(client: StrictClient, count: int) -> list[object]:
    async with asyncio.timeout(20):
        while len(registered(client)) < count:
            await asyncio.sleep(0.02)
    return registered(client)


async def test_definition_is_registered_for_generated_documents_alone(session: StrictClient, path: Path) -> None:
    await begin(session)
    preview = {"scheme": "ferrotile-rs"}
    assert await until(session, 1) == [preview]
    other, plain = path.with_name("hand.py"), path.with_name("plain.py")
    other.with_suffix(".rs").write_text("fn mine() {}\n")
    session.open(other.as_uri(), TEXT)
    session.open(plain.as_uri(), "x = 1\n")
    session.open(path.with_name("a[b].py").as_uri(), TEXT)
    await rust_of(session, other, at(TEXT, "def twice"))
    session.open(path.as_uri(), TEXT)
    file = {"pattern": path.with_suffix(".rs").as_posix(), "scheme": "file"}
    assert await until(session, 2) == [preview, file]
    session.text_document_did_close(types.DidCloseTextDocumentParams(here(path)))
    await session.asked(types.CLIENT_UNREGISTER_CAPABILITY)
    assert registered(session) == [preview, file]


async def test_editors_are_offered_what_they_can_take(session: StrictClient, path: Path) -> None:
    result = await session.begin("minimal")
    assert result.capabilities.definition_provider is None
    assert result.capabilities.implementation_provider is None
    session.open(path.as_uri(), TEXT)
    write_rust(path)
    params = types.ImplementationParams(here(path), at(TEXT, "def rows"))
    found = await timely(session.text_document_implementation_async(params))
    assert isinstance(found, list | tuple)
    assert [type(place) for place in found] == [types.Location]
    assert registered(session) == []


@pytest.mark.parametrize("uri", ["file://[/k.py", "untitled:k.py", "file:///w/%00.py", "k.py", ""])
async def test_documents_that_are_no_files(session: StrictClient, path: Path, uri: str) -> None:
    await begin(session)
    session.open(uri, TEXT)
    session.open(path.as_uri(), TEXT)
    rust = write_rust(path)
    place = types.ImplementationParams(types.TextDocumentIdentifier(uri), at(TEXT, "def twice"))
    (link,) = await timely(session.text_document_implementation_async(place)) or ()  # type: ignore[misc]
    assert isinstance(link, types.LocationLink) and link.target_uri.startswith("ferrotile-rs:/twice.rs?")
    back = await python_of(session, path.with_suffix(".rs").as_uri(), line_of("twice", "y.store", rust))
    assert back is not None and back[0] == path.as_uri()
    assert await python_of(session, "file:///w/%00.rs", 1) is None


async def test_a_document_of_no_preview_is_refused(session: StrictClient) -> None:
    await begin(session)
    params = types.DefinitionParams(types.TextDocumentIdentifier("ferrotile-rs:/x.rs?no"), types.Position(0, 0))
    assert (await refusal(session.text_document_definition_async(params)))[0] == -32602

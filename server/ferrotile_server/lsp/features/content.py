"""The preview: a read-only document of generated Rust, over LSP 3.18 `workspace/textDocumentContent`.

`ferrotile-rs:/<name>.rs?<query>` where the query is `uri=<source URI>[&kernel=<name>]`, percent-encoded."""

from __future__ import annotations

import shutil
import tempfile
from hashlib import blake2b
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from ferrotile.diagnostics.model import Diagnostic, Severity
from lsprotocol import types

from ferrotile_server.lsp.context import PREVIEW_SCHEME, Context, Snapshot
from ferrotile_server.lsp.documents import stem_of
from ferrotile_server.lsp.protocol import InvalidParams

NOTHING = "// Not translated:"
SYNTAX = "FT001"


def reasons(snapshot: Snapshot, kernel: str | None) -> tuple[Diagnostic, ...]:
    """Why there is no Rust of a kernel, or of the file: what is an error, in the order of the source."""
    errors = tuple(d for d in snapshot.diagnostics if d.severity is Severity.ERROR)
    own = {d for k in snapshot.analysis.named(kernel or "") for d in k.diagnostics}
    return tuple(d for d in errors if d in own) or errors or snapshot.diagnostics


class Previews:
    """Which previews the editor has asked for, so that an edit refreshes them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._asked: dict[str, set[str]] = {}
        self._shown: dict[tuple[str, str | None], str] = {}
        self._folder: Path | None = None
        self._files: dict[str, dict[str | None, str]] = {}
        self._kept: dict[str, str] = {}

    async def content(self, params: types.TextDocumentContentParams) -> types.TextDocumentContentResult:
        """The text of a preview; says what is the matter where there is none."""
        if (kept := self._kept.get(_bare(params.uri))) is not None:
            return types.TextDocumentContentResult(kept)
        uri, kernel = source_of(params.uri)
        self._asked.setdefault(uri, set()).add(params.uri)
        snapshot = await self._context.snapshot(uri)
        if snapshot is None:
            return types.TextDocumentContentResult("// The Python file is not open.\n")
        text = self._shown[uri, kernel] = self.text(snapshot, kernel)
        return types.TextDocumentContentResult(text)

    def shown(self, uri: str, kernel: str | None) -> str | None:
        """What the editor was last given for a preview."""
        return self._shown.get((uri, kernel))

    def text(self, snapshot: Snapshot, kernel: str | None) -> str:
        """The Rust, or the reasons for its absence as comments."""
        names = (kernel,) if kernel else ()
        rust = self._context.application.rust_file(snapshot.analysis, snapshot.file.stem, names)
        if rust is not None:
            return rust
        lines = [NOTHING]
        for found in reasons(snapshot, kernel):
            line = snapshot.line_of(found.span.start)
            lines.append(f"// line {line}: {found.code} {' '.join(found.message.split())}")
        return "\n".join(lines) + "\n"

    def refresh(self, uri: str) -> None:
        """The source changed: its previews have other content."""
        if not self._context.client.refreshes_content:
            if uri in self._files:
                self._context.spawn(self._rewrite(uri))
            return
        if self._asked.get(uri):
            self._context.spawn(self._refresh(uri))

    async def _refresh(self, uri: str) -> None:
        """Ask the editor to read the previews whose text is another now. One whose kernel does not parse at the moment
        stays as it is: that is mostly a kernel being typed."""
        snapshot = await self._context.snapshot(uri)
        if snapshot is None:
            return
        for preview in tuple(self._asked.get(uri, ())):
            kernel = source_of(preview)[1]
            typing = kernel is not None and not snapshot.analysis.named(kernel) and is_broken(snapshot)
            if not typing and self.text(snapshot, kernel) != self._shown.get((uri, kernel)):
                request = types.TextDocumentContentRefreshParams(uri=preview)
                await self._context.ask(self._context.server.workspace_text_document_content_refresh_async(request))

    def forget(self, uri: str) -> None:
        """The source was closed."""
        self._asked.pop(uri, None)
        self._files.pop(uri, None)
        for key in [k for k in self._shown if k[0] == uri]:
            del self._shown[key]

    async def show(self, uri: str, kernel: str | None) -> str:
        """Open a preview in the editor, as a temporary file where it knows no virtual documents; gives its
        URI."""
        snapshot = await self._context.snapshot(uri)
        if snapshot is None:
            raise InvalidParams("The document is not open.")
        client = self._context.client
        target = preview_uri(uri, kernel)
        if not client.text_document_content:
            target = self._write(snapshot, kernel).as_uri()
        if client.shows_documents:
            params = types.ShowDocumentParams(uri=target, take_focus=False)
            await self._context.ask(self._context.server.window_show_document_async(params))
        return target

    def keep(self, name: str, text: str) -> str:
        """A read-only document of its own, that follows nothing, as `name`.rs; gives its URI."""
        number = len(self._kept)
        uri = f"{PREVIEW_SCHEME}:/kept-{number}/{quote(name, safe='')}.rs"
        self._kept[_bare(uri)] = text
        if self._context.client.text_document_content:
            return uri
        path = self._own_folder() / f"kept-{number}" / f"{_safe(name)}.rs"
        _write_read_only(path, text)
        return path.as_uri()

    async def _rewrite(self, uri: str) -> None:
        """The files follow the Python, for editors that load again what has changed on the disk."""
        snapshot = await self._context.snapshot(uri)
        if snapshot is not None:
            for kernel in tuple(self._files.get(uri, ())):
                self._write(snapshot, kernel)

    def _write(self, snapshot: Snapshot, kernel: str | None) -> Path:
        uri = snapshot.file.uri
        folder = self._own_folder() / blake2b(uri.encode("utf-8", "replace"), digest_size=6).hexdigest()
        path = folder / f"{_safe(kernel or snapshot.file.stem)}.rs"
        text, written = self.text(snapshot, kernel), self._files.setdefault(uri, {})
        if written.get(kernel) != text or not path.exists():
            _write_read_only(path, text)
            written[kernel] = text
        return path

    def _own_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="ferrotile-"))
        return self._folder

    def clean(self) -> None:
        """Remove the temporary files of this session."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _safe(name: str) -> str:
    """A name of a file."""
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in name)[:80]


def _bare(uri: str) -> str:
    """VS Code adds an empty query or escapes more than it was given."""
    return unquote(uri).partition("?")[0]


def _write_read_only(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8", newline="\n")
    new.chmod(0o400)
    new.replace(path)


def is_broken(snapshot: Snapshot) -> bool:
    """Whether a part of the document does not parse."""
    return any(found.code == SYNTAX for found in snapshot.diagnostics)


def preview_uri(uri: str, kernel: str | None) -> str:
    """The preview's own URI; its path is the title of the editor's tab."""
    query = {"uri": uri} | ({"kernel": kernel} if kernel else {})
    return f"{PREVIEW_SCHEME}:/{quote(kernel or stem_of(uri), safe='')}.rs?{urlencode(query, quote_via=quote)}"


def source_of(preview: str) -> tuple[str, str | None]:
    """The source and the kernel of a preview. Raises `InvalidParams`. VS Code decodes a query and escapes
    it anew."""
    parts = urlsplit(preview)
    if parts.scheme == PREVIEW_SCHEME and parts.query.startswith("uri="):
        query = parse_qs(parts.query)
        if "uri" in query:
            return query["uri"][0], query.get("kernel", [None])[0]
    if parts.scheme == PREVIEW_SCHEME and parts.query.startswith("uri%3D"):
        uri, _, kernel = unquote(parts.query).removeprefix("uri=").partition("&kernel=")
        return uri, kernel or None
    raise InvalidParams("This is not a preview of ferrotile.")


def register(context: Context) -> Previews:
    """Offer preview documents."""
    previews = Previews(context)

    async def content(params: types.TextDocumentContentParams) -> types.TextDocumentContentResult:
        return await previews.content(params)

    context.server.feature(types.WORKSPACE_TEXT_DOCUMENT_CONTENT)(content)
    return previews

"""What the features share: the session's state, and the way to an analysed snapshot."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor

from ferrotile.diagnostics.model import Diagnostic
from ferrotile.syntax.document import Document
from ferrotile.syntax.positions import Encoding
from ferrotile.syntax.span import Span
from ferrotile.translation import Options
from lsprotocol import types
from msgspec import Struct
from pygls.lsp.server import LanguageServer

from ferrotile_server.application import Analysis, Application
from ferrotile_server.lsp import convert
from ferrotile_server.lsp.documents import Documents, OpenDocument
from ferrotile_server.lsp.progress import ProgressTokens
from ferrotile_server.lsp.session import Client, Settings
from ferrotile_server.lsp.surroundings import Listing, Surroundings
from ferrotile_server.lsp.trust import Executor, refuse

PREVIEW_SCHEME = "ferrotile-rs"


class Snapshot(Struct, frozen=True):
    """One version of an open document, analysed."""

    file: OpenDocument
    analysis: Analysis
    client: Client

    def range_of(self, span: Span) -> types.Range:
        """A span as the editor counts."""
        return convert.range_of(self.file, span, self.client.encoding)

    def offset_of(self, position: types.Position) -> int:
        """A position of the editor as a byte offset."""
        return self.file.offset(position.line, position.character, self.client.encoding)

    def position_of(self, offset: int) -> types.Position:
        """A byte offset as the editor counts."""
        return types.Position(*self.file.position(offset, self.client.encoding))

    def line_of(self, offset: int) -> int:
        """The line of a byte offset as people count, from 1."""
        return self.file.position(offset, Encoding.UTF8)[0] + 1

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the translator says of this document; of a notebook's cell, of the cell."""
        return tuple(d for d in self.analysis.diagnostics if self.file.holds(d.span))

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """Each kernel of this document once, in the order of the source."""
        return tuple(n for n in self.analysis.kernel_names if self.file.holds(self.analysis.named(n)[0].name_span))


class Context:
    """The state of one session; only the event loop's thread touches it."""

    def __init__(self, server: LanguageServer, application: Application) -> None:
        self.server = server
        self.application = application
        self.documents = Documents()
        self.rust = Documents()
        """Open Rust files: no feature but `rust_ports` knows them."""
        self.rust_lenses: Callable[[str], list[types.CodeLens] | None] = lambda _: None
        """Set by `rust_ports`: the lenses of a Rust file, None for any other."""
        self.client = Client()
        self.settings = Settings()
        self.folder_settings: dict[str, Settings] = {}
        """By URI of a workspace folder; empty where the editor tells none apart."""
        self.executor: Executor = refuse
        self.trusted = False
        self.progress = ProgressTokens()
        self.refresh: Callable[[str, bool], None] = lambda _, __: None
        """Set by the push feature: show again what is known of a file, at once or when typing pauses."""
        self.refresh_marks: Callable[[], None] = lambda: None
        """Set by the push feature: have lenses and hints asked for again, at once."""
        self.tell: Callable[[str, convert.Plain], None] = lambda _, __: None
        """Set by the server: send a notification."""
        self.is_running: Callable[[str, str], bool] = lambda _, __: False
        """Set by verification: whether a kernel of a file is being verified, or waits for it."""
        self.rounds = 0
        """How often something that may concern every file has changed."""
        self.surroundings = Surroundings(application, self._late)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool = ThreadPoolExecutor(1, "ferrotile-analysis")
        self.searches = ThreadPoolExecutor(1, "ferrotile-kernels")
        self._analyses: dict[str, tuple[Document, Options, asyncio.Future[Analysis]]] = {}
        self._background: set[asyncio.Task[None]] = set()

    async def snapshot(self, uri: str) -> Snapshot | None:
        """The newest version of an open document, analysed once; None where it is not open."""
        file = self.documents.get(uri)
        if file is None:
            return None
        options = self.settings_of(file.whole).options
        known = self._analyses.get(file.whole)
        if known is None or known[0] is not file.document or known[1] != options or known[2].cancelled():
            loop = asyncio.get_running_loop()
            self._loop = loop
            listing = self.surroundings.listing(file.document, file.whole)
            if listing is None or not listing.patience:
                future = self._analyse(file)
            else:
                future = loop.create_task(self._analyse_after(file, listing))
            known = (file.document, options, future)
            self._analyses[file.whole] = known
        return Snapshot(file, await asyncio.shield(known[2]), self.client)

    async def closed(self, file: OpenDocument) -> Snapshot:
        """A file that is not open, analysed; nothing of it is kept."""
        listing = self.surroundings.listing(file.document, file.uri)
        if listing is not None and listing.patience:
            await asyncio.wait([asyncio.wrap_future(listing.found)], timeout=listing.patience)
        analysis = await self._analyse(file)
        if self.documents.get(file.uri) is None:
            self.surroundings.forget(file.uri)
            self.application.release(file.uri)
        return Snapshot(file, analysis, self.client)

    def settings_of(self, uri: str) -> Settings:
        """Those of the innermost workspace folder that has its own, else those of all."""
        if not self.folder_settings:
            return self.settings
        inside = [folder for folder in self.folder_settings if uri.startswith(folder.rstrip("/") + "/")]
        return self.folder_settings[max(inside, key=len)] if inside else self.settings

    def _analyse(self, file: OpenDocument) -> asyncio.Future[Analysis]:
        buffers = {f.uri: f.document for f in self.documents}
        loop = asyncio.get_running_loop()
        options = self.settings_of(file.whole).options
        return loop.run_in_executor(self._pool, self.surroundings.analyse, file.document, file.whole, buffers, options)

    async def _analyse_after(self, file: OpenDocument, listing: Listing) -> Analysis:
        """Wait for the files around, here and not in the pool's one thread: other documents are served meanwhile."""
        await asyncio.wait([asyncio.wrap_future(listing.found)], timeout=listing.patience)
        return await self._analyse(file)

    def _late(self, uri: str) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.renew, (uri,))

    def threadsafe(self, call: Callable[[], None]) -> Callable[[], None]:
        """`call`, for another thread to have done on the event loop."""
        loop = asyncio.get_running_loop()

        def later() -> None:
            with contextlib.suppress(RuntimeError):  # the loop may have ended
                loop.call_soon_threadsafe(call)

        return later

    def renew(self, uris: Iterable[str] | None = None, at_once: bool = True) -> None:
        """Other files changed: analyse these open documents anew, without `uris` all of them."""
        self.rounds += uris is None
        for uri in [f.uri for f in self.documents] if uris is None else tuple(uris):
            file = self.documents.get(uri)
            if file is not None:
                self._analyses.pop(file.whole, None)
                self.refresh(uri, at_once)

    def renew_dependents(self, uri: str) -> None:
        """The text of `uri` changed, or it was closed: analyse what may depend on it anew."""
        file = self.documents.get(uri)
        opened = [f.uri for f in self.documents]
        self.renew(self.surroundings.dependents(uri, None if file is None else file.document, opened), at_once=False)

    def close(self, uri: str) -> None:
        """Forget a closed document."""
        self.documents.close(uri)
        self.drop(uri)

    def drop(self, uri: str) -> None:
        """Forget what is known of a document, or of a notebook as a whole."""
        self.surroundings.forget(uri)
        self._analyses.pop(uri, None)
        self.application.forget(uri)

    def spawn(self, work: Coroutine[object, object, None]) -> None:
        """Run something in the background; its faults are logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def granted(self, request: Awaitable[object]) -> bool:
        """Whether the editor grants a request, within 10 s."""
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(request)), 10)
        except Exception:
            return False
        return True

    async def ask(self, request: Awaitable[object]) -> object | None:
        """A request to the editor; None where it refuses, fails or is silent for 10 s."""
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(request)), 10)
        except Exception:
            return None

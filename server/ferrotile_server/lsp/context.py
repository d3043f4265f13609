"""What the features share: the session's state, and the way to an analysed snapshot."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor

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
from ferrotile_server.lsp.surroundings import Surroundings
from ferrotile_server.lsp.trust import Executor, refuse

PREVIEW_SCHEME = "ferrotile-rs"


class Snapshot(Struct, frozen=True):
    """One version of an open document, analysed."""

    file: OpenDocument
    analysis: Analysis
    client: Client

    def range_of(self, span: Span) -> types.Range:
        """A span as the editor counts."""
        return convert.range_of(self.file.document, span, self.client.encoding)

    def offset_of(self, position: types.Position) -> int:
        """A position of the editor as a byte offset."""
        return convert.offset_of(self.file.document, position, self.client.encoding)


class Context:
    """The state of one session; only the event loop's thread touches it."""

    def __init__(self, server: LanguageServer, application: Application) -> None:
        self.server = server
        self.application = application
        self.documents = Documents()
        self.client = Client()
        self.settings = Settings()
        self.executor: Executor = refuse
        self.trusted = False
        self.progress = ProgressTokens()
        self.refresh: Callable[[str], None] = lambda _: None
        """Set by the push feature: show again what is known of a file."""
        self.surroundings = Surroundings(application, self._late)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool = ThreadPoolExecutor(1, "ferrotile-analysis")
        self._analyses: dict[str, tuple[OpenDocument, Options, asyncio.Future[Analysis]]] = {}
        self._background: set[asyncio.Task[None]] = set()

    async def snapshot(self, uri: str) -> Snapshot | None:
        """The newest version of an open document, analysed once; None where it is not open."""
        file = self.documents.get(uri)
        if file is None:
            return None
        options = self.application.options
        known = self._analyses.get(uri)
        if known is None or known[0] is not file or known[1] != options or known[2].cancelled():
            loop = asyncio.get_running_loop()
            self._loop = loop
            buffers = {f.uri: f.document for f in self.documents}
            future = loop.run_in_executor(self._pool, self.surroundings.analyse, file.document, uri, buffers)
            known = (file, options, future)
            self._analyses[uri] = known
        return Snapshot(file, await asyncio.shield(known[2]), self.client)

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

    def renew(self, uris: Iterable[str] | None = None) -> None:
        """Other files changed: analyse these open documents anew, without `uris` all of them."""
        for uri in [f.uri for f in self.documents] if uris is None else tuple(uris):
            if self.documents.get(uri) is not None:
                self._analyses.pop(uri, None)
                self.refresh(uri)

    def renew_dependents(self, uri: str) -> None:
        """The text of `uri` changed, or it was closed: analyse what may depend on it anew."""
        file = self.documents.get(uri)
        opened = [f.uri for f in self.documents]
        self.renew(self.surroundings.dependents(uri, None if file is None else file.document, opened))

    def close(self, uri: str) -> None:
        """Forget a closed document."""
        self.surroundings.forget(uri)
        self.documents.close(uri)
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

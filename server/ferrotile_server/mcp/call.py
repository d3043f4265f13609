"""One call of a tool: what it may ask the client, and how it works without blocking the others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from threading import Event
from typing import TypeVar

import mcp_types as types
from ferrotile_runner.report import Json
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from ferrotile_server.application import Application
from ferrotile_server.mcp.answers import InputNeeded, Problem
from ferrotile_server.mcp.folders import Folders, path_of_uri

T = TypeVar("T")
Report = Callable[[str, int], None]
"""Says what is done now, and that so many steps of it are over. May be called in any thread."""
Work = Callable[[Report, Event], T]
"""What a tool does in a thread: it tells how far it is, and ends soon after the event is set."""
Context = ServerRequestContext[Mapping[str, Json]]

ROOTS_SECONDS = 60.0
"""So long the client's list of folders is believed, unless it says that it has changed."""


class Roots:
    """The folders that the client works in, as it said last."""

    def __init__(self) -> None:
        self._known: tuple[float, Folders] | None = None

    def forget(self) -> None:
        """The client said that they have changed."""
        self._known = None

    @property
    def known(self) -> Folders | None:
        if self._known is None or time.monotonic() - self._known[0] > ROOTS_SECONDS:
            return None
        return self._known[1]

    def learn(self, result: types.ListRootsResult) -> Folders:
        paths = [path_of_uri(str(root.uri)) for root in result.roots]
        found = Folders.of([path for path in paths if path is not None])
        self._known = (time.monotonic(), found)
        return found


class Call:
    """A call under way. `quick` runs what is static, `slow` what compiles: that waits for its turn."""

    def __init__(
        self,
        application: Application,
        context: Context,
        responses: Mapping[str, types.InputResponse],
        given: Folders,
        trusted: Folders,
        roots: Roots,
        quick: Executor,
        slow: Executor,
    ) -> None:
        self.application = application
        self._context = context
        self._responses = responses
        self._given = given
        self._trusted = trusted
        self._roots = roots
        self._quick = quick
        self._slow = slow

    @property
    def _capabilities(self) -> types.ClientCapabilities | None:
        return self._context.session.client_capabilities

    @property
    def can_elicit(self) -> bool:
        """Whether the client can put a question to its user."""
        found = None if self._capabilities is None else self._capabilities.elicitation
        return found is not None and (found.form is not None or found.url is None)

    async def folders(self) -> Folders:
        """Where files may be read: the folders that the server was started with; without any, those of the client;
        without these, those whose code may run, or else the working directory."""
        if self._given.roots:
            own = self._given
        elif self._capabilities is not None and self._capabilities.roots is not None:
            own = await self._client_roots()
        elif self._trusted.roots:
            own = self._trusted
        else:
            own = _working_directory()
        return Folders.of((*own.roots, *self._trusted.roots))

    async def _client_roots(self) -> Folders:
        known = self._roots.known
        if known is not None:
            return known
        result = await self.ask("roots", types.ListRootsRequest())
        if not isinstance(result, types.ListRootsResult):
            raise Problem("The client does not say which folders it works in. Start `ferrotile mcp FOLDER`.")
        return self._roots.learn(result)

    async def ask(self, key: str, request: types.ElicitRequest | types.ListRootsRequest) -> types.InputResponse:
        """The client's answer. Up to 2025-11-25 a request of the server's own; later the call ends with `InputNeeded`
        and comes again with the answer. Raises `Problem` where the client refuses."""
        if self._context.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            answer = self._responses.get(key)
            if answer is None:
                raise InputNeeded({key: request})
            return answer
        try:
            if isinstance(request, types.ListRootsRequest):
                return await self._context.session.send_request(request, types.ListRootsResult)
            return await self._context.session.send_request(request, types.ElicitResult)
        except MCPError as error:
            raise Problem(f"The client did not answer `{request.method}`: {error}.") from None

    async def compute(self, work: Work[T]) -> T:
        """Static work, in a thread."""
        return await self._run(self._quick, work, None)

    async def execute(self, work: Work[T], steps: int) -> T:
        """Work that compiles or runs code, `steps` steps of it: one call's after another's. Needs consent."""
        return await self._run(self._slow, work, steps)

    async def _run(self, executor: Executor, work: Work[T], steps: int | None) -> T:
        cancel = Event()
        loop = asyncio.get_running_loop()
        said: asyncio.Queue[tuple[str, int] | None] = asyncio.Queue()

        def report(message: str, done: int) -> None:
            loop.call_soon_threadsafe(said.put_nowait, (message, done))

        def begin() -> T:
            if cancel.is_set():
                raise asyncio.CancelledError
            return work(report, cancel)

        telling = loop.create_task(self._tell(said, steps))
        try:
            result = await asyncio.wrap_future(executor.submit(begin))
        except BaseException:
            cancel.set()  # the call may have been cancelled: what runs for it is killed
            telling.cancel()
            raise
        said.put_nowait(None)
        await telling
        return result

    async def _tell(self, said: asyncio.Queue[tuple[str, int] | None], steps: int | None) -> None:
        """Progress must grow with every message."""
        shown = 0.0
        while (item := await said.get()) is not None:
            message, done = item
            shown = max(float(done), shown + 0.001)
            await self._context.session.report_progress(shown, None if steps is None else float(steps), message)


def _working_directory() -> Folders:
    """Raises `Problem` for a place that is nobody's project."""
    here = Path.cwd().resolve()
    if here.parent == here or here == Path.home().resolve():
        raise Problem(
            f"The client names no folder, and the server runs in {here}, which is too much to read. Start it as "
            "`ferrotile mcp FOLDER`, with the folder of the kernels."
        )
    return Folders((here,))

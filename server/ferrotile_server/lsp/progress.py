"""Work-done progress, under the token of the request or one that the server makes. Its own are text, since Zed takes no
numbers. Nothing is sent where the editor refused the token, and `end` is always sent where it did not."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from threading import Event

from lsprotocol import types
from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)

CREATE_S = 5.0


class ProgressTokens:
    """The running works and their cancel flags."""

    def __init__(self) -> None:
        self._cancels: dict[str, Event] = {}

    def cancel(self, token: str | int) -> None:
        """The user pressed cancel; an unknown token is a work that has ended."""
        flag = self._cancels.get(str(token))
        if flag is not None:
            flag.set()

    def cancel_all(self) -> None:
        """The server is about to end."""
        for flag in self._cancels.values():
            flag.set()

    @asynccontextmanager
    async def work(
        self, server: LanguageServer, supported: bool, title: str, cancel: Event, given: str | int | None = None
    ) -> AsyncIterator[Callable[[str], None]]:
        """Show a work; gives a function, callable from any thread, that says what is being done. `given`: the token
        of the request."""
        token = str(uuid.uuid4()) if given is None else given
        self._cancels[str(token)] = cancel
        loop = asyncio.get_running_loop()
        shown = given is not None or (supported and await _create(server, str(token)))
        try:
            if shown:
                begin = types.WorkDoneProgressBegin(title=title, cancellable=True)
                server.progress(types.ProgressParams(token, begin))

            def tell(text: str) -> None:
                if str(token) in self._cancels:  # a cancelled work may go on for a moment
                    report = types.WorkDoneProgressReport(message=text, cancellable=True)
                    server.progress(types.ProgressParams(token, report))

            def say(text: str) -> None:
                if shown and not loop.is_closed():
                    loop.call_soon_threadsafe(tell, text)

            yield say
        finally:
            self._cancels.pop(str(token), None)
            if shown:
                server.progress(types.ProgressParams(token, types.WorkDoneProgressEnd()))


async def _create(server: LanguageServer, token: str) -> bool:
    # Shielded: an answer to a wait that was cancelled raises inside pygls 2.1.1.
    request = server.window_work_done_progress_create_async(types.WorkDoneProgressCreateParams(token))
    try:
        await asyncio.wait_for(asyncio.shield(request), CREATE_S)
    except Exception:
        logger.warning("the editor gave no progress token")
        return False
    return True

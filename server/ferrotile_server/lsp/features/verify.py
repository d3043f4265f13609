"""`ferrotile/verify`: climb the ladder for the kernels of a file, with progress and cancel.

Parameters `{"uri", "kernel"?, "rungs"?, "workDoneToken"?, "partialResultToken"?}`, result as in verify_result.py; with
a `partialResultToken` each kernel is sent once as soon as it is known, and the result has none. Refused with -32803
where the workspace is not trusted. A custom request, since the cancellation of a command does not stop it in pygls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from lsprotocol import types
from msgspec import Struct
from pygls.exceptions import JsonRpcException

from ferrotile_server.application import Progress
from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.features.verify_result import plain
from ferrotile_server.lsp.protocol import InvalidParams, Json
from ferrotile_server.lsp.trust import REFUSAL, NotTrusted
from ferrotile_server.verdicts import DEFAULT_RUNGS, RUNGS, Verdict

if TYPE_CHECKING:
    from ferrotile_runner.report import KernelReport

logger = logging.getLogger(__name__)

T = TypeVar("T")

METHOD = "ferrotile/verify"
REQUEST_FAILED = -32803
_POLL_S = 0.05


class VerifyParams(Struct, frozen=True):
    """What to verify: no kernel means all of the file."""

    uri: str
    kernel: str | None = None
    rungs: tuple[str, ...] = DEFAULT_RUNGS
    work_done: str | int | None = None
    partial: str | int | None = None
    verb: str = "Verify"


class RequestFailed(JsonRpcException):
    """The request is well-formed and cannot be done now."""

    CODE = REQUEST_FAILED


def parse(params: object) -> VerifyParams:
    """Check the parameters. Raises `InvalidParams`."""
    if not isinstance(params, dict):
        raise InvalidParams("ferrotile/verify takes an object.")
    uri, kernel, rungs = params.get("uri"), params.get("kernel"), params.get("rungs")
    if not isinstance(uri, str):
        raise InvalidParams("`uri` must be text.")
    if kernel is not None and not isinstance(kernel, str):
        raise InvalidParams("`kernel` must be text.")
    work_done, partial = (_token(params, key) for key in ("workDoneToken", "partialResultToken"))
    if rungs is None:
        return VerifyParams(uri, kernel, DEFAULT_RUNGS, work_done, partial)
    if not isinstance(rungs, list) or not all(isinstance(r, str) and r in RUNGS for r in rungs):
        raise InvalidParams(f"`rungs` must be a list out of {', '.join(RUNGS)}.")
    return VerifyParams(uri, kernel, tuple(r for r in RUNGS if r in rungs), work_done, partial)


def _token(params: dict[str, object], key: str) -> str | int | None:
    token = params.get(key)
    if token is None or (isinstance(token, str | int) and not isinstance(token, bool)):
        return token
    raise InvalidParams(f"`{key}` must be text or a whole number.")


class Works:
    """Which kernels are being verified or wait for it, with what cancels that."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._running: list[tuple[str, frozenset[str], Event]] = []

    def is_running(self, uri: str, kernel: str) -> bool:
        return any(u == uri and kernel in names for u, names, _ in self._running)

    def cancel(self, uri: str | None, kernel: str | None) -> bool:
        """Cancel what runs for a kernel, for a file, or at all; whether there was something."""
        found = [flag for u, names, flag in self._running if uri in (None, u) and (kernel is None or kernel in names)]
        for flag in found:
            flag.set()
        return bool(found)

    @contextmanager
    def running(self, uri: str, names: tuple[str, ...], cancel: Event) -> Iterator[None]:
        """While these kernels have work under way; lenses say so."""
        entry = (uri, frozenset(names), cancel)
        self._running.append(entry)
        self._context.refresh_marks()
        try:
            yield
        finally:
            self._running.remove(entry)
            self._context.refresh_marks()


class Verification:
    """Runs one verification at a time, in a thread of its own that outlives each run."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._turn = asyncio.Lock()
        self._pool = ThreadPoolExecutor(1, "ferrotile-verify")
        self.works = Works(context)
        context.is_running = self.works.is_running

    def require_trust(self) -> None:
        """Raises where the workspace is not trusted."""
        if not self._context.trusted:
            raise RequestFailed(REFUSAL)

    async def run(self, wanted: VerifyParams) -> list[dict[str, object]]:
        """Verify and show the verdicts; gives those that were not sent as partial results. Raises an error with a
        message for the user, or is cancelled."""
        context = self._context
        self.require_trust()
        snapshot = await context.snapshot(wanted.uri)
        if snapshot is None:
            raise InvalidParams("The document is not open.")
        names = snapshot.kernel_names
        if wanted.kernel is not None:
            if wanted.kernel not in names:
                raise InvalidParams(f"There is no kernel `{wanted.kernel}`.")
            names = (wanted.kernel,)
        cancel = Event()
        title = f"{wanted.verb} {wanted.kernel or snapshot.file.stem}"
        shown = context.client.progress
        async with context.progress.work(context.server, shown, title, cancel, wanted.work_done) as say:
            return await self.climb(snapshot, names, wanted, say, cancel)

    async def climb(
        self, snapshot: Snapshot, names: tuple[str, ...], wanted: VerifyParams, say: Progress, cancel: Event
    ) -> list[dict[str, object]]:
        """Climb with kernels of an analysed snapshot once it is their turn."""
        with self.works.running(snapshot.file.uri, names, cancel):
            if self._turn.locked():
                say("queued")
                await self._until_turn(cancel)
            async with self._turn:
                return await self._climb(snapshot, names, wanted, say, cancel)

    async def exclusively(self, work: Callable[[], T], cancel: Event) -> T:
        """Run `work` in the worker thread once it is its turn."""
        if self._turn.locked():
            await self._until_turn(cancel)
        async with self._turn:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def _until_turn(self, cancel: Event) -> None:
        """Wait while another runs; what was cancelled meanwhile needs no turn."""
        while self._turn.locked():
            if cancel.is_set():
                raise asyncio.CancelledError
            await asyncio.sleep(_POLL_S)

    async def _climb(
        self, snapshot: Snapshot, names: tuple[str, ...], wanted: VerifyParams, say: Progress, cancel: Event
    ) -> list[dict[str, object]]:
        """Climb in the worker thread; each kernel's verdict is shown as soon as all its entries have a report."""
        loop = asyncio.get_running_loop()
        execute = self._context.executor
        verdicts: dict[str, dict[str, object]] = {}

        def show(name: str, reports: list[KernelReport]) -> None:
            if not cancel.is_set():
                made = plain(snapshot, self._record(snapshot, name, reports))
                if wanted.partial is None:
                    verdicts[name] = made
                else:
                    params = types.ProgressParams(wanted.partial, {"kernels": [made]})
                    self._context.server.progress(params)

        def climb() -> None:
            reports: dict[str, list[KernelReport]] = {}
            for report in execute(snapshot.analysis, names, wanted.rungs, say, cancel):
                mine = reports.setdefault(report.name, [])
                mine.append(report)
                if len(mine) == len(snapshot.analysis.named(report.name)):
                    loop.call_soon_threadsafe(show, report.name, mine)

        work = loop.run_in_executor(self._pool, climb)
        try:
            while not work.done():
                await asyncio.wait([work], timeout=_POLL_S)
                if cancel.is_set():
                    raise asyncio.CancelledError
        except asyncio.CancelledError:
            cancel.set()
            work.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise
        try:
            work.result()
        except NotTrusted as error:
            raise RequestFailed(str(error)) from None
        except Exception as error:
            logger.exception("verification failed")
            raise RequestFailed(f"Verification could not run: {error}") from None
        return [verdicts[name] for name in names if name in verdicts]

    def _record(self, snapshot: Snapshot, name: str, reports: list[KernelReport]) -> Verdict:
        verdict = self._context.application.record(snapshot.file.uri, snapshot.analysis, name, reports)
        self._context.refresh(snapshot.file.uri, True)
        return verdict


def register(context: Context) -> Verification:
    """Offer `ferrotile/verify`."""
    verification = Verification(context)

    async def verify(params: Json) -> dict[str, object]:
        return {"kernels": await verification.run(parse(params))}

    context.server.feature(METHOD)(verify)

    async def cancel(params: types.WorkDoneProgressCancelParams) -> None:
        context.progress.cancel(params.token)

    context.server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)(cancel)
    return verification

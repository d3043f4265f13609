"""Rust files that name the Python that they are ports of (`candidate_comment.py` has the form): a lens at each such
comment, "Verify against the Python", and what the ladder says, at the lines of the Rust.

`ferrotile/verifyRust` with `{"uri", "line"?, "workDoneToken"?}`: `line`, from 0, is the comment's (default: the first
one). Result `{"uri", "kernels": [{"name", "entry", "accepted", "verdict", "rungs"}], "messages": [{"message", "range",
"code"}]}`. Refused with -32803 where the workspace is not trusted. Other Rust files have no lens and no diagnostic."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from ferrotile.syntax.document import Document
from lsprotocol import types
from msgspec import Struct
from pygls.exceptions import JsonRpcException

from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.documents import OpenDocument
from ferrotile_server.lsp.features import commands
from ferrotile_server.lsp.features.diagnostics_push import VERIFY_SOURCE
from ferrotile_server.lsp.features.rust_verdict import PortVerdict, judged, refused
from ferrotile_server.lsp.features.verdict_text import STALE
from ferrotile_server.lsp.features.verify import RequestFailed, Verification
from ferrotile_server.lsp.protocol import InvalidParams, Json
from ferrotile_server.lsp.surroundings import path_of
from ferrotile_server.verdicts import DEFAULT_RUNGS

if TYPE_CHECKING:
    from ferrotile.translation import KernelTranslation
    from ferrotile_runner.candidate_comment import PythonOf

    from ferrotile_server.lsp.context import Snapshot

logger = logging.getLogger(__name__)

METHOD = "ferrotile/verifyRust"
LARGEST = 5_000_000
POLL_S = 0.05


class Kept(Struct, frozen=True):
    """A verdict, and the texts that it is about; `python` is the URI of an open one."""

    text: str
    python: str
    python_text: str
    verdict: PortVerdict


class Ports:
    """The verdicts about the open Rust files, by the line of their comments."""

    def __init__(self, context: Context, verification: Verification) -> None:
        self._context, self._verification = context, verification
        self._kept: dict[str, dict[int, Kept]] = {}
        self._shown: set[str] = set()

    def lenses(self, uri: str) -> list[types.CodeLens] | None:
        """None for what is no Rust file."""
        file = self._context.rust.get(uri)
        if file is None:
            return None
        from ferrotile_runner.candidate_comment import pythons_of

        return [lens for one in pythons_of(file.document.text) for lens in self._at(file, one)]

    def _at(self, file: OpenDocument, one: PythonOf) -> list[types.CodeLens]:
        line = one.line - 1
        place = types.Range(types.Position(line, 0), types.Position(line, 0))
        client = self._context.client
        if self._context.is_running(file.uri, str(line)) and client.refreshes_lenses:
            return [
                types.CodeLens(
                    place, commands.cancel(file.uri, str(line), commands.icon(client.icons, "debug-stop") + "Cancel")
                )
            ]
        title = commands.icon(client.icons, "play") + "Verify against the Python"
        found = [types.CodeLens(place, commands.verify_rust(file.uri, line, title))]
        kept = self._kept.get(file.uri, {}).get(line)
        if kept is not None:
            mark = kept.verdict.mark if self._holds(file, kept) else STALE
            found.append(types.CodeLens(place, types.Command(title=mark, command="")))
        return found

    def _holds(self, file: OpenDocument, kept: Kept) -> bool:
        python = self._context.documents.get(kept.python)
        return kept.text == file.document.text and (python is None or python.document.text == kept.python_text)

    def changed(self, uri: str) -> None:
        """The text is another: what was found in the last one is shown no more."""
        self._publish(uri)
        if self._kept.get(uri):
            self._context.refresh_marks()

    def closed(self, uri: str) -> None:
        """Nothing is kept of a closed file."""
        self._kept.pop(uri, None)
        self._publish(uri)

    def _publish(self, uri: str) -> None:
        file = self._context.rust.get(uri)
        kept = {} if file is None else self._kept.get(uri, {})
        found = [
            d for one in kept.values() if file is not None and self._holds(file, one) for d in one.verdict.messages
        ]
        if not found and uri not in self._shown:
            return
        (self._shown.add if found else self._shown.discard)(uri)
        shown = [d | {"source": VERIFY_SOURCE} for d in found]
        params: dict[str, object] = {"uri": uri, "diagnostics": shown}
        if file is not None:
            params["version"] = file.version
        self._context.tell(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)

    async def run(self, uri: str, line: int | None = None, work_done: str | int | None = None) -> dict[str, object]:
        """Verify the entries of one comment. Raises an error with a message for the user, or is cancelled."""
        context = self._context
        self._verification.require_trust()
        file = context.rust.get(uri)
        if file is None:
            raise InvalidParams("The document is no open Rust file.")
        from ferrotile_runner.candidate_comment import pythons_of

        named = [one for one in pythons_of(file.document.text) if line is None or one.line == line + 1]
        if not named:
            raise InvalidParams("No comment here names the Python: `// ferrotile: softmax.py::softmax_kernel`.")
        one = named[0]
        snapshot = await self._python(file, one)
        cancel = Event()
        title = f"Verify {file.stem}.rs"
        shown, key = context.client.progress, str(one.line - 1)
        async with context.progress.work(context.server, shown, title, cancel, work_done) as say:
            with self._verification.works.running(uri, (key,), cancel):
                work = self._verification.exclusively(lambda: self._climb(file, one, snapshot, say, cancel), cancel)
                verdict = await _cancellable(work, cancel)
        python_text = snapshot.file.document.text
        kept = Kept(file.document.text, snapshot.file.uri, python_text, verdict)
        self._kept.setdefault(uri, {})[one.line - 1] = kept
        self._publish(uri)
        context.refresh_marks()
        return {"uri": uri, "kernels": list(verdict.kernels), "messages": list(verdict.messages)}

    def _climb(
        self, file: OpenDocument, one: PythonOf, snapshot: Snapshot, say: Callable[[str], None], cancel: Event
    ) -> PortVerdict:
        """Blocks: for the worker thread."""
        from ferrotile_runner.candidate import CandidateError, NoEntry

        from ferrotile_server.application import Candidate

        found: list[PortVerdict] = []
        errors: list[CandidateError] = []
        names = snapshot.kernel_names if one.kernel is None else (one.kernel,)
        for name in names:
            for kernel in snapshot.analysis.named(name):
                entry = name if one.kernel is None else one.line
                made = Candidate(file.document.text, entry, one.mapping, one.origin, (), one.grid)
                try:
                    report, _ = self._context.application.verify_candidate(
                        snapshot.analysis, kernel, made, DEFAULT_RUNGS, say, cancel
                    )
                except NoEntry:
                    continue
                except CandidateError as error:
                    errors.append(error)
                    continue
                found.append(judged(report, one.line, snapshot.file.uri, file, self._context.client))
        if not found and not errors:
            errors.append(CandidateError(f"no entry here is called as a kernel of {one.file}"))
        if found and len(errors) < sum(len(snapshot.analysis.named(name)) for name in names):
            errors = []  # it is a port for some of the signatures
        return PortVerdict.of([*found, *(refused(error, one, file, self._context.client) for error in errors)])

    async def _python(self, file: OpenDocument, one: PythonOf) -> Snapshot:
        """The Python that a comment names, open or read from the disk."""
        context, own = self._context, path_of(file.uri)
        if own is None:
            raise RequestFailed("The Rust is in no file yet: save it beside the Python that it names.")
        path = own.parent.joinpath(one.file).resolve()
        if not context.surroundings.may_read_beside(own, path):
            raise RequestFailed(f"{one.file} is not in the workspace that the Rust is in: its code is not run.")
        opened = next((f for f in context.documents if (p := path_of(f.uri)) is not None and p.resolve() == path), None)
        if opened is not None:
            snapshot = await context.snapshot(opened.uri)
        else:
            snapshot = await context.closed(
                OpenDocument(path.as_uri(), 0, await asyncio.to_thread(_read, path, one.file))
            )
        if snapshot is None:
            raise RequestFailed(f"{one.file} was closed.")
        kernels: tuple[KernelTranslation, ...] = snapshot.analysis.named(one.kernel) if one.kernel else ()
        if one.kernel and not kernels:
            there = ", ".join(snapshot.kernel_names) or "none"
            raise RequestFailed(f"{one.file} has no kernel `{one.kernel}` (it has {there}).")
        return snapshot


async def _cancellable(work: Coroutine[object, object, PortVerdict], cancel: Event) -> PortVerdict:
    """The work, ended as soon as it is cancelled by the request or by its progress."""
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            await asyncio.wait([task], timeout=POLL_S)
            if cancel.is_set():
                raise asyncio.CancelledError
    except asyncio.CancelledError:
        cancel.set()
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        raise
    try:
        return task.result()
    except JsonRpcException:
        raise
    except Exception as error:
        logger.exception("verification of other Rust failed")
        raise RequestFailed(f"Verification could not run: {error}") from None


def _read(path: Path, name: str) -> Document:
    """The Python of a file. Raises RequestFailed."""
    try:
        if path.stat().st_size > LARGEST:
            raise RequestFailed(f"{name} is too large.")
        return Document(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise RequestFailed(f"{name} cannot be read: {error}") from None


def register(context: Context, verification: Verification) -> Ports:
    """Offer the lens's request."""
    ports = Ports(context, verification)
    context.rust_lenses = ports.lenses

    async def verify(params: Json) -> dict[str, object]:
        if not isinstance(params, dict) or not isinstance(params.get("uri"), str):
            raise InvalidParams("`uri` must be text.")
        line, token = params.get("line"), params.get("workDoneToken")
        if line is not None and (not isinstance(line, int) or isinstance(line, bool)):
            raise InvalidParams("`line` must be a whole number.")
        if token is not None and not isinstance(token, str | int):
            raise InvalidParams("`workDoneToken` must be text or a whole number.")
        return await ports.run(str(params["uri"]), line, token)

    context.server.feature(METHOD)(verify)
    return ports

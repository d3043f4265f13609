"""Drafts of one session: run, shown, written. Loaded with the first of them."""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from threading import Event

from ferrotile_runner.export import files
from lsprotocol import types

from ferrotile_server.drafting import mark
from ferrotile_server.drafting.candidates import CANCELLED, ladder_of
from ferrotile_server.drafting.destination import NoDestination
from ferrotile_server.drafting.judgement import Judgement, Ladder, NoLadder
from ferrotile_server.drafting.log import LogError, LogFile, silent
from ferrotile_server.drafting.loop import Candidate, Drafted, End, draft
from ferrotile_server.drafting.model import Say
from ferrotile_server.drafting.prompt import Task
from ferrotile_server.drafting.report import best_words, summary
from ferrotile_server.drafting.task import NotDraftable, kernel_of, task_of
from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.features.content import Previews
from ferrotile_server.lsp.features.draft import DraftParams
from ferrotile_server.lsp.features.draft_file import draft_file
from ferrotile_server.lsp.features.draft_model import Chosen, model_of
from ferrotile_server.lsp.features.rust_file import CannotWrite
from ferrotile_server.lsp.features.verify import RequestFailed, Verification
from ferrotile_server.lsp.protocol import InvalidParams

WRITE = "Write Unverified Draft"


class Drafts:
    """Drafts of one session, each in a thread of its own; candidates are judged when it is their turn."""

    def __init__(self, context: Context, previews: Previews, verification: Verification) -> None:
        self._context, self._previews, self._verification = context, previews, verification
        self._pool = ThreadPoolExecutor(2, "ferrotile-draft")

    async def run(self, wanted: DraftParams) -> dict[str, object]:
        """Make a draft, and show it. Raises an error with a message for the user, or is cancelled."""
        context = self._context
        self._verification.require_trust()
        snapshot = await context.snapshot(wanted.uri)
        if snapshot is None:
            raise InvalidParams("The document is not open.")
        token = wanted.work_done
        try:
            chosen = model_of(context, token, wanted.model)
            kernel = kernel_of(snapshot.analysis, wanted.kernel)
            name = f"{snapshot.file.stem}.py"
            task = await asyncio.to_thread(task_of, snapshot.analysis, kernel, name, context.application)
            ladder = ladder_of(context.application, snapshot.analysis, kernel)
        except (NotDraftable, NoDestination, NoLadder) as error:
            raise RequestFailed(_sentence(str(error))) from None
        loop = asyncio.get_running_loop()
        cancel = Event()

        def in_turn(rust: str, say: Say, stop: Event) -> Judgement:
            judged = self._verification.exclusively(lambda: ladder(rust, say, stop), stop)
            try:
                return asyncio.run_coroutine_threadsafe(judged, loop).result()
            except CancelledError:  # the draft ended before it was this candidate's turn
                return CANCELLED

        shown = context.client.progress
        title = f"Draft {wanted.kernel}"
        async with context.progress.work(context.server, shown, title, cancel, token) as say:
            with self._verification.works.running(wanted.uri, (wanted.kernel,), cancel):
                done = await self._drafted(task, chosen, in_turn, wanted, say, cancel)
        return await self._show(snapshot, task, done, wanted)

    async def _drafted(
        self, task: Task, chosen: Chosen, ladder: Ladder, wanted: DraftParams, say: Say, cancel: Event
    ) -> Drafted:
        """The loop, in a thread; it ends soon after it is cancelled."""
        model, budget, name = chosen.model, wanted.budget, chosen.name

        def run() -> Drafted:
            with nullcontext() if wanted.log is None else LogFile(Path(wanted.log)) as file:
                log = silent if file is None else file.write
                return draft(task, model, ladder, budget, name=name, log=log, say=say, cancel=cancel)

        work = asyncio.get_running_loop().run_in_executor(self._pool, run)
        try:
            done = await asyncio.shield(work)
        except asyncio.CancelledError:
            cancel.set()
            work.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            raise
        except (NoLadder, LogError) as error:
            raise RequestFailed(_sentence(str(error))) from None
        if done.end is End.CANCELLED:
            raise asyncio.CancelledError
        return done

    async def _show(self, snapshot: Snapshot, task: Task, done: Drafted, wanted: DraftParams) -> dict[str, object]:
        """Write what is verified; show what is not, and ask before it is written."""
        kernel = wanted.kernel
        found = done.candidate
        rung = found.judgement.verified if found else ""
        words = {"summary": summary(done), "failure": best_words(done)}
        result: dict[str, object] = {"verified": done.verified, "rung": rung, **words, "uri": None}
        if found is None:
            self._tell(f"{kernel}: {summary(done)}", types.MessageType.Warning)
            return result
        text = _marked(found, task, done)
        uri: str | None = None
        if done.verified:
            try:
                uri = await asyncio.to_thread(write, snapshot.file.uri, kernel, text)
                self._context.refresh_marks()
                self._tell(f"{kernel}: {summary(done)}", types.MessageType.Info)
            except CannotWrite as error:
                self._tell(f"{kernel}: {summary(done)}; not written: {error}", types.MessageType.Warning)
        if uri is None:
            uri = self._previews.keep(f"{kernel}.draft", text)
        if wanted.shows:
            await self._open(uri)
        if not done.verified:
            self._context.spawn(self._offer(snapshot.file.uri, kernel, text, done))
        return {**result, "uri": uri}

    async def _offer(self, source: str, kernel: str, text: str, done: Drafted) -> None:
        """Ask whether an unverified draft is to be written; silence means no."""
        words = f"ferrotile: {kernel}: {summary(done)}. {_sentence(best_words(done))} Nothing was written."
        params = types.ShowMessageRequestParams(types.MessageType.Warning, words, [types.MessageActionItem(WRITE)])
        try:
            answer = await self._context.server.window_show_message_request_async(params)
        except Exception:
            return
        if answer is None or answer.title != WRITE:
            return
        try:
            written = await asyncio.to_thread(write, source, kernel, text)
            self._context.refresh_marks()
            await self._open(written)
        except CannotWrite as error:
            self._tell(str(error), types.MessageType.Warning)

    async def _open(self, uri: str) -> None:
        client = self._context.client
        if client.shows_documents:
            params = types.ShowDocumentParams(uri=uri, take_focus=False)
            await self._context.ask(self._context.server.window_show_document_async(params))
        else:
            self._tell(f"The draft is in {uri}", types.MessageType.Info)

    def _tell(self, text: str, kind: types.MessageType) -> None:
        self._context.server.window_show_message(types.ShowMessageParams(kind, f"ferrotile: {text}"))


def _marked(found: Candidate, task: Task, done: Drafted) -> str:
    about = mark.About(done.model, done.date, task.node, task.signature, task.digest)
    return mark.marked(found.rust, found.judgement, about)


def write(source: str, kernel: str, text: str) -> str:
    """Write a draft beside its Python as `<stem>_<kernel>.rs`; gives its URI. Raises `CannotWrite` where something else
    is there, a draft that was edited included."""
    uri, path = draft_file(source, kernel)
    try:
        if path.is_symlink() or path.exists():
            there = None if path.is_symlink() else mark.read(path.read_text(encoding="utf-8"))
            if there is None or not there.intact:
                raise CannotWrite(f"{path.name} exists and is not an unedited draft; it is left alone.")
        files.write(path, text.encode())
    except (OSError, UnicodeDecodeError) as error:
        raise CannotWrite(f"{path.name}: {error}") from None
    return uri


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""

"""`textDocument/codeLens`: one line above each kernel: verify it, run it, see its Rust, and its verdict once there is
one; while it is being verified, cancel."""

from __future__ import annotations

import re

from ferrotile.diagnostics.model import Severity
from ferrotile.syntax.span import Span
from lsprotocol import types

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.features import commands
from ferrotile_server.lsp.features.content import is_broken
from ferrotile_server.lsp.features.draft_file import draft_state
from ferrotile_server.lsp.features.draft_offer import may_draft
from ferrotile_server.lsp.features.verdict_text import verdict_mark


def register(context: Context) -> None:
    """Offer code lenses."""

    known: dict[str, dict[str, tuple[types.Command, ...]]] = {}

    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        uri = params.text_document.uri
        of_rust = context.rust_lenses(uri)
        if of_rust is not None:
            return of_rust
        snapshot = await context.snapshot(uri)
        for closed in [u for u in known if context.documents.get(u) is None]:
            del known[closed]
        if snapshot is None:
            return []
        shown = {name: tuple(_of(context, snapshot, name)) for name in snapshot.kernel_names}
        places = {name: snapshot.range_of(snapshot.analysis.named(name)[0].name_span) for name in shown}
        if is_broken(snapshot):
            for name in [n for n in known.get(uri, {}) if n not in shown]:
                place = _definition(snapshot, name)
                if place is not None:
                    shown[name], places[name] = known[uri][name], snapshot.range_of(place)
        known[uri] = shown
        return [types.CodeLens(places[name], command) for name, commands_ in shown.items() for command in commands_]

    context.server.feature(types.TEXT_DOCUMENT_CODE_LENS)(lenses)


def _definition(snapshot: Snapshot, name: str) -> Span | None:
    """Where a function that does not parse at the moment is defined: its lenses stay, or every line would jump with
    each bracket that is typed."""
    found = re.search(rb"^[ \t]*def[ \t]+(%s)\b" % re.escape(name.encode()), snapshot.file.document.data, re.MULTILINE)
    place = None if found is None else Span(*found.span(1))
    return place if place is not None and snapshot.file.holds(place) else None


def _of(context: Context, snapshot: Snapshot, name: str) -> list[types.Command]:
    entries = snapshot.analysis.named(name)
    uri, client = snapshot.file.uri, snapshot.client
    if all(k.rust is None for k in entries):
        codes = dict.fromkeys(d.code for k in entries for d in k.diagnostics if d.severity is Severity.ERROR)
        title = f"{commands.icon(client.icons, 'circle-slash')}not translated: {', '.join(codes)}".removesuffix(": ")
        return [types.Command(title=title, command=""), *_draft(context, snapshot, name)]
    if context.is_running(uri, name) and client.refreshes_lenses:
        found = [commands.cancel(uri, name, f"{commands.icon(client.icons, 'debug-stop')}Cancel")]
    else:
        found = [commands.verify(client, uri, name, f"{commands.icon(client.icons, 'play')}Verify")]
        if context.trusted:
            found.append(commands.run(uri, name, f"{commands.icon(client.icons, 'run-all')}Run"))
    found.append(commands.preview(client, uri, name, f"{commands.icon(client.icons, 'eye')}Preview Rust"))
    mark = verdict_mark(context, snapshot, name)
    if mark is not None:
        found.append(types.Command(title=mark, command=""))
    return found


def _draft(context: Context, snapshot: Snapshot, name: str) -> list[types.Command]:
    """Of a refused kernel: ask a model, and what became of that."""
    uri, client = snapshot.file.uri, snapshot.client
    if context.is_running(uri, name) and client.refreshes_lenses:
        return [commands.cancel(uri, name, f"{commands.icon(client.icons, 'debug-stop')}Cancel")]
    state = draft_state(snapshot, name)
    found = [] if state is None else [types.Command(title=f"AI draft: {state}", command="")]
    if may_draft(context, snapshot, name):
        found.append(commands.draft(client, uri, name, f"{commands.icon(client.icons, 'sparkle')}Draft with AI"))
    return found

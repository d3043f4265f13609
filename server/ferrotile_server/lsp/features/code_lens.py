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
from ferrotile_server.lsp.features.verdict_text import verdict_mark


def register(context: Context) -> None:
    """Offer code lenses."""

    known: dict[str, dict[str, tuple[types.Command, ...]]] = {}

    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        uri = params.text_document.uri
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
        title = f"{_icon(client.icons, 'circle-slash')}not translated: {', '.join(codes)}".removesuffix(": ")
        return [types.Command(title=title, command="")]
    if context.is_running(uri, name) and client.refreshes_lenses:
        found = [commands.cancel(uri, name, f"{_icon(client.icons, 'debug-stop')}Cancel")]
    else:
        found = [commands.verify(client, uri, name, f"{_icon(client.icons, 'play')}Verify")]
        if context.trusted:
            found.append(commands.run(uri, name, f"{_icon(client.icons, 'run-all')}Run"))
    found.append(commands.preview(client, uri, name, f"{_icon(client.icons, 'eye')}Preview Rust"))
    mark = verdict_mark(context, snapshot, name)
    if mark is not None:
        found.append(types.Command(title=mark, command=""))
    return found


def _icon(drawn: bool, name: str) -> str:
    # VS Code swallows a plain space after an icon.
    return f"$({name})\N{NO-BREAK SPACE}" if drawn else ""

"""`textDocument/definition`: from a line of generated Rust, on disk or in a preview, to the Python that made it.

It is offered for these documents alone, so that it stands in no other server's way: by registration, to editors that
take one, for the previews, and for the one Rust file beside each open Python file with kernels."""

from __future__ import annotations

import asyncio

from ferrotile.syntax.span import Span
from lsprotocol import types

from ferrotile_server.lsp.context import PREVIEW_SCHEME, Context, Snapshot
from ferrotile_server.lsp.features.content import NOTHING, Previews, reasons, source_of
from ferrotile_server.lsp.features.rust_file import CannotWrite, is_foreign, read, target_of
from ferrotile_server.lsp.surroundings import path_of
from ferrotile_server.rust_lines import locate, translated

METHOD = types.TEXT_DOCUMENT_DEFINITION
GLOB = frozenset("*?[]{}\\")
"""Characters that mean more than themselves in a pattern; a path with one of them is not registered."""

Answer = types.Location | list[types.LocationLink] | None


class Definitions:
    """The registrations of a session."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._followed: set[str] = set()

    async def start(self) -> None:
        """Register for the previews."""
        client = self._context.client
        if client.registers_definition and client.text_document_content:
            scheme = types.TextDocumentFilterScheme(scheme=PREVIEW_SCHEME)
            self._context.spawn(self._register("ferrotile-definition", scheme))

    async def follow(self, uri: str) -> None:
        """Register for the Rust file beside an open Python file with kernels, unless it is someone else's."""
        snapshot = await self._context.snapshot(uri)
        if uri in self._followed or snapshot is None or not self._context.client.registers_definition:
            return
        if not snapshot.analysis.translation.kernels:
            return
        try:
            _, path = target_of(uri)
        except CannotWrite:
            return
        if GLOB & set(path.as_posix()):
            return
        if await asyncio.to_thread(is_foreign, path):
            return
        if uri in self._followed or self._context.documents.get(uri) is None:
            return
        self._followed.add(uri)
        pattern = types.TextDocumentFilterPattern(pattern=path.as_posix(), scheme="file")
        self._context.spawn(self._register(_identity(uri), pattern))

    def forget(self, uri: str) -> None:
        """The Python file was closed."""
        if uri in self._followed:
            self._followed.discard(uri)
            self._context.spawn(self._unregister(uri))

    async def _register(self, identity: str, where: types.TextDocumentFilter) -> None:
        registration = types.Registration(identity, METHOD, types.DefinitionRegistrationOptions([where]))
        await self._context.ask(
            self._context.server.client_register_capability_async(types.RegistrationParams([registration]))
        )

    async def _unregister(self, uri: str) -> None:
        params = types.UnregistrationParams([types.Unregistration(_identity(uri), METHOD)])
        await self._context.ask(self._context.server.client_unregister_capability_async(params))


def _identity(uri: str) -> str:
    return f"ferrotile-definition {uri}"


def register(context: Context, previews: Previews) -> Definitions:
    """Offer the way back to the Python."""

    async def definition(params: types.DefinitionParams) -> Answer:
        uri, line = params.text_document.uri, params.position.line
        if uri.startswith(f"{PREVIEW_SCHEME}:"):
            found = await _from_preview(context, previews, uri, line)
        elif uri.endswith(".rs"):
            found = await _from_file(context, uri, line)
        else:
            return None
        if found is None:
            return None
        snapshot, span = found
        place = snapshot.range_of(span)
        if context.client.definition_links:
            return [types.LocationLink(snapshot.file.uri, place, place)]
        return types.Location(snapshot.file.uri, place)

    context.server.feature(METHOD)(definition)
    return Definitions(context)


async def _from_preview(context: Context, previews: Previews, uri: str, line: int) -> tuple[Snapshot, Span] | None:
    """From what a preview shows; from the reasons why there is no Rust to their places."""
    source, kernel = source_of(uri)
    snapshot = await context.snapshot(source)
    text = previews.shown(source, kernel)
    if snapshot is None or text is None:
        return None
    if text.startswith(NOTHING):
        told = reasons(snapshot, kernel) if text == previews.text(snapshot, kernel) else ()
        return (snapshot, told[line - 1].span) if 1 <= line <= len(told) else None
    return _found(snapshot, text, line)


async def _from_file(context: Context, uri: str, line: int) -> tuple[Snapshot, Span] | None:
    """From a file on disk, beside an open Python file."""
    path = path_of(uri)
    source = next((f.uri for f in context.documents if path is not None and _target(f.uri) == path), None)
    if path is None or source is None:
        return None
    text = await asyncio.to_thread(read, path)
    snapshot = await context.snapshot(source)
    if text is None or snapshot is None:
        return None
    return _found(snapshot, text, line)


def _found(snapshot: Snapshot, text: str, line: int) -> tuple[Snapshot, Span] | None:
    span = locate(text, translated(snapshot.analysis).values()).python_of(line)
    return None if span is None else (snapshot, span)


def _target(uri: str) -> object:
    try:
        return target_of(uri)[1]
    except CannotWrite:
        return None

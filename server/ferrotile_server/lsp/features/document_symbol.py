"""`textDocument/documentSymbol`: the kernels of a file with their signatures, and each kernel's parameters.

Editors ask for it again after each edit. What is said of a kernel is kept as JSON, with its lines apart: they are all
that changes while the kernel's text does not."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ferrotile.relocate import MovedKernel
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature
from ferrotile.syntax.module import parameters_of
from ferrotile.translation import KernelTranslation
from lsprotocol import types
from msgspec import Raw, Struct

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.convert import Plain, place_of
from ferrotile_server.lsp.features import signature_text
from ferrotile_server.lsp.protocol import encoded

_KINDS = {
    ArrayArgument: types.SymbolKind.Array.value,
    ScalarArgument: types.SymbolKind.Variable.value,
    ConstantArgument: types.SymbolKind.Constant.value,
}


_LINE = re.compile(rb'"line":(\d+)')
"""A line number, and nothing else: inside a JSON text the quotes would have a backslash."""


class _Kept(Struct):
    """What is said of a kernel as it stood at `place`, `lines` and the JSON between them; `text` is for `shown`."""

    kernel: KernelTranslation
    place: tuple[int, int]
    between: list[bytes]
    lines: list[int]
    shown: tuple[int, int]
    text: bytes

    @classmethod
    def of(cls, kernel: KernelTranslation, place: tuple[int, int], text: bytes) -> _Kept:
        parts = _LINE.split(text)
        return cls(kernel, place, parts[::2], [int(n) for n in parts[1::2]], place, text)

    def at(self, place: tuple[int, int]) -> bytes | None:
        """The same of the kernel at another line; None where its first column is another one."""
        if place != self.shown:
            if place[1] != self.place[1]:
                return None
            delta = place[0] - self.place[0]
            moved = [b'"line":%d' % (n + delta) for n in self.lines]
            self.text = self.between[0] + b"".join([m + b for m, b in zip(moved, self.between[1:], strict=True)])
            self.shown = place
        return self.text


def register(context: Context) -> None:
    """Offer the outline, to editors that draw trees."""
    known: dict[str, dict[int, _Kept]] = {}

    async def symbols(params: types.DocumentSymbolParams) -> Raw:
        uri = params.text_document.uri
        snapshot = await context.snapshot(uri)
        for closed in [u for u in known if context.documents.get(u) is None]:
            del known[closed]
        if snapshot is None:
            return Raw(b"[]")
        kernels = [k for k in snapshot.analysis.translation.kernels if snapshot.file.holds(k.name_span)]
        first = {k.span: k for k in reversed(kernels)}
        kept, known[uri] = known.get(uri, {}), {}
        return _joined(_texts(snapshot, sorted(first.values(), key=lambda k: k.span.start), kept, known[uri]))

    context.server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)(symbols)


def _joined(texts: Iterable[bytes]) -> Raw:
    return Raw(b"[%s]" % b",".join(texts))


def _texts(
    snapshot: Snapshot, kernels: Iterable[KernelTranslation], kept: dict[int, _Kept], keep: dict[int, _Kept]
) -> Iterable[bytes]:
    """The JSON of each kernel's symbol."""
    for kernel in kernels:
        origin = kernel.unmoved if isinstance(kernel, MovedKernel) else kernel
        place = snapshot.file.position(kernel.span.start, snapshot.client.encoding)
        one = kept.get(id(origin))
        text = None if one is None else one.at(place)
        if one is None or text is None:
            text = bytes(encoded(_symbol(snapshot, kernel, origin)))
            one = _Kept.of(origin, place, text)
        keep[id(origin)] = one
        yield text


def _symbol(snapshot: Snapshot, kernel: KernelTranslation, origin: KernelTranslation) -> Plain:
    """`origin` is the same kernel, where it was translated: what is not moved costs nothing to look at."""
    encoding, file, signature = snapshot.client.encoding, snapshot.file, origin.signature
    return {
        "name": kernel.name,
        "detail": "kernel" if signature is None else ", ".join(signature_text.entries(signature)),
        "kind": types.SymbolKind.Function.value,
        "range": place_of(file, kernel.span, encoding),
        "selectionRange": place_of(file, kernel.name_span, encoding),
        "children": [] if signature is None else list(_parameters(snapshot, kernel, signature)),
    }


def _parameters(snapshot: Snapshot, kernel: KernelTranslation, signature: Signature) -> Iterable[Plain]:
    """Each parameter where it stands in the kernel's head."""
    module, function = snapshot.analysis.translation.module, snapshot.analysis.function_of(kernel)
    if module is None or function is None:
        return
    places = {a.arg: module.span_of(a) for a in parameters_of(function.node)}
    known = signature_text.rows(signature)
    for argument in signature.arguments:
        if argument.name not in places:
            continue
        place = place_of(snapshot.file, places[argument.name], snapshot.client.encoding)
        what = known[argument.name].what
        yield {
            "name": argument.name,
            "detail": f"= {what}" if isinstance(argument, ConstantArgument) else what,
            "kind": _KINDS[type(argument)],
            "range": place,
            "selectionRange": place,
        }

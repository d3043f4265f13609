"""`textDocument/documentSymbol`: the kernels of a file with their signatures, and each kernel's parameters."""

from __future__ import annotations

from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument
from ferrotile.syntax.module import parameters_of
from ferrotile.syntax.span import Span
from ferrotile.translation import KernelTranslation
from lsprotocol import types

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.features import signature_text

_KINDS = {
    ArrayArgument: types.SymbolKind.Array,
    ScalarArgument: types.SymbolKind.Variable,
    ConstantArgument: types.SymbolKind.Constant,
}


def register(context: Context) -> None:
    """Offer the outline, to editors that draw trees."""

    async def symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        snapshot = await context.snapshot(params.text_document.uri)
        if snapshot is None:
            return []
        kernels = [k for k in snapshot.analysis.translation.kernels if snapshot.file.holds(k.name_span)]
        first = {k.span: k for k in reversed(kernels)}
        return [_kernel(snapshot, kernel) for kernel in sorted(first.values(), key=lambda k: k.span.start)]

    context.server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)(symbols)


def _kernel(snapshot: Snapshot, kernel: KernelTranslation) -> types.DocumentSymbol:
    signature = kernel.signature
    return types.DocumentSymbol(
        name=kernel.name,
        detail=", ".join(signature_text.entries(signature)) if signature else "kernel",
        kind=types.SymbolKind.Function,
        range=snapshot.range_of(kernel.span),
        selection_range=snapshot.range_of(kernel.name_span),
        children=_parameters(snapshot, kernel),
    )


def _parameters(snapshot: Snapshot, kernel: KernelTranslation) -> list[types.DocumentSymbol]:
    if kernel.signature is None:
        return []
    places, known = _places(snapshot, kernel), signature_text.rows(kernel.signature)
    found = []
    for argument in kernel.signature.arguments:
        if argument.name in places:
            place, what = snapshot.range_of(places[argument.name]), known[argument.name].what
            detail = f"= {what}" if isinstance(argument, ConstantArgument) else what
            found.append(types.DocumentSymbol(argument.name, _KINDS[type(argument)], place, place, detail))
    return found


def _places(snapshot: Snapshot, kernel: KernelTranslation) -> dict[str, Span]:
    """Where each parameter stands in the kernel's head."""
    module, function = snapshot.analysis.translation.module, snapshot.analysis.function_of(kernel)
    if module is None or function is None:
        return {}
    return {a.arg: module.span_of(a) for a in parameters_of(function.node)}

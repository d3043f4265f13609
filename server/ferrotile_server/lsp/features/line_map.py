"""`ferrotile/lines`: which lines of a preview belong to which lines of the Python, for a client that keeps matching
lines highlighted while the cursor moves, without a request a move.

Parameters `{"uri", "kernel"?}` as of `ferrotile/previewUri`; result `{"uri", "version", "lines": [[pythonFirst,
pythonLast, rustFirst, rustLast], ...]}`, all counted from 0 and inclusive, sorted by Rust line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.features.content import preview_uri
from ferrotile_server.lsp.features.kernel_params import asked_about
from ferrotile_server.lsp.protocol import Json
from ferrotile_server.rust_lines import KernelLines, locate, translated

METHOD = "ferrotile/lines"

Row = tuple[int, int, int, int]


def register(context: Context) -> None:
    """Offer the map."""

    async def lines(params: Json) -> dict[str, object]:
        snapshot, uri, kernel, _ = await asked_about(context, params)
        every = translated(snapshot.analysis)
        chosen = every.values() if kernel is None else [every[kernel]] if kernel in every else []
        names = () if kernel is None else (kernel,)
        text = context.application.rust_file(snapshot.analysis, snapshot.file.stem, names) or ""
        rows = _rows(snapshot, locate(text, chosen).kernels)
        return {"uri": preview_uri(uri, kernel), "version": snapshot.file.version, "lines": [list(r) for r in rows]}

    context.server.feature(METHOD)(lines)


def _rows(snapshot: Snapshot, kernels: Iterable[KernelLines]) -> Iterator[Row]:
    """Rust lines next to one another that the same Python made are one row."""
    for kernel in sorted(kernels, key=lambda k: k.first):
        row: Row | None = None
        for number in range(kernel.first, kernel.last):  # the closing brace is nobody's
            span = kernel.python_of(number)
            first, last = (snapshot.line_of(at) - 1 for at in (span.start, max(span.start, span.end - 1)))
            if row is not None and row[:2] == (first, last):
                row = (first, last, row[2], number)
                continue
            if row is not None:
                yield row
            row = (first, last, number, number)
        if row is not None:
            yield row

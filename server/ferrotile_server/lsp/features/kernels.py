"""`ferrotile/kernels`, a notification: the kernels of an open file, for editors that list them as tests.

Parameters `{"uri", "version", "kernels": [{"name", "range", "translated", "state", "verdict"}]}`; `range` runs from the
line of the name to the end of the kernel. `state` names all that a verdict rests on: a result for another state is
stale. `verdict` is null, or `{"line", "failed", "holds"}`. Sent to editors that set `initializationOptions.kernels`,
after each analysis that changes what was sent last. Nothing that a kernel does is run for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lsprotocol import types

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.convert import plain_range
from ferrotile_server.lsp.features.content import is_broken

METHOD = "ferrotile/kernels"

Listed = dict[str, object]
"""A kernel as it is sent."""


class KernelLists:
    """Remembers what the editor was told of each open file."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._sent: dict[str, list[Listed]] = {}

    async def publish(self, uri: str) -> None:
        """Tell of the newest version, where it differs."""
        context = self._context
        if not context.client.lists_kernels:
            return
        snapshot = await context.snapshot(uri)
        if snapshot is None or context.documents.get(uri) is not snapshot.file:
            return
        kernels = [_kernel(context, snapshot, name) for name in snapshot.kernel_names]
        if is_broken(snapshot):
            kernels += _not_parsed(self._sent.get(uri, ()), snapshot.kernel_names)
        if self._sent.get(uri) == kernels:
            return
        self._sent[uri] = kernels
        params = {"uri": uri, "version": snapshot.file.version, "kernels": kernels}
        context.server.protocol.notify(METHOD, params)

    def forget(self, uri: str) -> None:
        """The file was closed: the editor keeps what it knows, and is told again when it is opened anew."""
        self._sent.pop(uri, None)


def _not_parsed(sent: Iterable[Listed], names: Sequence[str]) -> list[Listed]:
    """Kernels that do not parse at the moment stay in the list, without a state: results are stale, and not lost."""
    return [kernel | {"state": "", "verdict": None} for kernel in sent if kernel["name"] not in names]


def _kernel(context: Context, snapshot: Snapshot, name: str) -> Listed:
    entries = snapshot.analysis.named(name)
    known = context.application.verdict(snapshot.file.uri, snapshot.analysis, name)
    verdict = None
    if known is not None:
        verdict = {"line": known[0].line, "failed": bool(known[0].failures), "holds": known[1]}
    return {
        "name": name,
        "range": plain_range(body_range(snapshot.range_of(entries[0].name_span), snapshot.range_of(entries[0].span))),
        "translated": any(k.rust is not None for k in entries),
        "state": state_of(snapshot, name),
        "verdict": verdict,
    }


def state_of(snapshot: Snapshot, name: str) -> str:
    """A name for all that a verdict about a kernel rests on."""
    return snapshot.analysis.digest(name).hex()


def body_range(name: types.Range, kernel: types.Range) -> types.Range:
    """From the line of a kernel's name to its end: marks in the margin stand beside the name, not the decorator."""
    return types.Range(types.Position(name.start.line, 0), kernel.end)

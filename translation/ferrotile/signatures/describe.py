"""A signature in rows for people: each part, and where it is known from."""

from __future__ import annotations

from msgspec import Struct

from ferrotile.signatures.directive import constant_text
from ferrotile.signatures.model import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    GridFactor,
    ScalarArgument,
    Signature,
    Source,
)
from ferrotile.syntax.span import NOWHERE, Span

_WORDS = {
    Source.DIRECTIVE: "directive",
    Source.ANNOTATION: "annotation",
    Source.LAUNCH: "launch",
    Source.USAGE: "usage in the kernel",
    Source.ASSUMED: "assumed",
}


class Row(Struct, frozen=True):
    """`part` is a parameter's name or `grid`, `what` as a directive would write it. `source` is the weakest of the
    part's sources, `origin` all of them in words. `span`: where it is said in the kernel's file, if anywhere."""

    part: str
    what: str
    source: Source
    origin: str
    span: Span = NOWHERE


def describe_signature(signature: Signature) -> tuple[Row, ...]:
    """One row for each parameter, in order, then one for the grid."""
    rows = [_argument(a) for a in signature.arguments]
    launch = signature.site.span if signature.site is not None else NOWHERE
    if signature.grid is None:
        return (*rows, Row("grid", "unknown", Source.ASSUMED, "assumed: any number of blocks"))
    source = signature.grid_source or Source.LAUNCH
    return (*rows, Row("grid", grid_text(signature.grid), source, _origin(source, signature), launch))


def _origin(source: Source, signature: Signature) -> str:
    site = signature.site
    if source is Source.LAUNCH and site is not None and site.module:
        return f"launch at {site.module}:{site.line}"
    return _WORDS[source]


def _argument(argument: Argument) -> Row:
    source = argument.source
    origin = _WORDS[source]
    match argument:
        case ArrayArgument(name=name, dtype=dtype, extents=extents, rank_source=rank_source):
            what = f"{dtype}[{', '.join(map(str, extents))}]"
            if rank_source is not None and rank_source is not source:
                origin = f"element type: {_WORDS[source]}; rank: {_WORDS[rank_source]}"
                source = max(source, rank_source, key=list(Source).index)
        case ScalarArgument(name=name, dtype=dtype, extent=extent):
            what = str(dtype)
            origin += f"; the extent {extent}" if extent is not None else ""
        case ConstantArgument(name=name, value=value):
            what = constant_text(value)
    return Row(name, what, source, origin, argument.span)


def grid_text(grid: tuple[tuple[GridFactor, ...], ...]) -> str:
    """`(M/128 * B, N)`, as a directive writes it."""
    axes = [" * ".join(str(f.extent) if f.tile == 1 else f"{f.extent}/{f.tile}" for f in a) or "1" for a in grid]
    return f"({', '.join(axes)})" if axes else "(1)"

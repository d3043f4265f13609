"""The signature of a kernel as a directive writes it, and where each part of it is known from."""

from __future__ import annotations

from ferrotile.signatures.describe import Row, describe_signature
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, Signature, Source
from ferrotile.syntax.positions import Encoding
from ferrotile.syntax.span import NOWHERE

from ferrotile_server.lsp.documents import OpenDocument

WIDTH = 100
_LAUNCH = "launch"


def rows(signature: Signature) -> dict[str, Row]:
    """The parts of a signature by parameter; the grid, if known, last."""
    told = {row.part: row for row in describe_signature(signature)}
    if signature.grid is None:
        told.pop("grid", None)
    return told


def entries(signature: Signature) -> list[str]:
    """`x: f32[M, N]`, `TM=128`, ..., `grid=(M/128)`."""
    constants = {a.name for a in signature.arguments if isinstance(a, ConstantArgument)}
    return [f"{n}={r.what}" if n in constants or n == "grid" else f"{n}: {r.what}" for n, r in rows(signature).items()]


def lines(parts: list[str], width: int = WIDTH) -> list[str]:
    """The parts, with commas between them, in lines of at most `width` characters, where they fit."""
    found = [""]
    for part in parts:
        if found[-1] and len(found[-1]) + len(part) + 2 > width:
            found.append("")
        found[-1] += f", {part}" if found[-1] else part
    return [line for line in found if line]


def origin(file: OpenDocument, signature: Signature, row: Row) -> str:
    """Where one part is known from, in words."""
    if _is_generic(signature, row.part):
        return row.origin.replace("element type: assumed", "any element type").replace("assumed", "any element type")
    site = signature.site
    if site is not None and not site.module and site.span != NOWHERE:
        line = file.position(site.span.start, Encoding.UTF8)[0] + 1
        where = f"in line {line}" if file.holds(site.span) else "in another cell"
        return row.origin.replace(_LAUNCH, f"{_LAUNCH} {where}")
    return row.origin


def origins(file: OpenDocument, signature: Signature) -> str:
    """About all parts in a few words: `x, y: launch in line 30; TM: assumed`, `directive`."""
    groups: dict[str, list[str]] = {}
    for row in rows(signature).values():
        groups.setdefault(origin(file, signature, row), []).append(row.part)
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{', '.join(parts)}: {where}" for where, parts in groups.items())


def stated(signature: Signature) -> frozenset[str]:
    """The parts that a directive says already."""
    return frozenset(n for n, row in rows(signature).items() if row.source is Source.DIRECTIVE)


def is_constant(signature: Signature, name: str) -> bool:
    """Whether the parameter `name` is a constant."""
    return any(isinstance(a, ConstantArgument) and a.name == name for a in signature.arguments)


def is_assumed(signature: Signature, row: Row) -> bool:
    """Whether a part is a choice of ferrotile's, and would be another kernel for another choice."""
    return row.source is Source.ASSUMED and not _is_generic(signature, row.part)


def _is_generic(signature: Signature, name: str) -> bool:
    argument = next((a for a in signature.arguments if a.name == name), None)
    return isinstance(argument, ArrayArgument) and bool(argument.dtype.variable)

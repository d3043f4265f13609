"""Strings of a kernel: known texts, and f-strings with run-time parts."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ferrotile.frontends.cutile import records
from ferrotile.frontends.cutile.arguments import Call
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.values import (
    Abstract,
    Const,
    DTypeOf,
    Formatted,
    Function,
    Global,
    Member,
    Record,
    Tile,
    TupleOf,
    describe,
)

Piece = str | tuple[Tile | Const, str | None]


def joined(pieces: list[Piece]) -> Abstract:
    """A string when every piece is known, else a formatted one; neighbouring texts become one."""
    out: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and out and isinstance(out[-1], str):
            out[-1] += piece
        elif piece != "":
            out.append(piece)
    if not out:
        return Const("")
    if len(out) == 1 and isinstance(out[0], str):
        return Const(out[0])
    return Formatted(tuple(out))


def pieces_of(value: Abstract) -> list[Piece] | None:
    """The parts of a string value; None for anything else."""
    match value:
        case Const(value=str() as text):
            return [text]
        case Formatted(pieces=pieces):
            return list(pieces)
        case _:
            return None


def text_of(ctx: Context, value: Abstract) -> Abstract:
    """`str(value)`: what is known at compile time is text, the rest is printed at run time."""
    match value:
        case Const(value=raw):
            ctx.pin(value.symbol)
            return Const(str(raw))
        case Formatted():
            return value
        case Tile():
            return Formatted(((value, None),))
        case TupleOf(items=items):
            pieces: list[Piece] = ["("]
            for k, item in enumerate(items):
                pieces.append(", " if k else "")
                shown = Const(repr(item.value)) if isinstance(item, Const) else text_of(ctx, item)
                pieces.extend(pieces_of(shown) or [])
            pieces.append(",)" if len(items) == 1 else ")")
            return joined(pieces)
        case Record() as record:
            return _record_text(ctx, record)
        case DTypeOf() | Function() | Global() | Member():
            raise ctx.refused("FT301", f"the text of {describe(value)} has no translation yet")
        case _:
            raise ctx.refused("FT203", f"{describe(value)} has no text")


def _record_text(ctx: Context, record: Record) -> Abstract:
    for name in ("str", "repr"):
        found = records.special(ctx, record, name)
        if found is not None:
            if pieces_of(found) is None:
                raise ctx.refused("FT203", f"`__{name}__` must return a string, not {describe(found)}")
            return found
    pieces: list[Piece] = [f"{record.cls.name}("]
    for k, (name, item) in enumerate(zip(record.cls.fields, record.items, strict=True)):
        pieces.append(f"{', ' if k else ''}{name}=")
        shown = Const(repr(item.value)) if isinstance(item, Const) else text_of(ctx, item)
        pieces.extend(pieces_of(shown) or [])
    return joined([*pieces, ")"])


def formatted(ctx: Context, node: ast.JoinedStr, evaluate: Callable[[Context, ast.expr], Abstract]) -> Abstract:
    """An f-string: numbers and tiles are printed at run time, constants included."""
    pieces: list[Piece] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            pieces.append(str(part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        value = evaluate(ctx, part.value)
        spec = "".join(str(v.value) for v in _parts(part.format_spec)) or None
        if isinstance(value, Tile) or (isinstance(value, Const) and isinstance(value.value, (bool, int, float))):
            pieces.append((value, spec))
        elif spec is not None:
            raise ctx.refused("FT203", f"a format cannot be applied to {describe(value)}")
        else:
            pieces.extend(pieces_of(text_of(ctx, value)) or [])
    return joined(pieces)


def _parts(spec: ast.expr | None) -> list[ast.Constant]:
    return [v for v in spec.values if isinstance(v, ast.Constant)] if isinstance(spec, ast.JoinedStr) else []


def join(ctx: Context, separator: Abstract, made: Call) -> Abstract:
    """`separator.join(tuple of strings)`."""
    (items,) = made.positional if len(made.positional) == 1 and not made.keywords else (None,)
    between = pieces_of(separator)
    if not isinstance(items, TupleOf) or between is None:
        raise ctx.refused("FT203", "`join` takes a tuple of strings")
    pieces: list[Piece] = []
    for k, item in enumerate(items.items):
        one = pieces_of(item)
        if one is None:
            raise ctx.refused("FT203", f"item {k} of `join` must be a string, not {describe(item)}")
        pieces.extend(between if k else [])
        pieces.extend(one)
    return joined(pieces)

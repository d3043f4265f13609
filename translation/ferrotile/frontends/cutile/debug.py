"""`print`, `printf` and `assert_`."""

from __future__ import annotations

import re

from ferrotile.frontends.cutile.arguments import Arguments, Call, Spec
from ferrotile.frontends.cutile.conversion import convert, materialise, operand, tile_of
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.strings import pieces_of, text_of
from ferrotile.frontends.cutile.values import NONE, Abstract, Const, Tile, describe
from ferrotile.program import dtypes
from ferrotile.program.dtypes import DType, Kind
from ferrotile.program.ir import Value
from ferrotile.program.types import TileType

_DIRECTIVE = re.compile(r"%([0 #+-]?)([0-9]*)(\.[0-9]+)?(hh|h|ll|l)?([a-zA-Z%])")


def _say(ctx: Context, tile: Tile) -> Value:
    """A value that cutile 0.5 prints as Python does: it knows `%i` and `%f` alone."""
    dtype = tile.type.dtype
    if dtype.kind is Kind.UNSIGNED and dtype.bits < 32:
        return convert(ctx, tile.value, dtypes.I32)
    if dtype.is_integer and (dtype.bits == 64 or dtype.kind is Kind.UNSIGNED):
        raise ctx.refused("FT302", f"cutile 0.5, which knows `%i` alone, cannot print {dtype}: use `.astype(ct.int32)`")
    if dtype.is_float and dtype.name not in ("f16", "f32", "f64"):
        return convert(ctx, tile.value, dtypes.F32)
    return tile.value


def _emit(ctx: Context, pieces: list[str | Tile]) -> Abstract:
    """One `print`; text pieces are plain."""
    text = "".join("%%" if c == "%" else c for p in pieces for c in (p if isinstance(p, str) else "\0"))
    values = [_say(ctx, p) for p in pieces if isinstance(p, Tile)]
    for value in values:
        text = text.replace("\0", _directive(value), 1)
    if "{" in text or "}" in text:
        raise ctx.refused("FT302", "braces cannot be printed by cutile 0.5, which reads them as places for values")
    ctx.builder.effect("print", tuple(values), ctx.span, format=text)
    return NONE


def _directive(value: Value) -> str:
    return "%f" if tile_of(value).dtype.is_float else "%i"


def _pieces(ctx: Context, value: Abstract) -> list[str | Tile]:
    found = pieces_of(text_of(ctx, value))
    if found is None:
        raise ctx.refused("FT205", f"{describe(value)} cannot be printed")
    pieces: list[str | Tile] = []
    for piece in found:
        if isinstance(piece, str):
            pieces.append(piece)
            continue
        part, spec = piece
        tile = part if isinstance(part, Tile) else Tile(materialise(ctx, part))
        pieces.append(_spec(ctx, tile, spec))
    return pieces


def print_values(ctx: Context, made: Call) -> Abstract:
    """`print(*args, sep=" ", end="\\n")`."""
    unknown = set(made.keywords) - {"sep", "end"}
    if unknown:
        raise ctx.refused("FT205", f"`print` has no argument `{sorted(unknown)[0]}` in device code")
    pieces: list[str | Tile] = []
    for k, value in enumerate(made.positional):
        if k:
            pieces += _pieces(ctx, made.keywords.get("sep", Const(" ")))
        pieces += _pieces(ctx, value)
    return _emit(ctx, pieces + _pieces(ctx, made.keywords.get("end", Const("\n"))))


def print_format(ctx: Context, made: Call) -> Abstract:
    """`printf(format, *args)` with C's directives."""
    first = made.positional[0] if made.positional else NONE
    if not isinstance(first, Const) or not isinstance(first.value, str):
        raise ctx.refused("FT205", "`printf` needs a constant format string")
    text, values = first.value, list(made.positional[1:])
    pieces: list[str | Tile] = []
    at = 0
    for match in _DIRECTIVE.finditer(text):
        pieces.append(text[at : match.start()])
        at = match.end()
        if match[5] == "%":
            pieces.append("%")
            continue
        if not values:
            raise ctx.refused("FT205", "`printf` has more directives than values")
        value = operand(ctx, values.pop(0), "value of `printf`")
        tile = value if isinstance(value, Tile) else Tile(materialise(ctx, value))
        _check(ctx, match[0], match[5], match[1] + match[2] + (match[3] or ""), tile.type.dtype)
        pieces.append(tile)
    if values:
        raise ctx.refused("FT205", "`printf` has more values than directives")
    return _emit(ctx, [*pieces, text[at:]])


def _check(ctx: Context, whole: str, letter: str, detail: str, dtype: DType) -> None:
    """Refuses a directive that `%i` and `%f` do not say, or that does not fit the type."""
    floats, integers = "eEfFgGaA", "diuoxX"
    if letter not in (floats if dtype.is_float else integers):
        raise ctx.refused("FT203", f"`{whole}` does not fit a value of {dtype}")
    plain = letter in ("d", "i") or (letter == "u" and dtype.kind is Kind.UNSIGNED) or letter == "f"
    if detail or not plain:
        raise ctx.refused("FT302", f"the format `{whole}` cannot be written in cutile 0.5: use `%d` or `%f`")


def _spec(ctx: Context, tile: Tile, spec: str | None) -> Tile:
    """A value of an f-string with the format that follows it."""
    if spec not in (None, "", "f" if tile.type.dtype.is_float else "d"):
        raise ctx.refused("FT302", f"the format `:{spec}` cannot be written in cutile 0.5: leave it out")
    return tile


def _assert(ctx: Context, args: Arguments) -> Abstract:
    value = args.operand("cond")
    message = args.get("message")
    if not isinstance(message, Const) or not isinstance(message.value, (str, type(None))):
        raise args.refused("message", "FT205", "the message of `assert_` must be a constant string")
    condition = value.value if isinstance(value, Tile) else materialise(ctx, value)
    if condition.type != _bool_like(condition):
        raise args.refused("cond", "FT203", f"`assert_` needs a bool, not {describe(value)}")
    ctx.builder.effect("assert", (condition,), ctx.span, message=message.value or "")
    return NONE


def _bool_like(value: Value) -> object:
    return TileType(dtypes.BOOL, tile_of(value).shape)


FUNCTIONS = {"assert_": Spec("cond message?", _assert)}
VARIADIC = {"print": print_values, "printf": print_format}
"""Functions that take any number of arguments."""

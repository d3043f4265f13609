"""Python's builtins in a kernel, as far as cuTile Python has them."""

from __future__ import annotations

from collections.abc import Mapping

from ferrotile.frontends.cutile import branches, elementwise, records, shapes
from ferrotile.frontends.cutile.arguments import Arguments, Call, Spec, bind
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.strings import text_of
from ferrotile.frontends.cutile.values import (
    Abstract,
    Const,
    DictOf,
    DTypeOf,
    IndexRange,
    RangeOf,
    Record,
    Tile,
    TupleOf,
    describe,
)
from ferrotile.signatures.dtype_names import NAMES

_CASTS = {"int": int, "float": float}


_INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("enumerate", "zip", "reversed", "map", "filter", "sorted"), "; `ct.static_iter(...)` takes it"),
    **dict.fromkeys(
        ("sum", "round", "any", "all", "pow", "list", "set"), "; for constants, write `ct.static_eval(...)`"
    ),
    "isinstance": "; compare `.dtype` or `.shape` instead",
    "type": "; compare `.dtype` or `.shape` instead",
    "hasattr": "; pass a constant that tells",
}
"""What to do where a builtin is not supported."""


def builtin(ctx: Context, name: str, made: Call) -> Abstract:
    """The call of a builtin; refused when cuTile Python does not have it."""
    if name in elementwise.BUILTINS:
        spec = elementwise.BUILTINS[name]
        return spec.handler(ctx, bind(ctx, made, spec.parameters))
    found = _TABLE.get(name)
    if found is None:
        raise ctx.refused("FT205", f"`{name}()` is not supported in device code{_INSTEAD.get(name, '')}")
    return found.handler(ctx, bind(ctx, made, found.parameters))


def _len(ctx: Context, args: Arguments) -> Abstract:
    match args.get("x"):
        case TupleOf(items=items) | DictOf(items=items):
            return Const(len(items))
        case Record() as record if (found := records.special(ctx, record, "len")) is not None:
            return found
        case value:
            raise ctx.refused("FT203", f"{describe(value)} has no len()")


def _cast(ctx: Context, args: Arguments) -> Abstract:
    value = args.values.get("x", Const(0))
    if not isinstance(value, Const):
        raise ctx.refused("FT205", f"`{args.name}()` expects a constant: use `.astype(...)`")
    raw = ctx.literal(value)
    try:
        return Const(_CASTS[args.name](raw))
    except (ValueError, TypeError, OverflowError):
        raise ctx.refused("FT203", f"`{args.name}()` of {describe(value)} has no value") from None


def _bool(ctx: Context, args: Arguments) -> Abstract:
    value = args.values.get("x", Const(False))
    if isinstance(value, Tile):
        return shapes.constructor(ctx, DTypeOf(NAMES["bool"]), args)
    found = branches.truth(ctx, value)
    assert isinstance(found, bool)
    return Const(found)


def _tuple(ctx: Context, args: Arguments) -> Abstract:
    value = args.values.get("x", TupleOf(()))
    if isinstance(value, TupleOf):
        return value
    raise ctx.refused("FT203", f"{describe(value)} cannot become a tuple")


def _range(ctx: Context, made: Call) -> Abstract:
    if made.keywords or not 1 <= len(made.positional) <= 3:
        raise ctx.refused("FT205", "`range` takes one to three positional arguments")
    match made.positional:
        case (stop,):
            return RangeOf(Const(0), stop, Const(1))
        case (start, stop):
            return RangeOf(start, stop, Const(1))
        case _:
            return RangeOf(*made.positional)


def range_(ctx: Context, made: Call) -> Abstract:
    """`range(...)`: its bounds are looked at where a `for` goes through it."""
    return _range(ctx, made)


def _slice(ctx: Context, args: Arguments) -> Abstract:
    return IndexRange(args.get("start"), args.get("stop"), args.get("step"))


def _getattr(ctx: Context, args: Arguments) -> Abstract:
    name = args.get("name")
    if not isinstance(name, Const) or not isinstance(name.value, str):
        raise args.refused("name", "FT203", f"an attribute's name must be a constant string, not {describe(name)}")
    return ctx.attribute(args.get("object"), name.value)


def _str(ctx: Context, args: Arguments) -> Abstract:
    return text_of(ctx, args.get("x"))


def _repr(ctx: Context, args: Arguments) -> Abstract:
    value = args.get("x")
    if isinstance(value, Const) and isinstance(value.value, str):
        return Const(repr(value.value))
    return text_of(ctx, value)


_TABLE: dict[str, Spec] = {
    "len": Spec("x", _len),
    "int": Spec("x?", _cast),
    "float": Spec("x?", _cast),
    "bool": Spec("x?", _bool),
    "tuple": Spec("x?", _tuple),
    "slice": Spec("start stop step", _slice),
    "getattr": Spec("object name", _getattr),
    "str": Spec("x", _str),
    "repr": Spec("x", _repr),
}

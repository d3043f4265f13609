"""Binding of call arguments to the parameters of `cuda.tile` functions, and reading them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from msgspec import Struct

from ferrotile.frontends.cutile.arithmetic import Mode
from ferrotile.frontends.cutile.conversion import Operand
from ferrotile.frontends.cutile.environment import Context, Poisoned, Refused
from ferrotile.frontends.cutile.values import (
    NONE,
    Abstract,
    Array,
    Const,
    DTypeOf,
    Global,
    Poison,
    Tile,
    TupleOf,
    Unusable,
    describe,
)
from ferrotile.program.dtypes import DType
from ferrotile.program.types import Shape, Size
from ferrotile.syntax.span import Span

ROUNDINGS = {
    "RN": "nearest_even",
    "RZ": "zero",
    "RM": "negative_inf",
    "RP": "positive_inf",
    "RA": "nearest_away",
    "RZI": "nearest_int_to_zero",
    "APPROX": "approx",
    "FULL": "full",
}
PADDINGS = {
    "UNDETERMINED": None,
    "ZERO": "zero",
    "NEG_ZERO": "neg_zero",
    "NAN": "nan",
    "POS_INF": "pos_inf",
    "NEG_INF": "neg_inf",
}
_MAX_ELEMENTS = 1 << 24


class Call(Struct, frozen=True):
    """The evaluated arguments of one call, and where each was written."""

    name: str
    positional: tuple[Abstract, ...]
    keywords: Mapping[str, Abstract]
    spans: tuple[Span, ...]
    keyword_spans: Mapping[str, Span]


class Spec(Struct, frozen=True):
    """Parameters in order; `name?` has a default, after `*` keywords only."""

    parameters: str
    handler: Callable[[Context, Arguments], Abstract]


class Arguments(Struct):
    """Bound arguments with typed readers; each reader refuses at the argument's own span."""

    ctx: Context
    name: str
    values: dict[str, Abstract]
    spans: dict[str, Span]

    def has(self, name: str) -> bool:
        return self.values.get(name, NONE) != NONE

    def refused(self, name: str, code: str, message: str) -> Refused:
        """The exception that refuses an argument; to be raised."""
        return self.ctx.refused(code, message, self.spans.get(name))

    def get(self, name: str) -> Abstract:
        value = self.values.get(name, NONE)
        if isinstance(value, Poison):
            raise Poisoned
        if isinstance(value, Unusable):
            raise self.ctx.unusable(value, self.spans.get(name))
        return value

    def operand(self, name: str) -> Operand:
        value = self.get(name)
        if isinstance(value, Tile):
            return value
        if isinstance(value, Const) and isinstance(value.value, (bool, int, float)):
            return value
        raise self.refused(
            name, "FT203", f"`{name}` of `{self.name}` must be a tile or a number, not {describe(value)}"
        )

    def array(self, name: str = "array") -> Array:
        value = self.get(name)
        if isinstance(value, Array):
            return value
        raise self.refused(name, "FT203", f"`{name}` of `{self.name}` must be an array, not {describe(value)}")

    def dtype(self, name: str = "dtype") -> DType:
        value = self.get(name)
        if isinstance(value, DTypeOf):
            return value.dtype
        if isinstance(value, Global) and value.dotted == "cuda.tile.float8_e5m3fnu":
            raise self.refused(name, "FT301", "`ct.float8_e5m3fnu`, which sm_107 alone has, has no translation yet")
        raise self.refused(name, "FT203", f"`{name}` of `{self.name}` must be an element type, not {describe(value)}")

    def integer(self, name: str) -> int:
        value = self.get(name)
        if isinstance(value, Const) and isinstance(value.value, int) and not isinstance(value.value, bool):
            found = self.ctx.literal(value)
            assert isinstance(found, int)
            return found
        raise self.refused(
            name, "FT205", f"`{name}` of `{self.name}` must be a constant integer, not {describe(value)}"
        )

    def flag(self, name: str) -> bool:
        value = self.values.get(name, Const(False))
        if isinstance(value, Const) and isinstance(value.value, (bool, int)):
            return bool(self.ctx.literal(value))
        raise self.refused(name, "FT205", f"`{name}` of `{self.name}` must be a constant bool, not {describe(value)}")

    def items(self, name: str) -> tuple[Abstract, ...]:
        """A tuple's items; anything else counts as a tuple of one."""
        value = self.get(name)
        return value.items if isinstance(value, TupleOf) else (value,)

    def ints(self, name: str) -> tuple[int, ...]:
        """A constant integer or a tuple of them."""
        out: list[int] = []
        for item in self.items(name):
            if not isinstance(item, Const) or not isinstance(item.value, int):
                raise self.refused(name, "FT205", f"`{name}` of `{self.name}` must be constant integers")
            found = self.ctx.literal(item)
            assert isinstance(found, int)
            out.append(found)
        return tuple(out)

    def shape(self, name: str = "shape") -> Shape:
        """A tile shape: constant powers of two, which keep the names of constant parameters."""
        sizes: list[Size] = []
        count = 1
        for k, item in enumerate(self.items(name)):
            if not isinstance(item, Const) or not isinstance(item.value, int) or isinstance(item.value, bool):
                raise self.refused(
                    name,
                    "FT204",
                    f"dimension {k} of the shape must be a constant integer, not {describe(item)}",
                )
            if item.value < 1 or item.value & (item.value - 1):
                raise self.refused(name, "FT204", f"dimension {k} of the shape is {item.value}: not a power of two")
            count *= item.value
            sizes.append(Size(item.value, item.symbol))
        if count > _MAX_ELEMENTS:
            raise self.refused(name, "FT204", f"a tile of {count} elements is too large")
        return tuple(sizes)

    def member(self, name: str, enum: str, table: Mapping[str, str | None]) -> str | None:
        """The meaning of a member of `cuda.tile.<enum>`; None when absent."""
        value = self.get(name)
        if value == NONE:
            return None
        prefix = f"cuda.tile.{enum}."
        if isinstance(value, Global) and value.dotted.startswith(prefix):
            member = value.dotted.removeprefix(prefix)
            if member in table:
                return table[member]
            raise self.refused(name, "FT301", f"`{enum}.{member}` has no translation yet in `{self.name}`")
        raise self.refused(
            name, "FT205", f"`{name}` of `{self.name}` must be a member of `ct.{enum}`, not {describe(value)}"
        )

    def mode(self) -> Mode:
        """`rounding_mode`, `flush_to_zero`, `propagate_nan`."""
        return Mode(
            self.member("rounding_mode", "RoundingMode", ROUNDINGS),
            self.flag("flush_to_zero") or None,
            self.flag("propagate_nan") or None,
        )


@cache  # of the few texts in the tables of functions, each asked for at every call in a kernel
def _parameters(text: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Positional names, keyword-only names behind a `*`, and those of both that are required: all without a `?`."""
    positional, _, rest = text.partition("*")
    words = (positional.split(), rest.split())
    names, keyword_only = (tuple(w.rstrip("?") for w in part) for part in words)
    return names, keyword_only, tuple(w for part in words for w in part if not w.endswith("?"))


def bind(ctx: Context, call: Call, parameters: str) -> Arguments:
    """Binds by position and name; refuses what does not fit."""
    names, keyword_only, required = _parameters(parameters)
    if len(call.positional) > len(names):
        raise ctx.refused(
            "FT205",
            f"`{call.name}` takes {len(names)} positional arguments, {len(call.positional)} are given",
        )
    values = dict(zip(names, call.positional, strict=False))
    spans = dict(zip(names, call.spans, strict=False))
    for name, value in call.keywords.items():
        if name in values:
            raise ctx.refused("FT205", f"`{call.name}` gets `{name}` twice", call.keyword_spans.get(name))
        if name not in names and name not in keyword_only:
            raise ctx.refused("FT205", f"`{call.name}` has no argument `{name}`", call.keyword_spans.get(name))
        values[name] = value
        spans[name] = call.keyword_spans.get(name, ctx.span)
    missing = [n for n in required if n not in values]
    if missing:
        raise ctx.refused("FT205", f"`{call.name}` misses its argument `{missing[0]}`")
    return Arguments(ctx, call.name, values, spans)

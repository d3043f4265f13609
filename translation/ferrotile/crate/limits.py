"""Upper bounds of index values as host code can compute them: from extents, scalars, constants and the grid."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ferrotile.crate.facts import Atom
from ferrotile.passes.affine import non_negative
from ferrotile.passes.space import Space
from ferrotile.passes.uses import array_of
from ferrotile.program.ir import For, Operation, Value
from ferrotile.program.types import ArrayType, ViewType


class Leaf(Struct, frozen=True):
    """A number, a constant, a scalar, or `x.shape[0]`."""

    atom: Atom


class Blocks(Struct, frozen=True):
    """Blocks of the Python's grid along an axis."""

    axis: int


class Apply(Struct, frozen=True):
    """`tiles` (division that rounds up), `/`, `+`, `-`, `*` or `min` of two numbers."""

    function: str
    left: Expression
    right: Expression


Expression = Leaf | Blocks | Apply


class Limit(Struct, frozen=True):
    """The index of a tile of `array` along `axis` is below `limit`; inside, if that is at most the number of tiles."""

    array: str
    axis: int
    tile: Atom
    limit: Expression


class Limits:
    """Of the values of one program."""

    def __init__(self, space: Space, names: Mapping[int, str]) -> None:
        self._space, self._names = space, names

    def below(self, value: Value) -> Expression | None:
        """A number that an index, which is not negative, is below; None where none is known."""
        source = self._space.defined.get(value.id)
        if isinstance(source, For) and value.id == source.variable.id:
            return self.value(source.upper) if non_negative(source.lower, self._space.defined) else None
        remainder = self._space.remainder(value)
        if remainder is not None:
            return self.value(remainder[1])
        if not isinstance(source, Operation):
            return None
        a, b = (*source.operands, None, None)[:2]
        match source.opcode:
            case "block_id":
                return Blocks(int(str(source.attribute("axis"))))
            case "constant" | "const_param" if non_negative(value, self._space.defined):
                known = self.value(value)
                return None if known is None else Apply("+", known, Leaf(1))
            case "divi" if a is not None and b is not None and source.attribute("rounding") != "positive_inf":
                return _apply("tiles", self.below(a), self.value(b))
            case "addi" if a is not None and b is not None:
                total = _apply("+", self.below(a), self.below(b))
                return None if total is None else Apply("-", total, Leaf(1))
            case "muli" if a is not None and b is not None:
                first, second = self.below(a), self.below(b)
                if first is None or second is None:
                    return None
                most = Apply("*", Apply("-", first, Leaf(1)), Apply("-", second, Leaf(1)))
                return Apply("+", most, Leaf(1))
            case "mini" if a is not None and b is not None:
                return self.below(a) or self.below(b)
            case _:
                return None

    def value(self, value: Value) -> Expression | None:
        """A number that a value equals, or is not above."""
        source = self._space.defined.get(value.id)
        if source is None:
            name = self._names.get(value.id)
            return None if name is None or isinstance(value.type, ArrayType) else Leaf(name)
        if not isinstance(source, Operation):
            return None
        a, b = (*source.operands, None, None)[:2]
        match source.opcode:
            case "constant":
                number = source.attribute("value")
                return Leaf(number) if type(number) is int and number >= 0 else None
            case "const_param":
                return Leaf(str(source.attribute("name")))
            case "num_blocks":
                return Blocks(int(str(source.attribute("axis"))))
            case "extent" if a is not None:
                return self._extent(a, int(str(source.attribute("axis"))))
            case "num_tiles" if a is not None and isinstance(a.type, ViewType):
                axis = int(str(source.attribute("axis")))
                size = a.type.tile[axis]
                return _apply("tiles", self._extent(a, a.type.dim_map[axis]), Leaf(size.symbol or size.value))
            case "divi" if a is not None and b is not None:
                function = "tiles" if source.attribute("rounding") == "positive_inf" else "/"
                return _apply(function, self.value(a), self._exact(b))
            case "addi" if a is not None and b is not None:
                return _apply("+", self.value(a), self.value(b))
            case "subi" if a is not None and b is not None:
                return _apply("-", self.value(a), self._exact(b))
            case "muli" if a is not None and b is not None and self._natural(a) and self._natural(b):
                return _apply("*", self.value(a), self.value(b))
            case "mini" if a is not None and b is not None:
                first, second = self.value(a), self.value(b)
                return first or second if first is None or second is None else Apply("min", first, second)
            case "exti" if a is not None:
                return self.value(a)
            case _:
                return None

    def remainder_of_natural(self, value: Value) -> bool:
        """Whether this is Python's remainder by something that is not negative."""
        found = self._space.remainder(value)
        return found is not None and self._natural(found[1])

    def _natural(self, value: Value) -> bool:
        return non_negative(value, self._space.defined)

    def _exact(self, value: Value) -> Expression | None:
        """A value that no `min` stands for."""
        source = self._space.defined.get(value.id)
        whole = isinstance(source, Operation) and source.opcode in ("constant", "const_param", "extent", "num_tiles")
        return self.value(value) if whole else None

    def _extent(self, value: Value, axis: int) -> Expression | None:
        source = self._space.defined.get(value.id)
        if isinstance(source, Operation) and source.opcode == "make_view":
            value = source.operands[0]
        if not isinstance(value.type, ArrayType) or array_of(value, self._space.defined) is not value:
            return None
        name = self._names.get(value.id)
        return None if name is None else Leaf(f"{name}.shape[{axis}]")


def _apply(function: str, left: Expression | None, right: Expression | None) -> Expression | None:
    return None if left is None or right is None else Apply(function, left, right)

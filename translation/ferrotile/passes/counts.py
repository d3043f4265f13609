"""Numbers of tiles and blocks: what a value, a grid axis or an array's axis counts, as factors that compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ferrotile.passes.space import Space
from ferrotile.passes.uses import array_of
from ferrotile.program.ir import Operation, Program, Value
from ferrotile.program.types import ViewType
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, ScalarArgument, Signature

Extent = str | int


class Counts:
    """Reads counts of one program under one signature. An extent that a constant names is that constant's value.
    `safe`: launch facts are worth more than speed, for the sake of a form without `unsafe`."""

    def __init__(self, program: Program, signature: Signature, space: Space, safe: bool = False) -> None:
        self.safe = safe
        self._space = space
        self._names = {p.value.id: p.name for p in program.parameters}
        self._scalars = {a.name: a.extent for a in signature.arguments if isinstance(a, ScalarArgument)}
        self._extents = {a.name: a.extents for a in signature.arguments if isinstance(a, ArrayArgument)}
        self._constants: Mapping[str, int] = {
            a.name: a.value
            for a in signature.arguments
            if isinstance(a, ConstantArgument) and isinstance(a.value, int) and not isinstance(a.value, bool)
        }

    def extent(self, name: str, axis: int) -> Extent:
        """An array's extent: a number if known, else its symbol, else `x.shape[1]`."""
        extents = self._extents.get(name, ())
        extent = extents[axis] if axis < len(extents) else f"{name}.shape[{axis}]"
        return self._constants.get(extent, extent) if isinstance(extent, str) else extent

    def factor(self, extent: Extent, tile: int) -> GridFactor:
        """`cdiv(extent, tile)`, as one number where it is known."""
        extent = self._constants.get(extent, extent) if isinstance(extent, str) else extent
        return GridFactor(-(-extent // tile)) if isinstance(extent, int) else GridFactor(extent, tile)

    def tiles(self, name: str, axis: int, tile: int) -> GridFactor:
        """The tiles along an axis of an array."""
        return self.factor(self.extent(name, axis), tile)

    def of(self, value: Value) -> GridFactor | None:
        """What a value counts: `cdiv(x.shape[0], TM)`, `num_tiles`, an extent, a number."""
        known = self._space.form(value).known
        if known is not None:
            return GridFactor(known)
        source = self._space.defined.get(value.id)
        if source is None:
            passed = self._scalars.get(self._names.get(value.id, ""))
            return None if passed is None else self.factor(passed, 1)
        if not isinstance(source, Operation):
            return None
        match source.opcode:
            case "extent":
                name = self._array(source.operands[0])
                return None if name is None else self.tiles(name, int(str(source.attribute("axis"))), 1)
            case "divi" if source.attribute("rounding") == "positive_inf":
                inner, tile = self.of(source.operands[0]), self._space.form(source.operands[1]).known
                if inner is None or inner.tile != 1 or tile is None:
                    return None
                return self.factor(inner.extent, tile)
            case "divi":
                return self._rounded_up(source)
            case "num_tiles":
                return self._view_tiles(source)
        return None

    def _rounded_up(self, source: Operation) -> GridFactor | None:
        """`(n + tile - 1) // tile` of an extent n, which is at least 1."""
        tile = self._space.form(source.operands[1]).known
        total = self._space.form(source.operands[0])
        if tile is None or tile < 1 or len(total.terms) != 1 or total.terms[0][1] != 1 or total.constant != tile - 1:
            return None
        symbol = total.terms[0][0]
        inner = self._space.source(symbol)
        if inner is None and symbol.startswith("v"):
            passed = self._scalars.get(self._names.get(int(symbol[1:]), ""))
            extent = None if passed is None else self.factor(passed, 1)
        else:
            extent = self.of(inner.result) if isinstance(inner, Operation) and len(inner.results) == 1 else None
        return self.factor(extent.extent, tile) if extent is not None and extent.tile == 1 else None

    def own(self, name: str, axis: int, rank: int, tile: int) -> tuple[GridFactor, ...]:
        """The tiles along an axis of an array that the Rust sees with `rank` axes: the leading ones are merged."""
        merged = len(self._extents.get(name, ())) - rank
        if merged <= 0:
            return normal((self.tiles(name, axis, tile),))
        if axis > 0:
            return normal((self.tiles(name, axis + merged, tile),))
        return normal(self.tiles(name, d, 1) for d in range(merged + 1))

    def total(self, value: Value) -> tuple[GridFactor, ...] | None:
        """The factors of a product of counts."""
        found = self.of(value)
        if found is not None:
            return normal((found,))
        source = self._space.defined.get(value.id)
        if not isinstance(source, Operation) or source.opcode != "muli":
            return None
        parts = [self.total(v) for v in source.operands]
        return None if None in parts else normal(f for part in parts if part is not None for f in part)

    def known(self, value: Value) -> int | None:
        """A value that is known here."""
        form = self._space.form(value)
        if form.known is not None:
            return form.known
        factor = self.of(value)
        return factor.extent if factor is not None and isinstance(factor.extent, int) else None

    def _array(self, value: Value) -> str | None:
        found = array_of(value, self._space.defined)
        return self._names.get(found.id) if found is not None else None

    def _view_tiles(self, source: Operation) -> GridFactor | None:
        view, axis = source.operands[0].type, int(str(source.attribute("axis")))
        name = self._array(source.operands[0])
        if not isinstance(view, ViewType) or name is None or source.operands[0].id not in self._space.defined:
            return None
        return self.tiles(name, view.dim_map[axis], view.tile[axis].value)

    def grid(self, signature: Signature, axis: int) -> tuple[GridFactor, ...] | None:
        """The factors of a grid axis, those that are 1 left out; None where the grid is unknown."""
        if signature.grid is None:
            return None
        factors = signature.grid[axis] if axis < len(signature.grid) else ()
        return normal(self.factor(f.extent, f.tile) for f in factors)


def normal(factors: Iterable[GridFactor]) -> tuple[GridFactor, ...]:
    """Numbers multiplied together and put first; 1 left out."""
    number = 1
    rest: list[GridFactor] = []
    for f in factors:
        if isinstance(f.extent, int):
            number *= -(-f.extent // f.tile)
        else:
            rest.append(f)
    rest.sort(key=lambda f: (str(f.extent), f.tile))
    return (*((GridFactor(number),) if number != 1 else ()), *rest)


def product(factors: Sequence[GridFactor]) -> str:
    """`cdiv(M, 128) * H`"""
    return " * ".join(map(text, factors)) or "1"


def text(factor: GridFactor) -> str:
    """`cdiv(M, 128)`, `M`, `32`."""
    return str(factor.extent) if factor.tile == 1 else f"cdiv({factor.extent}, {factor.tile})"

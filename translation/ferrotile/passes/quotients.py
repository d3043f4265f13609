"""Scalar index arithmetic for view lifting: the tile that an element index starts, and whether it touches the array."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from ferrotile.passes.affine import non_negative
from ferrotile.passes.lanes import Start
from ferrotile.program import dtypes
from ferrotile.program.ir import For, Operation, Statement, Value
from ferrotile.program.types import Size, TileType, ViewType
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, ScalarArgument, Signature
from ferrotile.syntax.span import Span

I32 = TileType(dtypes.I32)
Extent = str | int


class Scalars(Struct):
    """Makes scalar operations in front of an access; `made` holds them in order."""

    defined: dict[int, Statement]
    constants: Mapping[str, int]
    next_id: int
    span: Span
    made: list[Operation] = field(default_factory=list)
    pins: bool = False
    """Whether constants may be taken at their values, for which alone the program then holds."""
    pinned: list[str] = field(default_factory=list)

    def pin(self, name: str | None) -> bool:
        """Takes a constant at its value, if that is allowed."""
        if self.pins and name is not None:
            self.pinned.append(name)
        return self.pins or name is None

    def emit(self, opcode: str, operands: tuple[Value, ...], type_: TileType, **attributes: float | str) -> Value:
        value = Value(self.next_id, type_)
        self.next_id += 1
        operation = Operation(opcode, operands, (value,), tuple(attributes.items()), self.span)
        self.made.append(operation)
        self.defined[value.id] = operation
        return value

    def constant(self, number: int) -> Value:
        return self.emit("constant", (), I32, value=number)

    def size(self, size: Size) -> Value:
        """A tile's extent as a scalar."""
        if size.symbol is not None:
            return self.emit("const_param", (), I32, name=size.symbol)
        return self.constant(size.value)

    def source(self, value: Value) -> Operation | For | None:
        found = self.defined.get(value.id)
        return found if isinstance(found, (Operation, For)) else None

    def number(self, value: Value) -> int | None:
        """A literal constant's value."""
        source = self.source(value)
        if isinstance(source, Operation) and source.opcode == "constant":
            found = source.attribute("value")
            return found if isinstance(found, int) else None
        return None

    def narrow(self, value: Value) -> Value | None:
        """An i32 with the value's number, short of overflow: what an `exti` extends."""
        if value.type == I32:
            return value
        source = self.source(value)
        if isinstance(source, Operation) and source.opcode == "exti":
            inner = source.operands[0]
            assert isinstance(inner.type, TileType)
            return self.narrow(inner) if inner.type.dtype.name.startswith("i") else None
        return None

    def is_size(self, value: Value, size: Size) -> bool:
        """Whether a scalar is a tile's extent, under every value of the constants."""
        source = self.source(value)
        if not isinstance(source, Operation):
            return False
        match source.opcode:
            case "exti":
                return self.is_size(source.operands[0], size)
            case "const_param":
                return size.symbol is not None and source.attribute("name") == size.symbol
            case "constant":
                return size.symbol is None and source.attribute("value") == size.value
            case _:
                return False

    def total(self, starts: tuple[Start, ...], size: Size) -> Value | None:
        """The tile index whose first element is the sum of `starts`; None when that is no multiple of the extent."""
        parts: list[Value] = []
        number = 0
        for start in starts:
            if isinstance(start, int):
                number += start
            elif (literal := self.number(start)) is not None:
                number += literal
            else:
                part = self.quotient(start, size)
                if part is None:
                    return None
                parts.append(part)
        if number % size.value or (number and not self.pin(size.symbol)):
            return None
        if number or not parts:
            parts.append(self.constant(number // size.value))
        found = parts[0]
        for part in parts[1:]:
            found = self.sum(found, part)
        return found

    def sum(self, a: Value, b: Value) -> Value:
        """The sum of two i32, without an operation where one of them is 0."""
        if self.number(a) == 0:
            return b
        return a if self.number(b) == 0 else self.emit("addi", (a, b), I32)

    def quotient(self, value: Value, size: Size) -> Value | None:
        """`value / size` where the division leaves nothing, as i32."""
        if size.value == 1:
            return self.narrow(value)
        source = self.source(value)
        if isinstance(source, For):
            return self._counter(value, source, size)
        if source is None:
            return None
        match source.opcode:
            case "exti":
                return self.quotient(source.operands[0], size)
            case "const_param" if self.is_size(value, size):
                return self.constant(1)
            case "const_param":
                name = str(source.attribute("name"))
                known = self.constants.get(name)
                if known is None or known % size.value or not (self.pin(name) and self.pin(size.symbol)):
                    return None
                return self.constant(known // size.value)
            case "muli":
                for a, b in (source.operands, source.operands[::-1]):
                    if self.is_size(b, size):
                        return self.narrow(a)
                    inner = self.quotient(b, size) if self.narrow(a) is not None else None
                    factor = self.narrow(a)
                    if inner is not None and factor is not None:
                        return factor if self.number(inner) == 1 else self.emit("muli", (factor, inner), I32)
                return None
            case "addi":
                first, second = (self.quotient(v, size) for v in source.operands)
                return None if first is None or second is None else self.sum(first, second)
            case "constant":
                number = self.number(value)
                if number is None or number % size.value or not self.pin(size.symbol):
                    return None
                return self.constant(number // size.value)
            case _:
                return None

    def _counter(self, value: Value, loop: For, size: Size) -> Value | None:
        """A counter that starts at a multiple of the extent and goes in steps of it."""
        if value.id != loop.variable.id or not self.is_size(loop.step, size) or not non_negative(value, self.defined):
            return None
        if self.number(loop.lower) != 0 and self.quotient(loop.lower, size) is None:
            return None
        counter = self.narrow(value)
        if counter is None:
            return None
        return self.emit("divi", (counter, self.size(size)), I32, rounding="negative_inf")


class Bounds(Struct):
    """What is known of extents and of the launch; `hypotheses` collects the facts that were assumed."""

    signature: Signature
    names: Mapping[int, str]
    """Array parameters: value -> name."""
    scalars: Scalars
    hypotheses: list[str] = field(default_factory=list)

    def extent(self, array: Value, axis: int) -> Extent | None:
        """The extent of an array parameter's axis: a number where a constant names it."""
        for argument in self.signature.arguments:
            if isinstance(argument, ArrayArgument) and argument.name == self.names.get(array.id):
                return self.resolved(argument.extents[axis])
        return None

    def resolved(self, extent: Extent) -> Extent:
        for argument in self.signature.arguments:
            if isinstance(argument, ConstantArgument) and argument.name == extent and isinstance(argument.value, int):
                return int(argument.value)
        return extent

    def below_tiles(self, index: Value, extent: Extent, size: int) -> bool:
        """Whether `0 <= index < cdiv(extent, size)`, extents being at least 1."""
        scalars = self.scalars
        number = scalars.number(index)
        if number is not None:
            return number == 0 or (number > 0 and isinstance(extent, int) and number * size < extent)
        source = scalars.source(index)
        if isinstance(source, For):
            if index.id != source.variable.id or not non_negative(index, scalars.defined):
                return False
            return self._limit(source.upper, extent, size)
        if source is None:
            return False
        match source.opcode:
            case "block_id":
                return self._grid(int(str(source.attribute("axis"))), extent, size)
            case "divi" if source.attribute("rounding") in (None, "zero", "negative_inf"):
                return self._divided(source, extent, size)
            case "remi":
                divisor = source.operands[1]
                return non_negative(index, scalars.defined) and self._limit(divisor, extent, size)
            case "mini":
                known = all(non_negative(v, scalars.defined) for v in source.operands)
                return known and any(self.below_tiles(v, extent, size) for v in source.operands)
            case _:
                return False

    def _divided(self, source: Operation, extent: Extent, size: int) -> bool:
        """A loop counter in steps of the tile's extent, divided by it."""
        counter, by = source.operands
        loop = self.scalars.source(counter)
        if not isinstance(loop, For) or counter.id != loop.variable.id or self._value(by) != size:
            return False
        if not non_negative(counter, self.scalars.defined):
            return False
        return self._limit(loop.upper, extent, 1)

    def _value(self, value: Value) -> int | None:
        number = self.scalars.number(value)
        if number is not None:
            return number
        source = self.scalars.source(value)
        if isinstance(source, Operation) and source.opcode == "const_param":
            return self.scalars.constants.get(str(source.attribute("name")))
        return None

    def _limit(self, value: Value, extent: Extent, size: int) -> bool:
        """Whether `value <= cdiv(extent, size)`."""
        known = self._value(value)
        if known is not None:
            return isinstance(extent, int) and known <= -(-extent // size)
        source = self.scalars.source(value)
        if source is None:
            return size == 1 and self._same(self._passed(value), extent)
        if not isinstance(source, Operation):
            return False
        match source.opcode:
            case "exti":
                return self._limit(source.operands[0], extent, size)
            case "extent":
                return size == 1 and self._same(self._extent_of(source), extent)
            case "num_tiles":
                made = self.scalars.source(source.operands[0])
                if not isinstance(made, Operation):
                    return False
                view = source.operands[0].type
                axis = int(str(source.attribute("axis")))
                assert isinstance(view, ViewType)
                counted = self.extent(made.operands[0], view.dim_map[axis])
                return view.tile[axis].value == size and self._same(counted, extent)
            case "divi" if source.attribute("rounding") == "positive_inf":
                total, by = source.operands
                return self._value(by) == size and self._limit(total, extent, 1)
            case "divi":
                rounds = self.scalars.pins and self._value(source.operands[1]) == size
                return rounds and self._rounded_up(source.operands[0], extent, size)
            case "mini":
                return any(self._limit(v, extent, size) for v in source.operands)
            case _:
                return False

    def _rounded_up(self, total: Value, extent: Extent, size: int) -> bool:
        """Whether a sum is an extent and less than a tile more."""
        source = self.scalars.source(total)
        if not isinstance(source, Operation) or source.opcode not in ("addi", "subi"):
            return False
        first, second = source.operands
        known = self._value(second)
        if known is not None:
            more = known if source.opcode == "addi" else -known
            return (0 <= more < size and self._limit(first, extent, 1)) or (
                more < 0 and self._plus_tile(first, extent, size)
            )
        return (
            source.opcode == "addi"
            and (known := self._value(first)) is not None
            and (0 <= known < size and self._limit(second, extent, 1))
        )

    def _plus_tile(self, total: Value, extent: Extent, size: int) -> bool:
        """Whether a sum is an extent and a tile."""
        source = self.scalars.source(total)
        if not isinstance(source, Operation) or source.opcode != "addi":
            return False
        pairs = (source.operands, source.operands[::-1])
        return any(self._value(b) == size and self._limit(a, extent, 1) for a, b in pairs)

    def _passed(self, value: Value) -> Extent | None:
        """The extent that every launch passes for a scalar."""
        name = self.names.get(value.id)
        found = next((a for a in self.signature.arguments if isinstance(a, ScalarArgument) and a.name == name), None)
        return None if found is None or found.extent is None else self.resolved(found.extent)

    def _extent_of(self, source: Operation) -> Extent | None:
        return self.extent(source.operands[0], int(str(source.attribute("axis"))))

    @staticmethod
    def _same(a: Extent | None, b: Extent) -> bool:
        return a is not None and a == b

    def _grid(self, axis: int, extent: Extent, size: int) -> bool:
        """Whether the grid has at most `cdiv(extent, size)` blocks along `axis`; assumed when the grid is unknown."""
        grid = self.signature.grid
        if grid is None:
            want = str(extent) if size == 1 else f"cdiv({extent}, {size})"
            text = f"grid.{'xyz'[axis]} = {want}"
            if text not in self.hypotheses:
                self.hypotheses.append(text)
            return True
        factors = grid[axis] if axis < len(grid) else ()
        return self._product(factors, extent, size)

    def _product(self, factors: tuple[GridFactor, ...], extent: Extent, size: int) -> bool:
        resolved = [(self.resolved(f.extent), f.tile) for f in factors]
        numbers = [-(-e // t) for e, t in resolved if isinstance(e, int)]
        if len(numbers) == len(resolved):
            blocks = 1
            for n in numbers:
                blocks *= n
            return blocks == 1 or (isinstance(extent, int) and blocks <= -(-extent // size))
        return len(resolved) == 1 and resolved[0] == (extent, size)

"""What a kernel's index values are made of: block ids, loop counters, data, and the conditions around an access."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from msgspec import Struct

from ferrotile.passes.affine import Affine, affine
from ferrotile.passes.remainders import python_remainder
from ferrotile.passes.uses import definitions, regions
from ferrotile.program.ir import Block, For, If, Loop, Operation, Program, Statement, Value
from ferrotile.signatures.model import ConstantArgument, GridFactor, Signature

DATA = "data"
"""The dependence of a value that comes from memory."""
_READS = frozenset(("load_view", "load_ptr", "gather", "atomic_rmw", "atomic_cas", "load_special"))


def one_block(factors: tuple[GridFactor, ...]) -> bool:
    """Whether a grid axis is known to have one block."""
    return all(isinstance(f.extent, int) and -(-f.extent // f.tile) == 1 for f in factors)


class Guard(Struct, frozen=True):
    """A branch around an access, and the arm that the access is in."""

    statement: If
    then: bool


class Space:
    """Values of one program under one signature, equal computations as one."""

    def __init__(self, program: Program, signature: Signature) -> None:
        self.defined = definitions(program.body)
        self.signature = signature
        self.numbers = {c.name: int(c.value) for c in program.constants}
        self._named = {
            a.name: a.value
            for a in signature.arguments
            if isinstance(a, ConstantArgument) and isinstance(a.value, int) and not isinstance(a.value, bool)
        }
        self.guards: dict[int, tuple[Guard, ...]] = {}
        self.assumed: dict[int, int] = {}
        """Blocks along axes of an unknown grid, while a proof asks what they would have to be."""
        self._keys: dict[int, Hashable] = {}
        self._first: dict[Hashable, int] = {}
        self._walk(program.body, ())
        used = {int(str(o.attribute("axis"))) for o in self._operations() if o.opcode == "block_id"}
        self.used = frozenset(used)
        self.many = frozenset(k for k in range(3) if self._several(k, used))

    def _operations(self) -> Iterator[Operation]:
        return (s for s in self.defined.values() if isinstance(s, Operation))

    def _several(self, axis: int, used: set[int]) -> bool:
        grid = self.signature.grid
        if grid is None:
            return axis in used or axis == 0
        return axis < len(grid) and not one_block(grid[axis])

    def blocks(self, axis: int) -> int | None:
        """How many blocks the grid has along an axis at most, where that is a number."""
        grid = self.signature.grid
        if axis in self.assumed or grid is None or axis >= len(grid):
            return self.assumed.get(axis)
        total = 1
        for factor in grid[axis]:
            extent = factor.extent if isinstance(factor.extent, int) else self._named.get(factor.extent)
            if extent is None:
                return None
            total *= -(-extent // factor.tile)
        return total

    def _walk(self, block: Block, guards: tuple[Guard, ...]) -> None:
        for statement in block.statements:
            if isinstance(statement, Operation):
                self.guards[id(statement)] = guards
                continue
            for number, region in enumerate(regions(statement)):
                inner = (*guards, Guard(statement, number == 0)) if isinstance(statement, If) else guards
                self._walk(region, inner)

    def key(self, value: Value) -> Hashable:
        """Equal for values that are computed alike."""
        if value.id not in self._keys:
            self._keys[value.id] = ("value", value.id)
            source = self.defined.get(value.id)
            if isinstance(source, Operation) and source.opcode not in _READS and len(source.results) == 1:
                parts = tuple(self.key(v) for v in source.operands)
                self._keys[value.id] = (source.opcode, source.attributes, parts)
        return self._keys[value.id]

    def same(self, a: Value, b: Value) -> bool:
        """Whether two values are the same computation, or equal constants."""
        if self.key(a) == self.key(b):
            return True
        known = self.form(a).known
        return known is not None and known == self.form(b).known

    def form(self, value: Value) -> Affine:
        """The affine form; what is computed alike has one symbol."""
        raw = affine(value, self.defined, self.numbers)
        total = Affine(raw.constant)
        for symbol, k in raw.terms:
            total = total.plus(Affine(0, ((self._canonical(symbol), k),)))
        return total

    def _canonical(self, symbol: str) -> str:
        if not symbol.startswith("v"):
            return symbol
        number = int(symbol[1:])
        source = self.defined.get(number)
        if not isinstance(source, Operation) or len(source.results) != 1:
            return symbol
        return f"v{self._first.setdefault(self.key(source.result), number)}"

    def source(self, symbol: str) -> Statement | None:
        """What defines an opaque symbol."""
        return self.defined.get(int(symbol[1:])) if symbol.startswith("v") else None

    def remainder(self, value: Value) -> tuple[Value, Value] | None:
        """The a and b of `a % b`, as the operation or as Python's remainder: `select(signs differ, r + b, r)`."""
        source = self.defined.get(value.id)
        if not isinstance(source, Operation):
            return None
        if source.opcode == "remi":
            return source.operands[0], source.operands[1]
        inner = python_remainder(source, self.defined)
        return None if inner is None else (inner.operands[0], inner.operands[1])

    def dependencies(self, value: Value, seen: set[int] | None = None) -> frozenset[str]:
        """Block ids (`bid0`), loop counters (`v7`) and `DATA` that a value depends on."""
        seen = set() if seen is None else seen
        if value.id in seen:
            return frozenset()
        seen.add(value.id)
        source = self.defined.get(value.id)
        match source:
            case None:
                return frozenset()
            case Operation(opcode="block_id"):
                return frozenset((f"bid{source.attribute('axis')}",))
            case Operation():
                found = frozenset((DATA,)) if source.opcode in _READS else frozenset()
                return found.union(*(self.dependencies(v, seen) for v in source.operands))
            case For() if value.id == source.variable.id:
                return frozenset((f"v{value.id}",)) | self.dependencies(source.lower, seen)
            case If():
                at = next(k for k, r in enumerate(source.results) if r.id == value.id)
                ends = [b.terminator.values[at] for b in (source.then, source.otherwise) if b.terminator.values]
                return self.dependencies(source.condition, seen).union(*(self.dependencies(v, seen) for v in ends))
            case For() | Loop():
                return self._carried(source, value, seen)

    def _carried(self, loop: For | Loop, value: Value, seen: set[int]) -> frozenset[str]:
        """A carried value depends on all that the loop starts with and computes; its own count is unknown."""
        found = frozenset((f"v{value.id}",))
        bounds = (loop.lower, loop.upper, loop.step) if isinstance(loop, For) else ()
        for start in (*loop.initial, *bounds):
            found |= self.dependencies(start, seen)
        for inner in definitions(loop.body).values():
            if isinstance(inner, Operation):
                for operand in inner.operands:
                    found |= self.dependencies(operand, seen)
        return found

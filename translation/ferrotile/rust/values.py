"""How each value of a kernel appears in Rust: inlined or with a local of its own, as a scalar or a rank-0 tile."""

from __future__ import annotations

from collections.abc import Container, Sequence, Set

from msgspec import Struct

from ferrotile.passes.facts import Facts
from ferrotile.program.ir import Block, For, Loop, Operation, Statement, Value
from ferrotile.program.types import TileType
from ferrotile.rust.lifetimes import Lifetimes
from ferrotile.rust.operators import floor_form, plain_operator
from ferrotile.rust.targets.cutile_0_5 import OPERATORS, UNTYPED_SCALARS
from ferrotile.rust.tile0 import gives_tile0
from ferrotile.rust.types import has_literal, literal
from ferrotile.rust.unsafe_forms import unsafe_reason

FREE = frozenset(("const_param", "extent", "num_tiles", "num_blocks", "stride"))
_NEVER = frozenset(
    [
        "reduce",
        "scan",
        "insert",
        "pack",
        "unpack",
        "assume_div_by",
        "exti",
        "trunci",
        "bitcast",
        "iota",
        "permute",
        "cat",
        "extract",
        "load_ptr",
        "gather",
        "atomic_rmw",
        "atomic_cas",
        "load_special",
        "slice",
        "base_pointer",
        "offset",
        "block_id",
        "tile_index",
        "make_view",
        "store_view",
        "store_ptr",
        "assert",
    ]
)
_CONVERSIONS = frozenset(("itof", "ftof", "ftoi"))
_SPLATTED = frozenset((*OPERATORS, "select", "fma", "cmpf", "cmpi", "maxf", "minf", "maxi", "mini"))
"""Operations that take a constant as a literal on all lanes."""


class Change(Struct, frozen=True):
    """What follows when a value gets a local: the operations that are written otherwise, and the values that are needed
    for another time."""

    statements: list[Operation]
    moved: Set[int]


class Values:
    """Static facts of a program for emission; `forced` values are named even where they could be inlined."""

    def __init__(self, facts: Facts, forced: Container[int]) -> None:
        self.defined, self.counts = facts.defined, facts.counts
        self.position, self.end = facts.position, facts.end
        self.forced = forced
        self.accesses = facts.accesses
        self._blocks, self._consumers = facts.blocks, facts.consumers
        self._tile0: dict[int, bool] = {}
        self._inline: dict[int, bool] = {}
        self._tails: set[int] = set()
        self.lifetimes = Lifetimes(facts, self.is_inline)

    def named(self, sources: Sequence[Operation]) -> Change:
        """Takes note that the results of these operations are `forced` now."""
        inline, tile0 = self._inline, self._tile0
        self._inline, self._tile0 = dict(inline), dict(tile0)
        plain = all(isinstance(s.result.type, TileType) and s.result.type.shape for s in sources)
        if not plain:  # what is made of a scalar may take another form, too
            self.forget()
        statements, seen = list(sources), {s.result.id for s in sources}
        for source in sources:
            self._inline.pop(source.result.id, None)
        for source in statements:
            for value in self._around(source):
                if value.id in seen:
                    continue
                seen.add(value.id)
                self._inline.pop(value.id, None)
                self._tile0.pop(value.id, None)
                made = self.defined[value.id]
                if value.id not in inline or not isinstance(made, Operation):
                    continue
                other = self.is_inline(value) is not inline[value.id]
                if other or (value.id in tile0 and self.natural_tile0(value) is not tile0[value.id]):
                    statements.append(made)
        moved: set[int] = set()
        stack = [v for s in statements for v in s.operands]
        while stack:
            value = stack.pop()
            if value.id in moved:
                continue
            moved.add(value.id)
            inner = self.defined.get(value.id)
            if isinstance(inner, Operation) and (self.is_inline(value) or inline.get(value.id)):
                stack += inner.operands
        self.lifetimes.forget(moved)
        return Change(statements, moved)

    def _around(self, source: Operation) -> list[Value]:
        """The values whose form may depend on whether that of an operation has a local: its operands, and those beside
        it where it is read."""
        beside = [v for c in self.consumers(source.result) if isinstance(c, Operation) for v in c.operands]
        return [v for v in (*source.operands, *beside) if v.id in self.defined]

    def forget(self) -> None:
        """Lets all be found anew, after `forced` has changed."""
        self._tile0.clear()
        self.lifetimes.forget_all()
        self._inline = dict.fromkeys(self._tails, True)

    def consumers(self, value: Value) -> Sequence[Statement | int]:
        return self._consumers.get(value.id, ())

    def is_free(self, value: Value) -> bool:
        """Whether the value is written out at every use: constants, extents and the like."""
        source = self.defined.get(value.id)
        if not isinstance(source, Operation):
            return False
        if source.opcode in FREE:
            return True
        kind = value.type
        if source.opcode != "constant" or not isinstance(kind, TileType) or kind.shape:
            return False
        number = source.attribute("value")
        return isinstance(number, (int, float)) and has_literal(number, kind.dtype, False)

    def is_inline(self, value: Value) -> bool:
        """Whether the value has no local of its own."""
        found = self._inline.get(value.id)
        if found is None:
            found = self._inline[value.id] = self._find_inline(value)
        return found

    def _find_inline(self, value: Value) -> bool:
        if self.is_free(value):
            return True
        source = self.defined.get(value.id)
        if value.id in self.forced or not isinstance(source, Operation) or source.opcode in _NEVER:
            return False
        if unsafe_reason(source) is not None:
            return False
        if len(source.results) != 1 or self.counts[value.id] != 1:
            return False
        (consumer,) = self.consumers(value)
        if isinstance(consumer, int) or not self.stand_together(source, consumer):
            return False
        return self._allowed(source, value, consumer)

    def _allowed(self, source: Operation, value: Value, consumer: Statement) -> bool:
        kind = value.type
        if not isinstance(kind, TileType) or kind.pointer:
            return False
        if source.opcode == "constant":
            return self._constant_inline(source, kind, value, consumer) or self._splats(source, kind, value, consumer)
        if value.name is not None and not self._rebound(source, value, consumer):
            return False
        if self._untyped_comparison(source, consumer):
            return False
        if source.opcode in _CONVERSIONS and (kind.shape or self.is_tile0(source.operands[0])):
            return False
        if isinstance(consumer, (For, Loop)):
            return isinstance(consumer, For) and value.id not in {v.id for v in consumer.initial}
        return not (
            isinstance(consumer, Operation) and consumer.opcode in ("base_pointer", "offset", "load_ptr", "store_ptr")
        )

    @staticmethod
    def _rebound(source: Operation, value: Value, consumer: Statement) -> bool:
        """Whether a reshaped tile goes at once into another one of the author's name for it."""
        return (
            source.opcode == "reshape"
            and isinstance(consumer, Operation)
            and (len(consumer.results) == 1 and consumer.result.name == value.name)
        )

    def _untyped_comparison(self, source: Operation, consumer: Statement) -> bool:
        """Whether the JIT would take a comparison of tiles for a scalar: as operand of an operator in an argument."""
        if source.opcode not in ("cmpi", "cmpf") or not isinstance(consumer, Operation):
            return False
        kind = source.operands[0].type
        if isinstance(kind, TileType) and not kind.shape and not any(map(self.is_tile0, source.operands)):
            return False
        return consumer.opcode in OPERATORS and self.is_inline(consumer.result)

    def _constant_inline(self, source: Operation, kind: TileType, value: Value, consumer: Statement) -> bool:
        number = source.attribute("value")
        if not isinstance(number, (int, float)) or not has_literal(number, kind.dtype, True) or not kind.shape:
            return False
        if not isinstance(consumer, Operation) or consumer.opcode not in OPERATORS or kind.dtype.name == "bool":
            return False
        if not plain_operator(consumer):
            return False
        others = [v for v in consumer.operands if v.id != value.id]
        if not others or any(self._is_constant(v) for v in others):
            return False
        return self._types_constant(consumer, value, others[0])

    def _splats(self, source: Operation, kind: TileType, value: Value, consumer: Statement) -> bool:
        """Whether a constant is a literal on all lanes where it is used: the JIT knows the type of that anywhere."""
        number = source.attribute("value")
        if value.name is not None or kind.dtype.variable is not None or not isinstance(number, (int, float)):
            return False
        if kind.dtype.name not in ("f32", "i32"):
            return False
        text = literal(number, kind.dtype, False) or ""
        plain = bool(kind.shape) and text.replace(".", "").isdigit()
        return plain and isinstance(consumer, Operation) and consumer.opcode in _SPLATTED

    def splats(self, value: Value) -> bool:
        """Whether an inlined constant is written as `0.5f32.broadcast(..)` rather than `constant(0.5, ..)`."""
        source, kind = self.defined.get(value.id), value.type
        if not isinstance(source, Operation) or not isinstance(kind, TileType) or not self.is_inline(value):
            return False
        (consumer,) = self.consumers(value)
        assert not isinstance(consumer, int)
        return not self._constant_inline(source, kind, value, consumer)

    def _types_constant(self, consumer: Operation, value: Value, other: Value) -> bool:
        """Whether the JIT finds the type of a constant from its operator: it takes the type of the left operand where
        that is known, and looks at a comparison's operands instead of its result."""
        source = self.defined.get(other.id)
        if isinstance(source, Operation) and source.opcode in ("cmpi", "cmpf") and self.is_inline(other):
            return False
        return consumer.operands[0].id != value.id or not self.is_inline(consumer.result)

    def _is_constant(self, value: Value) -> bool:
        source = self.defined.get(value.id)
        return isinstance(source, Operation) and source.opcode == "constant"

    def is_tile0(self, value: Value) -> bool:
        """Whether a rank-0 value is held as a rank-0 tile: integers that have a local are held as scalars."""
        if not self.natural_tile0(value):
            return False
        assert isinstance(value.type, TileType)
        return value.type.dtype.is_float or self.is_inline(value)

    def natural_tile0(self, value: Value) -> bool:
        """Whether the expression of a rank-0 value is a rank-0 tile."""
        if value.id not in self._tile0:
            self._tile0[value.id] = self._find_tile0(value)
        return self._tile0[value.id]

    def _find_tile0(self, value: Value) -> bool:
        source = self.defined.get(value.id)
        kind = value.type
        if not isinstance(source, Operation) or not isinstance(kind, TileType) or kind.shape:
            return False
        return gives_tile0(source, self.defined, self.is_tile0)

    def infers(self, value: Value) -> bool:
        """Whether the JIT finds the type of the expression of a scalar by itself. An operator takes it from either
        operand; `min`, `max` and `ceil_div` need all of them typed (their literals have a suffix)."""
        source = self.defined.get(value.id)
        if not isinstance(source, Operation):
            return True
        if source.opcode in UNTYPED_SCALARS:
            return False
        if floor_form(source, self.defined) is not None:
            return True
        typed = [not self.is_inline(v) or self.infers(v) for v in source.operands]
        if source.opcode in ("mini", "maxi", "minf", "maxf") or source.attribute("rounding") == "positive_inf":
            return all(t or self._is_constant(v) for t, v in zip(typed, source.operands, strict=True))
        if source.opcode in OPERATORS or source.opcode == "divi":
            return any(typed)
        return True

    def inline_tail(self, block: Block) -> None:
        """Writes the value that a block ends with where it ends, if its last statement makes it by an operator."""
        value = block.terminator.values[0]
        source = self.defined.get(value.id)
        if not block.statements or block.statements[-1] is not source or not isinstance(source, Operation):
            return
        plain = source.opcode in OPERATORS and plain_operator(source)
        if plain and self.counts[value.id] == 1 and value.id not in self.forced and not self.natural_tile0(value):
            self._inline[value.id] = True
            self._tails.add(value.id)

    def made_in(self, value: Value, block: Block) -> bool:
        """Whether a statement of the block itself makes the value."""
        source = self.defined.get(value.id)
        return source is not None and self._blocks.get(id(source)) == id(block)

    def stand_together(self, one: Statement, other: Statement) -> bool:
        """Whether two statements are in the same block."""
        return self._blocks[id(one)] == self._blocks[id(other)]

"""What a value would like to be called: the author's word, else one that says what it is."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ferrotile.program.dtypes import Kind
from ferrotile.program.ir import Operation, Value
from ferrotile.program.types import TileType
from ferrotile.rust.scope import Scope
from ferrotile.rust.targets.cutile_0_5 import WISHES
from ferrotile.rust.values import Values

_NUMBERS = {0: "zero", 1: "one", 2: "two", 0.5: "half", -1: "minus_one", -math.inf: "lowest", math.inf: "highest"}
_BOUNDS = {"cmpi": "bound", "cmpf": "bound", "minf": "limit", "maxf": "limit", "mini": "limit", "maxi": "limit",
           "select": "other", "mulf": "factor", "divf": "divisor"}  # fmt: skip
_REDUCTIONS = {"sum": "sum", "prod": "product", "max": "high", "min": "low"}
_SAME = frozenset(("ftof", "itof", "ftoi", "exti", "trunci", "bitcast", "reshape", "broadcast", "permute"))
_ACCESSES = frozenset(("load_view", "store_view"))
_FAR = 8


def _is_bool(value: Value) -> bool:
    return isinstance(value.type, TileType) and value.type.dtype.kind is Kind.BOOL


class Wishes:
    """Finds names for the values of one kernel, given which names are taken."""

    def __init__(self, values: Values, scope: Scope) -> None:
        self._values, self._scope = values, scope

    def of(self, value: Value, position: int) -> str:
        """The first wish that is free for a local declared at `position`, else the first of all."""
        if value.name:
            return value.name
        wishes = list(self._wishes(value))
        return next((w for w in wishes if self._scope.is_free(w, position)), wishes[0])

    def _wishes(self, value: Value) -> Iterator[str]:
        source = self._values.defined.get(value.id)
        if not isinstance(source, Operation):
            yield "r"
            return
        code = source.opcode
        if code == "reduce":
            what = _REDUCTIONS.get(str(source.attribute("function")), "r")
            yield from (what, f"tile_{what}")
            return
        if code == "block_id":
            yield ("i", "j", "k")[int(str(source.attribute("axis")))]
            return
        if code == "constant":
            yield self._constant(source)
            return
        if code in _SAME and source.operands[0].name:
            yield source.operands[0].name
        if _is_bool(value):
            yield from ("inside", "valid", "holds")
            return
        if code == "iota":
            yield WISHES[code]
        target = self._target(value)
        if target is not None:
            yield target
        if code in _SAME:
            yield from self._wishes(source.operands[0])
        yield WISHES.get(code, "t")

    def _target(self, value: Value) -> str | None:
        """The author's name for what this value alone is made into; `tile` for what is stored."""
        for _ in range(_FAR):
            consumers = self._values.consumers(value)
            if len(consumers) != 1 or not isinstance(consumers[0], Operation):
                return None
            consumer = consumers[0]
            if consumer.opcode in _ACCESSES and consumer.operands[1].id != value.id:
                return "at"
            if consumer.opcode == "store_view":
                return "tile"
            if len(consumer.results) != 1 or _is_bool(consumer.result) != _is_bool(value):
                return None
            value = consumer.result
            if value.name:
                return value.name
        return None

    def _constant(self, source: Operation) -> str:
        number = source.attribute("value")
        if isinstance(number, (int, float)) and number in _NUMBERS:
            return _NUMBERS[number]
        for consumer in self._values.consumers(source.result):
            if isinstance(consumer, Operation) and consumer.opcode in _BOUNDS:
                return _BOUNDS[consumer.opcode]
        return "fill"

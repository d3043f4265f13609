"""Checks that a kernel program is well formed: definitions before uses, types, attributes, terminators."""

from __future__ import annotations

from msgspec import Struct

from ferrotile.program.dtypes import BOOL
from ferrotile.program.ir import Block, End, For, If, Loop, Operation, Program, Statement, Terminator, Value
from ferrotile.program.operations import OPERATIONS
from ferrotile.program.types import TileType, Type, same_shape

_SAME_TYPES = frozenset(
    [
        "addi",
        "subi",
        "muli",
        "shli",
        "divi",
        "remi",
        "shri",
        "andi",
        "ori",
        "xori",
        "mini",
        "maxi",
        "addf",
        "subf",
        "mulf",
        "divf",
        "remf",
        "fma",
        "minf",
        "maxf",
        "pow",
        "atan2",
        "negi",
        "absi",
        "negf",
        "absf",
        "sqrt",
        "rsqrt",
        "exp2",
        "exp",
        "log",
        "log2",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "floor",
        "ceil",
    ]
)
_SAME_SHAPE = frozenset(["exti", "trunci", "bitcast", "itof", "ftoi", "ftof"])
_COMPARE = frozenset(("cmpi", "cmpf"))


class Fault(Struct, frozen=True):
    """What is wrong, and with which statement."""

    message: str
    where: Statement | Terminator | None = None

    def __str__(self) -> str:
        return f"{self.message}: {self.where}" if self.where else self.message


def verify(program: Program) -> tuple[Fault, ...]:
    """Every fault found; empty for a well-formed program."""
    verifier = _Verifier()
    known = verifier.define(frozenset(), tuple(p.value for p in program.parameters), None)
    verifier.block(program.body, known, _Place(frozenset((End.RETURN,)), (), None))
    return tuple(verifier.faults)


class _Place(Struct, frozen=True):
    """What may end a block here, what a YIELD gives, and what the innermost loop's ends give."""

    allowed: frozenset[End]
    yields: tuple[Value, ...]
    loop: tuple[Value, ...] | None


class _Verifier:
    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self._defined: set[int] = set()

    def fault(self, message: str, where: Statement | Terminator | None) -> None:
        self.faults.append(Fault(message, where))

    def define(self, known: frozenset[int], values: tuple[Value, ...], where: Statement | None) -> frozenset[int]:
        for value in values:
            if value.id in self._defined:
                self.fault(f"value {value.id} is defined twice", where)
            self._defined.add(value.id)
        return known | {v.id for v in values}

    def use(self, known: frozenset[int], values: tuple[Value, ...], where: Statement | Terminator) -> None:
        for value in values:
            if value.id not in known:
                self.fault(f"value {value.id} is used before it is defined", where)

    def types(self, given: tuple[Value, ...], wanted: tuple[Value, ...], where: Statement | Terminator) -> None:
        if len(given) != len(wanted):
            self.fault(f"{len(given)} values for {len(wanted)}", where)
            return
        for a, b in zip(given, wanted, strict=True):
            if not _same(a.type, b.type):
                self.fault(f"{a.type} given for {b.type}", where)

    def block(self, block: Block, known: frozenset[int], place: _Place) -> None:
        for statement in block.statements:
            known = self.statement(statement, known, place)
        end = block.terminator
        self.use(known, end.values, end)
        if end.kind not in place.allowed:
            self.fault(f"a block ends in {end.kind.value} here", end)
        match end.kind:
            case End.YIELD:
                self.types(end.values, place.yields, end)
            case End.CONTINUE | End.BREAK:
                self.types(end.values, place.loop or (), end)
            case End.RETURN:
                self.types(end.values, (), end)

    def statement(self, statement: Statement, known: frozenset[int], place: _Place) -> frozenset[int]:
        match statement:
            case Operation():
                self.use(known, statement.operands, statement)
                self.operation(statement)
            case If():
                self.use(known, (statement.condition,), statement)
                if statement.condition.type != TileType(BOOL):
                    self.fault("the condition is no rank-0 bool", statement)
                allowed = {End.YIELD, End.RETURN} | ({End.BREAK, End.CONTINUE} if place.loop is not None else set())
                inner = _Place(frozenset(allowed), statement.results, place.loop)
                self.block(statement.then, known, inner)
                self.block(statement.otherwise, known, inner)
            case For():
                self.use(known, (statement.lower, statement.upper, statement.step, *statement.initial), statement)
                for bound in (statement.lower, statement.upper, statement.step):
                    if bound.type != statement.variable.type:
                        self.fault("a bound has another type than the variable", statement)
                ends = frozenset((End.YIELD, End.CONTINUE, End.BREAK))
                self.loop(statement, self.define(known, (statement.variable,), statement), ends)
            case Loop():
                self.use(known, statement.initial, statement)
                self.loop(statement, known, frozenset((End.CONTINUE, End.BREAK)))
        return self.define(known, statement.results, statement)

    def loop(self, loop: For | Loop, known: frozenset[int], ends: frozenset[End]) -> None:
        self.types(loop.initial, loop.arguments, loop)
        self.types(loop.results, loop.arguments, loop)
        inner = self.define(known, loop.arguments, loop)
        self.block(loop.body, inner, _Place(ends | {End.RETURN}, loop.arguments, loop.arguments))

    def operation(self, operation: Operation) -> None:
        info = OPERATIONS.get(operation.opcode)
        if info is None:
            self.fault(f"no operation is called {operation.opcode}", operation)
            return
        for name, _ in operation.attributes:
            if name not in info.attributes:
                self.fault(f"{operation.opcode} has no attribute {name}", operation)
        rest = any(name.startswith("*") for name in info.operands)
        if len(operation.operands) != len(info.operands) and not rest:
            self.fault(f"{len(operation.operands)} operands for {len(info.operands)}", operation)
            return
        opcode, operands = operation.opcode, operation.operands
        if opcode in _SAME_TYPES:
            for operand in operands:
                if not _same(operand.type, operation.result.type):
                    self.fault(f"{operand.type} does not fit {operation.result.type}", operation)
        if opcode in _COMPARE and not _same(operands[0].type, operands[1].type):
            self.fault("operands of different types", operation)
        result = operation.results[0].type if operation.results else None
        source = operands[0].type if operands else None
        if isinstance(result, TileType) and isinstance(source, TileType):
            fits = same_shape(result.shape, source.shape)
            if opcode in _SAME_SHAPE | _COMPARE | {"select"} and not fits:
                self.fault("the result has another shape", operation)
            if opcode == "reshape" and _count(result) != _count(source):
                self.fault("reshape changes the number of elements", operation)
            if opcode == "broadcast" and not _broadcasts(source, result):
                self.fault("broadcast of a shape that does not fit", operation)


def _count(tile: TileType) -> int:
    count = 1
    for size in tile.shape:
        count *= size.value
    return count


def _broadcasts(source: TileType, result: TileType) -> bool:
    if source.rank != result.rank or source.dtype != result.dtype:
        return False
    return all(s.value in (1, r.value) for s, r in zip(source.shape, result.shape, strict=True))


def _same(a: Type, b: Type) -> bool:
    if isinstance(a, TileType) and isinstance(b, TileType):
        return a.dtype == b.dtype and a.pointer == b.pointer and same_shape(a.shape, b.shape)
    return a == b

"""Builds the statements of a kernel program: fresh ids, nested blocks, names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from ferrotile.program.ir import (
    Attribute,
    Block,
    For,
    If,
    Loop,
    Operation,
    Statement,
    Terminator,
    Value,
)
from ferrotile.program.types import Type
from ferrotile.syntax.span import NOWHERE, Span


class Builder:
    """Appends statements to the innermost open block. Names are hints that are written in by `named`."""

    __slots__ = ("_names", "_next_id", "_stack")

    def __init__(self) -> None:
        self._next_id = 0
        self._names: dict[int, str] = {}
        self._stack: list[list[Statement]] = [[]]

    def fresh(self, type_: Type, name: str | None = None) -> Value:
        """A new value; the caller makes something define it."""
        self._next_id += 1
        if name is not None:
            self._names[self._next_id] = name
        return Value(self._next_id, type_)

    def name(self, value: Value, name: str) -> None:
        """Hints `value`'s name; the first name stays."""
        self._names.setdefault(value.id, name)

    def append(self, statement: Statement) -> None:
        self._stack[-1].append(statement)

    def emit(
        self,
        opcode: str,
        operands: tuple[Value, ...],
        result: Type,
        span: Span = NOWHERE,
        **attributes: Attribute,
    ) -> Value:
        """Appends an operation with one result. Attributes that are None are left out."""
        value = self.fresh(result)
        kept = tuple([a for a in attributes.items() if a[1] is not None])
        self.append(Operation(opcode, operands, (value,), kept, span))
        return value

    def effect(self, opcode: str, operands: tuple[Value, ...], span: Span = NOWHERE, **attributes: Attribute) -> None:
        """Appends an operation without results."""
        kept = tuple((k, v) for k, v in attributes.items() if v is not None)
        self.append(Operation(opcode, operands, (), kept, span))

    @contextmanager
    def block(self, statements: list[Statement]) -> Iterator[None]:
        """Appends to `statements` (which may be reopened) inside the `with`."""
        depth = len(self._stack)
        self._stack.append(statements)
        try:
            yield
        finally:
            del self._stack[depth:]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The outermost block."""
        return tuple(self._stack[0])

    def named(self, block: Block) -> Block:
        """`block` with every value carrying its name hint."""
        return Block(
            tuple(self._named_statement(s) for s in block.statements),
            Terminator(block.terminator.kind, self._all(block.terminator.values)),
        )

    def named_value(self, value: Value) -> Value:
        name = self._names.get(value.id)
        return value if name is None else Value(value.id, value.type, name)

    def _all(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple([self.named_value(v) for v in values])

    def _named_statement(self, statement: Statement) -> Statement:
        one, many = self.named_value, self._all
        match statement:
            case Operation():
                return Operation(
                    statement.opcode,
                    many(statement.operands),
                    many(statement.results),
                    statement.attributes,
                    statement.span,
                )
            case If():
                return replace(
                    statement,
                    condition=one(statement.condition),
                    then=self.named(statement.then),
                    otherwise=self.named(statement.otherwise),
                    results=many(statement.results),
                )
            case For():
                return replace(
                    statement,
                    variable=one(statement.variable),
                    lower=one(statement.lower),
                    upper=one(statement.upper),
                    step=one(statement.step),
                    initial=many(statement.initial),
                    arguments=many(statement.arguments),
                    body=self.named(statement.body),
                    results=many(statement.results),
                )
            case Loop():
                return replace(
                    statement,
                    initial=many(statement.initial),
                    arguments=many(statement.arguments),
                    body=self.named(statement.body),
                    results=many(statement.results),
                )

"""The stable text form of a kernel program, in the manner of MLIR. Tests and people read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ferrotile.program.ir import (
    Attribute,
    Block,
    For,
    If,
    Loop,
    Operation,
    Program,
    Statement,
    Terminator,
    Value,
)

_INDENT = "  "


def print_program(program: Program) -> str:
    """`kernel @name(%x: array<?xf32>) constants(TM = 128) { ... }`; names are made unique by a number."""
    return "\n".join(_Printer().program(program)) + "\n"


class _Printer:
    """Gives each value a name: its hint, `hint_2`, .. or a number."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._taken: dict[str, int] = {}
        self._count = 0

    def program(self, program: Program) -> Iterator[str]:
        parameters = ", ".join(f"{self._name(p.value)}: {p.value.type}" for p in program.parameters)
        constants = ", ".join(
            f"{c.name} = {_attribute(c.value)}{' pinned' if c.pinned else ''}" for c in program.constants
        )
        head = f"kernel @{program.name}({parameters})"
        if constants:
            head += f" constants({constants})"
        if program.hints:
            named = (f"{h.name}{f' for {h.target}' if h.target else ''} = {h.value}" for h in program.hints)
            head += f" hints({', '.join(named)})"
        yield head + " {"
        yield from self._block(program.body, 1)
        yield "}"

    def _block(self, block: Block, depth: int) -> Iterator[str]:
        for statement in block.statements:
            yield from self._statement(statement, depth)
        yield _INDENT * depth + self._terminator(block.terminator)

    def _statement(self, statement: Statement, depth: int) -> Iterator[str]:
        pad = _INDENT * depth
        match statement:
            case Operation():
                yield pad + self._operation(statement)
            case If():
                yield f"{pad}{self._results(statement.results)}if {self._name(statement.condition)} {{"
                yield from self._block(statement.then, depth + 1)
                yield f"{pad}}} else {{"
                yield from self._block(statement.otherwise, depth + 1)
                yield f"{pad}}}{_types(statement.results)}"
            case For():
                bounds = (
                    f"{self._name(statement.lower)} to {self._name(statement.upper)} step {self._name(statement.step)}"
                )
                carried = self._carried(statement.arguments, statement.initial)
                head = f"for {self._name(statement.variable)} in {bounds}{carried} {{"
                yield pad + self._results(statement.results) + head
                yield from self._block(statement.body, depth + 1)
                yield f"{pad}}}{_types(statement.results)}"
            case Loop():
                carried = self._carried(statement.arguments, statement.initial)
                yield f"{pad}{self._results(statement.results)}loop{carried} {{"
                yield from self._block(statement.body, depth + 1)
                yield f"{pad}}}{_types(statement.results)}"

    def _operation(self, operation: Operation) -> str:
        operands = self._list(operation.operands)
        attributes = ", ".join(f"{k} = {_attribute(v)}" for k, v in operation.attributes)
        text = self._results(operation.results) + operation.opcode
        if operands:
            text += " " + operands
        if attributes:
            text += f" {{{attributes}}}"
        return text + _types(operation.results)

    def _terminator(self, terminator: Terminator) -> str:
        values = self._list(terminator.values)
        return f"{terminator.kind.value} {values}" if values else terminator.kind.value

    def _carried(self, arguments: tuple[Value, ...], initial: tuple[Value, ...]) -> str:
        pairs = zip(arguments, initial, strict=True)
        text = ", ".join(f"{self._name(a)} = {self._name(i)}" for a, i in pairs)
        return f" carry({text})" if text else ""

    def _results(self, results: tuple[Value, ...]) -> str:
        return f"{self._list(results)} = " if results else ""

    def _list(self, values: Iterable[Value]) -> str:
        return ", ".join(map(self._name, values))

    def _name(self, value: Value) -> str:
        found = self._names.get(value.id)
        if found is not None:
            return found
        if value.name is None:
            name = str(self._count)
            self._count += 1
        else:
            seen = self._taken.get(value.name, 0) + 1
            self._taken[value.name] = seen
            name = value.name if seen == 1 else f"{value.name}_{seen}"
        self._names[value.id] = f"%{name}"
        return self._names[value.id]


def _types(results: tuple[Value, ...]) -> str:
    return f" : {', '.join(str(r.type) for r in results)}" if results else ""


def _attribute(value: Attribute) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value)
        case tuple():
            return str(list(value))
        case _:
            return str(value)

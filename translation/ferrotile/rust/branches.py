"""Branches: as statements that assign variables, or as the value of an `if`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ferrotile.program.ir import Block, End, If, Operation, Statement, Value
from ferrotile.rust.expressions import constant_code, first_scalar, tile_type
from ferrotile.rust.layout import IF_WIDTH, Code, atom
from ferrotile.rust.scope import Variable
from ferrotile.rust.targets.cutile_0_5 import COMPARE_SCALAR, INVERSE

if TYPE_CHECKING:
    from ferrotile.rust.statements import Body


class _Adoption(Struct, frozen=True):
    """Whether anything reads what a variable may hold after one position, and until another."""

    held: list[Value]
    after: int
    until: int
    read: bool


class Branches:
    """Emits branches for a `Body`."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._targets: list[Variable] = []
        """The variables of the results of the `if` at hand."""
        self._initial: dict[int, int] = {}
        """The value that a result's variable, by its `id`, has before the branches of its `if`."""
        self._adoptions: list[list[_Adoption]] = []
        """What was decided for the branches in hand."""

    def stand(self) -> bool:
        """Whether what was decided for the branches in hand is what would be decided now."""
        return all(
            self._read(made.held, made.after, made.until) is made.read for branch in self._adoptions for made in branch
        )

    def _read(self, held: Sequence[Value], after: int, until: int) -> bool:
        """Whether any of the values is read between two positions."""
        return any(after < use <= until for v in held for use in self._body.values.lifetimes.uses(v))

    def mark(self) -> list[Variable]:
        """The state now, for `back_to`."""
        return self._targets

    def back_to(self, mark: list[Variable]) -> None:
        """Takes the state back to what it was at `mark`."""
        self._targets = mark

    def if_(self, s: If) -> None:
        """A branch, with or without results."""
        if len(s.results) > 1:
            self._declare_results(s)
        elif len(s.results) == 1 and not self._updates(s) and self._value_if(s):
            return
        elif len(s.results) == 1:
            self._declare_results(s)
        condition = self._body.scalar(s.condition)
        then, otherwise = s.then, s.otherwise
        if self._empty(then) and not self._empty(otherwise):
            condition = self._negated(s.condition, condition)
            then, otherwise = otherwise, then
        self._body.put("if ", condition, " {")
        self._branch(then, s)
        if not self._empty(otherwise):
            self._body.writer.line("} else {")
            self._branch(otherwise, s)
        self._body.writer.line("}")
        for result in s.results:
            self._initial.pop(id(self._body.variables[result.id]), None)

    def _updates(self, s: If) -> bool:
        """Whether one branch leaves the variable of the only result as it is."""
        variable = self._body.variables.get(s.results[0].id)
        ends = (s.then.terminator, s.otherwise.terminator)
        return variable is not None and any(
            e.kind is End.YIELD and self._body.variables.get(e.values[0].id) is variable for e in ends
        )

    def _adopt(self, s: If, block: Block) -> list[_Adoption]:
        """Lets a branch compute its values in the variables that take them, where nothing reads these later."""
        values, variables = self._body.values, self._body.variables
        decided: list[_Adoption] = []
        if block.terminator.kind is not End.YIELD or not block.statements:
            return decided
        until = values.end[id(block.statements[-1])] + 1
        for result, value in zip(s.results, block.terminator.values, strict=True):
            variable, source = variables[result.id], values.defined.get(value.id)
            if value.id in variables or values.counts[value.id] != 1 or not values.made_in(value, block):
                continue
            if isinstance(source, Operation):
                if values.is_inline(value) or source.opcode in ("block_id", "tile_index"):
                    continue
                after = values.position[id(source)]
            elif isinstance(source, If):
                after = values.end[id(source)]
            else:
                continue
            held = self._body.assigned.held(variable)
            read = self._read(held, after, until)
            decided.append(_Adoption(held, after, until, read))
            if not read:
                variables[value.id] = variable
        return decided

    def _empty(self, block: Block) -> bool:
        if block.terminator.kind is not End.YIELD or self._visible(block.statements):
            return False
        return all(self._stays(r, v) for r, v in zip(self._targets, block.terminator.values, strict=False))

    def _stays(self, target: Variable, value: Value) -> bool:
        """Whether the variable of a result holds a branch's value already."""
        return self._body.variables.get(value.id) is target or self._initial.get(id(target)) == value.id

    def _visible(self, statements: Sequence[Statement]) -> bool:
        return any(
            not (isinstance(s, Operation) and len(s.results) == 1 and self._body.values.is_inline(s.result))
            for s in statements
        )

    def _branch(self, block: Block, s: If) -> None:
        targets = [self._body.variables[r.id] for r in s.results]
        self._adoptions.append(self._adopt(s, block))
        self._body.writer.deeper()
        self._body.block(block)
        if block.terminator.kind is End.YIELD:
            pairs = zip(targets, block.terminator.values, strict=True)
            wanted = [(t, v) for t, v in pairs if not self._stays(t, v)]
            self._body.assigned.assign([t for t, _ in wanted], [v for _, v in wanted])
        else:
            self._body.loops.end(block.terminator, False)
        self._body.writer.back()
        self._adoptions.pop()
        self._targets = targets

    def _negated(self, value: Value, code: Code) -> Code:
        source = self._body.values.defined.get(value.id)
        if isinstance(source, Operation) and source.opcode == "cmpi" and self._body.values.is_inline(value):
            symbol = COMPARE_SCALAR[str(source.attribute("predicate"))]
            left, right = source.operands
            first = first_scalar(self._body.operands, left).text
            return Code(f"{first} {INVERSE[symbol]} {self._body.scalar(right).text}", 4)
        return Code(f"{code.text if code.precedence > 4 else f'({code.text})'} == false", 4)

    def _declare_results(self, s: If) -> None:
        targets: list[Variable] = []
        for k, result in enumerate(s.results):
            ends = (s.otherwise.terminator, s.then.terminator)
            outside = [t.values[k] for t in ends if t.kind is End.YIELD and self._outside(t.values[k])]
            kind = tile_type(result)
            if result.id in self._body.variables:  # both branches assign it
                targets.append(self._body.variables[result.id])
                continue
            if outside:
                initial = self._body.assigned.code(outside[0])
            elif kind.shape:
                initial = constant_code(self._body.operands, 0, kind.dtype, kind.shape)
            else:
                initial = atom("false" if kind.dtype.name == "bool" else "0.0" if kind.dtype.is_float else "0")
            name = result.name or (outside[0].name if outside else None) or "r"
            last = self._body.values.lifetimes.lasting(result)
            targets.append(self._body.assigned.declare(result, name, last, initial))
            if outside:
                self._initial[id(targets[-1])] = outside[0].id
        self._targets = targets

    def _outside(self, value: Value) -> bool:
        return value.id in self._body.variables or self._body.values.is_free(value)

    def _value_if(self, s: If) -> bool:
        """`let x = if c { a } else { b };`"""
        (result,) = s.results
        if End.YIELD is not s.then.terminator.kind or End.YIELD is not s.otherwise.terminator.kind:
            return False
        condition = self._body.scalar(s.condition)
        variable = self._body.variables.get(result.id)
        kind = tile_type(result)
        if variable is None:
            last = self._body.values.lifetimes.lasting(result)
            variable = self._body.scope.declare(self._body.wish(result), self._body.now, last)
            head = f"let {variable.name}: {self._body.spelling.value(kind)} = "
        else:
            head = f"{variable.name} = "
        for branch in (s.then, s.otherwise):
            self._body.values.inline_tail(branch)
        ends = [branch.terminator.values[0] for branch in (s.then, s.otherwise)]
        converted = not kind.shape and any(self._body.values.is_tile0(end) for end in ends)
        if not converted and not self._visible(s.then.statements) and not self._visible(s.otherwise.statements):
            a, b = (self._body.raw(end).text for end in ends)
            short = f"if {condition.text} {{ {a} }} else {{ {b} }}"
            if len(short) <= IF_WIDTH and self._body.writer.indent + len(head) + len(short) < 100:
                self._body.writer.line(f"{head}{short};")
                self._body.variables[result.id] = variable
                return True
        self._body.writer.line(f"{head}if {condition.text} {{")
        for branch, close in ((s.then, "} else {"), (s.otherwise, "};")):
            self._body.writer.deeper()
            self._body.block(branch)
            value = branch.terminator.values[0]
            self._body.put("", self._body.assigned.code(value), "")
            self._body.writer.back()
            self._body.writer.line(close)
        self._body.variables[result.id] = variable
        return True

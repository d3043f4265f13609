"""Loops, and the variables that they carry from one trip to the next."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from ferrotile.passes.plan import ArrayPlan
from ferrotile.program.ir import Block, End, For, If, Loop, Operation, Terminator, Value
from ferrotile.program.types import TileType
from ferrotile.rust.expressions import Unsupported
from ferrotile.rust.layout import Code
from ferrotile.rust.scope import Variable
from ferrotile.rust.targets.cutile_0_5 import OPERATORS

if TYPE_CHECKING:
    from ferrotile.rust.statements import Body

_OF_ITS_TYPE = frozenset((*OPERATORS, "mini", "maxi"))
"""Operations whose result has the type of their operands, known or not."""


class Minted(Struct, frozen=True):
    """The local that holds a mapped partition's index, and those of its components (`_`: not needed)."""

    tile: str
    names: tuple[str, ...]


class Loops:
    """Emits loops for a `Body`."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._loop: tuple[For | Loop, list[Variable]] | None = None
        """The innermost loop in hand, with its variables."""
        self._yielded: list[Value | None] = []
        """The values that are computed in the variables of the loop that starts."""
        self._yields: list[tuple[For | Loop, list[Value | None]]] = []
        """The loops in hand, each with the values that are computed in its variables."""

    def stand(self) -> bool:
        """Whether the values that are computed in the variables of the loops in hand are those that would be chosen
        now."""
        yielded_to = self._body.carries.yielded_to
        return all(yielded_to(loop, k) is v for loop, yielded in self._yields for k, v in enumerate(yielded))

    def _start(self, loop: For | Loop) -> list[Variable]:
        """Declares or takes over the variables of a loop's carries."""
        taken = {k: held for k in range(len(loop.arguments)) if (held := self._taken_over(loop, k)) is not None}
        variables = []
        for k, argument in enumerate(loop.arguments):
            if k in taken:
                variables.append(taken[k])
                continue
            initial = loop.initial[k]
            code = self._body.assigned.code(initial)
            wish = argument.name or loop.results[k].name or self._body.wish(initial)
            last = partial(self._body.carries.last, loop, k)
            variables.append(self._body.assigned.declare(argument, wish, last, code))
        yielded: list[Value | None] = []
        for k, (argument, variable) in enumerate(zip(loop.arguments, variables, strict=True)):
            self._body.variables[argument.id] = self._body.variables[loop.results[k].id] = variable
            self._body.assigned.may_hold(variable, self._body.carries.shares(argument))
            value = self._body.carries.yielded_to(loop, k)
            yielded.append(value)
            if value is not None:
                self._body.variables[value.id] = variable
        self._yielded = yielded
        return variables

    def _taken_over(self, loop: For | Loop, k: int) -> Variable | None:
        """The variable that holds a carry's initial value, where nothing else reads it later. It stays alive from
        here on, so that no other carry is declared under its name."""
        initial = loop.initial[k]
        held = self._body.variables.get(initial.id)
        if held is None or not held.mutable or self._body.values.lifetimes.last_use(initial) > self._body.now:
            return None
        if sum(v.id == initial.id for v in loop.initial) != 1:
            return None
        self._body.scope.hold(held, partial(self._body.carries.last, loop, k))
        return held

    def for_(self, s: For) -> None:
        """A counting loop."""
        mapped = [a for a in self._body.plan.arrays if a.loop == s.variable.id]
        if mapped:
            self._over_tiles(s, mapped)
            return
        variables = self._start(s)
        self._body.now = self._body.values.position[id(s)]
        lower, upper = self._body.scalar(s.lower), self._body.scalar(s.upper)
        step = self._body.values.defined.get(s.step.id)
        span = f"{lower.text}..{upper.text}"
        if not (isinstance(step, Operation) and step.opcode == "constant" and step.attribute("value") == 1):
            by = self._body.scalar(s.step).text
            span = f"({span}).step_by({by if by.isdigit() else f'{_receiver(by)} as usize'})"
        used = self._body.values.counts[s.variable.id]
        if used and lower.text.isdigit() and (upper.text.isdigit() or self._spread(s.variable, upper)):
            span = span.replace(lower.text, f"{lower.text}i32", 1)  # the JIT types the counter by a bound
        counter = self._body.scope.declare(s.variable.name or "i", self._body.now, self._body.values.end[id(s)])
        self._body.variables[s.variable.id] = counter
        self._body.writer.line(f"for {counter.name if used else '_'} in {span} {{")
        self._inside(s.body, variables, s)
        self._body.writer.line("}")

    def _spread(self, counter: Value, upper: Code) -> bool:
        """Whether a method of a counter that ends at a call, or of what is computed from it, spreads it over lanes: of
        the call's type the JIT then knows nothing."""
        values = self._body.values
        consumers = [c for c in values.consumers(counter) if isinstance(c, Operation) and c.results]
        return "(" in upper.text and any(
            c.opcode == "reshape"
            or values.natural_tile0(c.result)
            or (c.opcode in _OF_ITS_TYPE and self._spread(c.result, upper))
            for c in consumers
            if isinstance(c.result.type, TileType) and (not c.result.type.shape or c.opcode == "reshape")
        )

    def _over_tiles(self, s: For, arrays: Sequence[ArrayPlan]) -> None:
        """A loop over the tiles of a mapped partition, or of two."""
        array, *others = arrays
        body = self._body
        body.now = body.values.position[id(s)]
        end = body.values.end[id(s)]
        minted = body.scope.declare("tile", body.now, end).name
        both = f"_with(&{others[0].name})" if others else "()"
        body.writer.line(f"for {minted} in {array.name}.iter_indices{both} {{")
        body.writer.deeper()
        names = ["_"] * array.rank
        used = {
            int(str(inner.attribute("axis"))): inner.result
            for inner in s.body.statements
            if isinstance(inner, Operation) and inner.opcode == "tile_index" and body.values.counts[inner.result.id]
        }
        for axis in range(array.rank):
            value = used.get(axis)
            streamed = array.owned_axes and array.map[axis].value != 0
            if value is None and not streamed:
                continue
            last = end if streamed or value is None else body.values.lifetimes.lasting(value)
            variable = body.scope.declare((value.name if value else None) or "ijk"[axis], body.now, last)
            names[axis] = variable.name
            if value is not None:
                body.variables[value.id] = variable
        if any(name != "_" for name in names):
            if len(names) > 1:
                body.writer.line(f"let ({', '.join(names)}) = {minted}.components();")
            else:  # `components` begins with two
                coordinates = body.scope.temporary("at")
                body.writer.line(f"let {coordinates}: [i32; 1] = {minted}.coords();")
                body.writer.line(f"let {names[0]}: i32 = {coordinates}[0];")
        body.minted.update((a.value, Minted(minted, tuple(names))) for a in arrays)
        body.writer.back()
        self._inside(s.body, [], s)
        body.writer.line("}")

    def _inside(self, body: Block, variables: list[Variable], loop: For | Loop, skip: int = 0) -> None:
        self._body.writer.deeper()
        outer = self._loop
        self._loop = (loop, variables)
        self._yields.append((loop, self._yielded if variables else []))
        self._body.block(Block(body.statements[skip:], body.terminator))
        self.end(body.terminator, True)
        self._loop = outer
        self._yields.pop()
        self._body.writer.back()

    def end(self, end: Terminator, top: bool) -> None:
        """The end of a block inside a loop; `top` where the block is the loop's own."""
        if end.kind in (End.CONTINUE, End.BREAK) or (top and end.kind is End.YIELD):
            if self._loop is None:
                return
            _, variables = self._loop
            self._body.assigned.assign(variables, end.values)
            if end.kind is End.BREAK:
                self._body.writer.line("break;")
            elif not top:
                self._body.writer.line("continue;")
        elif end.kind is End.RETURN and self._loop is not None:
            raise Unsupported("FT302", "`return` inside a loop has no form in cutile 0.5.", self._body.writer.span)

    def loop(self, s: Loop) -> None:
        """A `while` or `loop`."""
        variables = self._start(s)
        skip = self._while_head(s)
        if skip is None:
            self._body.writer.line("loop {")
            skip = 0
        self._inside(s.body, variables, s, skip)
        self._body.writer.line("}")

    def _while_head(self, s: Loop) -> int | None:
        """Writes `while c {` if the body starts with the exit test alone; how many statements that covers."""
        for position, first in enumerate(s.body.statements):
            if isinstance(first, Operation):
                if first.results and self._body.values.is_inline(first.result) and first.opcode != "load_view":
                    continue
                return None
            if not isinstance(first, If) or first.results or first.then.statements or first.otherwise.statements:
                return None
            leave = first.otherwise.terminator
            if first.then.terminator.kind is not End.YIELD or leave.kind is not End.BREAK:
                return None
            if tuple(v.id for v in leave.values) != tuple(a.id for a in s.arguments):
                return None
            before = len(self._body.writer.lines)
            condition = self._body.scalar(first.condition)
            if len(self._body.writer.lines) != before:
                del self._body.writer.lines[before:], self._body.writer.spans[before:]
                return None
            self._body.put("while ", condition, " {")
            return position + 1
        return None


def _receiver(text: str) -> str:
    simple = text.replace("_", "").replace(".", "").replace("()", "").isalnum() or text.endswith(")")
    return text if simple and " " not in text else f"({text})"

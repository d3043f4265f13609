"""Loops, branches and the variables that they carry."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from ferrotile.passes.plan import ArrayPlan
from ferrotile.program.ir import Block, End, For, If, Loop, Operation, Statement, Terminator, Value
from ferrotile.program.types import TileType
from ferrotile.rust.expressions import Unsupported, constant_code, first_scalar, tile_type
from ferrotile.rust.layout import IF_WIDTH, Code, atom
from ferrotile.rust.scope import Last, Variable
from ferrotile.rust.targets.cutile_0_5 import COMPARE_SCALAR, INVERSE, OPERATORS
from ferrotile.rust.values import Minted

if TYPE_CHECKING:
    from ferrotile.rust.statements import Body


class _Adoption(Struct, frozen=True):
    """Whether anything reads what a variable may hold after one position, and until another."""

    held: list[Value]
    after: int
    until: int
    read: bool


class Control:
    """Emits structured control flow for a `Body`."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._loop: tuple[For | Loop, list[Variable]] | None = None
        self._targets: list[Variable] = []
        self._initial: dict[int, int] = {}
        """The value that a result's variable, by its `id`, has before the branches of its `if`."""
        self._holds: dict[int, list[Value]] = {}
        """What a carried variable, by its `id`, may hold."""
        self._yielded: list[Value | None] = []
        self._yields: list[tuple[For | Loop, list[Value | None]]] = []
        """The loops in hand, each with the values that are computed in its variables."""
        self._adoptions: list[list[_Adoption]] = []
        """What was decided for the branches in hand."""

    def stands(self, moved: Set[int]) -> bool:
        """Whether all that was decided for the loops and branches in hand is as it would be decided now that these
        values are needed for another time."""
        values = self._body.values
        if all(isinstance(values.defined.get(v, self), Operation) for v in moved):
            return True
        for loop, yielded in self._yields:
            if any(values.yielded_to(loop, k) is not v for k, v in enumerate(yielded)):
                return False
        return all(
            self._read(made.held, made.after, made.until) is made.read for branch in self._adoptions for made in branch
        )

    def _read(self, held: Sequence[Value], after: int, until: int) -> bool:
        """Whether any of the values is read between two positions."""
        return any(after < use <= until for v in held for use in self._body.values.uses(v))

    def mark(self) -> list[Variable]:
        """The state now, for `back_to`."""
        return self._targets

    def back_to(self, mark: list[Variable]) -> None:
        self._targets = mark

    def _carried(self, value: Value, wish: str, last: Last, initial: Code, later: Sequence[Value]) -> Variable:
        variable = self._body.scope.declare(wish, self._body.now, last, mutable=True)
        kind = self._body.spelling.value(tile_type(value))
        self._body.put(f"let mut {variable.name}: {kind} = ", initial)
        for v in (value, *later):
            self._body.variables[v.id] = variable
        return variable

    def _start(self, loop: For | Loop) -> list[Variable]:
        """Declares or takes over the variables of a loop's carries."""
        taken = {k: held for k in range(len(loop.arguments)) if (held := self._taken_over(loop, k)) is not None}
        variables = []
        for k, argument in enumerate(loop.arguments):
            if k in taken:
                variables.append(taken[k])
                continue
            initial = loop.initial[k]
            code = self._body.scalar(initial) if not tile_type(argument).shape else self._body.raw(initial)
            wish = argument.name or loop.results[k].name or self._body.wish(initial)
            variables.append(self._carried(argument, wish, partial(self._body.values.loop_last, loop, k), code, ()))
        yielded: list[Value | None] = []
        for k, (argument, variable) in enumerate(zip(loop.arguments, variables, strict=True)):
            self._body.variables[argument.id] = self._body.variables[loop.results[k].id] = variable
            self._holds.setdefault(id(variable), []).extend(self._body.values.shares(argument))
            value = self._body.values.yielded_to(loop, k)
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
        if held is None or not held.mutable or self._body.values.last_use(initial) > self._body.now:
            return None
        if sum(v.id == initial.id for v in loop.initial) != 1:
            return None
        self._body.scope.hold(held, partial(self._body.values.loop_last, loop, k))
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
            or (c.opcode in OPERATORS and self._spread(c.result, upper))
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
            last = end if streamed or value is None else body.values.lasting(value)
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
        self._end(body.terminator, True)
        self._loop = outer
        self._yields.pop()
        self._body.writer.back()

    def _end(self, end: Terminator, top: bool) -> None:
        if end.kind in (End.CONTINUE, End.BREAK) or (top and end.kind is End.YIELD):
            if self._loop is None:
                return
            _, variables = self._loop
            self._copy(variables, end.values)
            if end.kind is End.BREAK:
                self._body.writer.line("break;")
            elif not top:
                self._body.writer.line("continue;")
        elif end.kind is End.RETURN and self._loop is not None:
            raise Unsupported("FT302", "`return` inside a loop has no form in cutile 0.5.", self._body.writer.span)

    def _copy(self, variables: Sequence[Variable], values: Sequence[Value]) -> None:
        """Assigns all at once: no variable is overwritten while another still reads it."""
        pending: list[tuple[Variable, Code]] = []
        for variable, value in zip(variables, values, strict=True):
            if self._body.variables.get(value.id) is not variable:
                pending.append(
                    (
                        variable,
                        self._body.scalar(value) if not tile_type(value).shape else self._body.raw(value),
                    )
                )
        while pending:
            reads = [c.text for _, c in pending]
            ready = next((p for p in pending if p[0].name not in (t for t in reads if t != p[1].text)), None)
            if ready is None:
                variable, _code = pending[0]
                saved = self._body.scope.temporary(variable.name)
                self._body.writer.line(f"let {saved} = {variable.name};")
                pending = [(v, atom(saved) if c.text == variable.name else c) for v, c in pending]
                continue
            pending.remove(ready)
            self._body.put(f"{ready[0].name} = ", ready[1])

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
            held = list(self._holds.get(id(variable), ()))
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
            self._copy([t for t, _ in wanted], [v for _, v in wanted])
        else:
            self._end(block.terminator, False)
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
                initial = self._body.scalar(outside[0]) if not kind.shape else self._body.raw(outside[0])
            elif kind.shape:
                initial = constant_code(self._body.operands, 0, kind.dtype, kind.shape)
            else:
                initial = atom("false" if kind.dtype.name == "bool" else "0.0" if kind.dtype.is_float else "0")
            name = result.name or (outside[0].name if outside else None) or "r"
            targets.append(self._carried(result, name, self._body.values.lasting(result), initial, ()))
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
            variable = self._body.scope.declare(
                self._body.wish(result), self._body.now, self._body.values.lasting(result)
            )
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
            self._body.put("", self._body.scalar(value) if not kind.shape else self._body.raw(value), "")
            self._body.writer.back()
            self._body.writer.line(close)
        self._body.variables[result.id] = variable
        return True


def _receiver(text: str) -> str:
    simple = text.replace("_", "").replace(".", "").replace("()", "").isalnum() or text.endswith(")")
    return text if simple and " " not in text else f"({text})"

"""Statements of a kernel body: locals, loops, branches. Memory accesses are in `memory.py`."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from ferrotile.passes.plan import Plan
from ferrotile.program.ir import Block, End, For, If, Loop, Operation, Statement, Terminator, Value
from ferrotile.program.types import TileType
from ferrotile.rust.expressions import Operands, Unsupported, constant_code, expression, tile_type
from ferrotile.rust.layout import IF_WIDTH, Code, atom, call, statement, unsafe_statement
from ferrotile.rust.memory import Memory
from ferrotile.rust.targets.cutile_0_5 import COMPARE_SCALAR, INVERSE, WISHES
from ferrotile.rust.types import Spelling
from ferrotile.rust.values import Scope, Values, Variable
from ferrotile.rust.writer import Writer
from ferrotile.syntax.span import NOWHERE, Span


class TooWide(Exception):
    """A statement that rustfmt would break inside; `value` should get a local of its own."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value


class Body:
    """Emits one kernel's statements into a writer."""

    def __init__(
        self,
        plan: Plan,
        values: Values,
        scope: Scope,
        spelling: Spelling,
        writer: Writer,
        comments: Sequence[tuple[int, str]],
        forced: Container[int],
    ) -> None:
        self.plan, self.values, self.scope, self.spelling, self.writer = plan, values, scope, spelling, writer
        self.variables: dict[int, Variable] = {}
        self.forced = forced
        self._comments = list(comments)
        self.now = 0
        self._base = writer.indent
        self.loop: tuple[For | Loop, list[Variable]] | None = None
        self._targets: list[Variable] = []
        self.operands = Operands(self.raw, self.tile, self.scalar, values, spelling, plan.axes, self.bind)
        self.memory = Memory(self)

    # ---- text out

    def put(self, prefix: str, code: Code, suffix: str = ";", unsafe: bool = False) -> None:
        """One statement, broken as rustfmt would, or `TooWide` when an inlined value must come out first."""
        layout: Callable[[str, Code, str, int], list[str] | None] = unsafe_statement if unsafe else statement
        lines = layout(prefix, code, suffix, self.writer.indent)
        if lines is None:
            whole = [p for p in code.parts if p[0] not in self.forced and not self._free(p[0])]
            if whole:
                raise TooWide(max(whole, key=lambda p: (p[1], -p[0]))[0])
            lines = [
                f"{prefix}unsafe {{ {code.text} }}{suffix}" if unsafe else f"{prefix}{code.text}{suffix}"
            ]
        for line in lines:
            self.writer.line(line)

    def _free(self, value: int) -> bool:
        source = self.values.defined.get(value)
        return (
            isinstance(source, Operation) and bool(source.results) and self.values.is_free(source.results[0])
        )

    def bind(self, wish: str, kind: str, code: Code) -> Code:
        """A typed local in front of the statement at hand."""
        name = self.scope.temporary(wish)
        self.put(f"let {name}: {kind} = ", code)
        return atom(name)

    def _at(self, span: Span) -> None:
        if span != NOWHERE:
            while self._comments and self._comments[0][0] <= span.start:
                self.writer.span = span
                text = self._comments.pop(0)[1]
                self.writer.line("//" + text.removeprefix("#").rstrip())
            self.writer.span = span

    # ---- operands

    def raw(self, value: Value) -> Code:
        """A value as it is held: an expression if inlined, else its local."""
        variable = self.variables.get(value.id)
        if variable is not None:
            return atom(variable.name)
        source = self.values.defined[value.id]
        assert isinstance(source, Operation), value
        if source.opcode == "num_tiles":
            code = call(
                "num_tiles",
                atom("&" + self.memory.view(source.operands[0])),
                atom(str(source.attribute("axis"))),
            )
            return code.inlined(value.id)
        if source.opcode == "load_view":
            if not self.memory.inlines(source):
                raise TooWide(value.id)
            return self.memory.load_code(source).inlined(value.id)
        return expression(source, self.operands).inlined(value.id)

    def tile(self, value: Value) -> Code:
        """A value where a call wants a tile: rank-0 scalars are converted, constants have a local."""
        if not isinstance(value.type, TileType) or value.type.pointer:
            return self.raw(value)
        if value.type.shape or self.values.is_tile0(value):
            return self.raw(value)
        kind = self.spelling.tile(value.type.dtype, ())
        source = self.values.defined.get(value.id)
        if isinstance(source, Operation) and source.opcode == "constant":
            number = source.attribute("value")
            assert isinstance(number, (int, float))
            return self.bind("fill", kind, constant_code(self.operands, number, value.type.dtype, ()))
        return self.bind(f"{value.name or 's'}_tile", kind, call("scalar_to_tile", self.raw(value)))

    def scalar(self, value: Value) -> Code:
        """A rank-0 value as a Rust scalar."""
        if not self.values.is_tile0(value):
            return self.raw(value)
        return self.bind(
            value.name or "s", str(tile_type(value).dtype), call("tile_to_scalar", self.raw(value))
        )

    # ---- statements

    def block(self, block: Block) -> None:
        for s in block.statements:
            self.now = self.values.position[id(s)]
            if self.writer.indent == self._base:
                self.memory.top = len(self.writer.lines)
            match s:
                case Operation():
                    self._operation(s)
                case If():
                    self._at(s.span)
                    self._if(s)
                case For():
                    self._at(s.span)
                    self._for(s)
                case Loop():
                    self._at(s.span)
                    self._loop(s)

    def _operation(self, s: Operation) -> None:
        if s.results and len(s.results) == 1 and (self.values.is_inline(s.result) or s.opcode == "make_view"):
            return
        if s.opcode == "num_tiles":
            return
        self._at(s.span)
        match s.opcode:
            case "store_view":
                self.memory.store(s)
            case "load_view":
                self.memory.load(s)
            case "load_ptr":
                self.memory.load_pointer(s)
            case "base_pointer":
                self.assign(s.result, self.memory.base(s), self._annotate(s))
            case "store_ptr":
                self.memory.store_pointer(s)
            case "assert":
                message = str(s.attribute("message") or "").replace('"', '\\"')
                condition = self.bind("holds", self._kind(s.operands[0]), self.raw(s.operands[0]))
                self.writer.line(f'cuda_tile_assert!({condition.text}, "{message}");')
            case _:
                self.assign(s.result, expression(s, self.operands), self._annotate(s))

    def _kind(self, value: Value) -> str:
        kind = tile_type(value)
        return (
            self.spelling.tile(kind.dtype, kind.shape)
            if kind.shape or self.values.is_tile0(value)
            else str(kind.dtype)
        )

    def _annotate(self, s: Operation) -> str:
        kind = s.result.type
        assert isinstance(kind, TileType)
        if kind.pointer:
            return f": {self.memory.pointer_type(s.result)}"
        scalar = not kind.shape and not self.values.is_tile0(s.result)
        typed = [
            "reduce",
            "exti",
            "trunci",
            "bitcast",
            "iota",
            "permute",
            "cat",
            "extract",
            "constant",
            "itof",
            "ftof",
            "ftoi",
        ]
        if scalar:
            return f": {kind.dtype}" if s.opcode in ("constant",) else ""
        return f": {self._kind(s.result)}" if s.opcode in typed else ""

    def wish(self, value: Value) -> str:
        """What a value would like to be called."""
        if value.name:
            return value.name
        source = self.values.defined.get(value.id)
        if not isinstance(source, Operation):
            return "r"
        if source.opcode == "reduce":
            return {"sum": "sum", "prod": "product", "max": "high", "min": "low"}[
                str(source.attribute("function"))
            ]
        if source.opcode in (
            "ftof",
            "itof",
            "ftoi",
            "exti",
            "trunci",
            "bitcast",
            "reshape",
            "broadcast",
            "permute",
        ):
            return self.wish(source.operands[0])
        if source.opcode == "block_id":
            return ("i", "j", "k")[int(str(source.attribute("axis")))]
        return WISHES.get(source.opcode, "t")

    def assign(self, value: Value, code: Code, annotation: str, unsafe: bool = False) -> None:
        """`let name = code;`, or `name = code;` for a carried variable."""
        variable = self.variables.get(value.id)
        if variable is not None:
            if self.values.is_tile0(value):
                code = call("tile_to_scalar", self.bind("s", self._kind(value), code))
                value = Value(-1, value.type)
            self.put(f"{variable.name} = ", code, unsafe=unsafe)
            return
        variable = self.scope.declare(self.wish(value), self.now, self.values.last_use(value))
        self.variables[value.id] = variable
        self.put(f"let {variable.name}{annotation} = ", code, unsafe=unsafe)

    def _carried(self, value: Value, wish: str, last: int, initial: Code, later: Sequence[Value]) -> Variable:
        variable = self.scope.declare(wish, self.now, last, mutable=True)
        kind = self.spelling.value(tile_type(value))
        self.put(f"let mut {variable.name}: {kind} = ", initial)
        self.variables.update((v.id, variable) for v in (value, *later))
        return variable

    def _start(self, loop: For | Loop) -> list[Variable]:
        """Declares or takes over the variables of a loop's carries."""
        variables = []
        for k, argument in enumerate(loop.arguments):
            initial = loop.initial[k]
            held = self.variables.get(initial.id)
            last = self.values.loop_last(loop, k)
            free = held is not None and held.mutable and self.values.last_use(initial) <= self.now
            free = free and sum(v.id == initial.id for v in loop.initial) == 1
            if held is not None and free:
                held.last = max(held.last, last)
                variables.append(held)
                continue
            code = self.scalar(initial) if not tile_type(argument).shape else self.raw(initial)
            wish = argument.name or loop.results[k].name or self.wish(initial)
            variables.append(self._carried(argument, wish, last, code, ()))
        for k, (argument, variable) in enumerate(zip(loop.arguments, variables, strict=True)):
            self.variables[argument.id] = self.variables[loop.results[k].id] = variable
            value = self.values.yielded_to(loop, k)
            if value is not None:
                self.variables[value.id] = variable
        return variables

    def _for(self, s: For) -> None:
        variables = self._start(s)
        self.now = self.values.position[id(s)]
        lower, upper = self.scalar(s.lower), self.scalar(s.upper)
        step = self.values.defined.get(s.step.id)
        span = f"{lower.text}..{upper.text}"
        if not (isinstance(step, Operation) and step.opcode == "constant" and step.attribute("value") == 1):
            by = self.scalar(s.step).text
            span = f"({span}).step_by({by if by.isdigit() else f'{_receiver(by)} as usize'})"
        used = self.values.counts[s.variable.id]
        counter = self.scope.declare(s.variable.name or "i", self.now, self.values.end[id(s)])
        self.variables[s.variable.id] = counter
        self.writer.line(f"for {counter.name if used else '_'} in {span} {{")
        self._inside(s.body, variables, s)
        self.writer.line("}")

    def _inside(self, body: Block, variables: list[Variable], loop: For | Loop, skip: int = 0) -> None:
        self.writer.deeper()
        outer = self.loop
        self.loop = (loop, variables)
        self.block(Block(body.statements[skip:], body.terminator))
        self._end(body.terminator, True)
        self.loop = outer
        self.writer.back()

    def _end(self, end: Terminator, top: bool) -> None:
        if end.kind in (End.CONTINUE, End.BREAK) or (top and end.kind is End.YIELD):
            if self.loop is None:
                return
            _, variables = self.loop
            self._copy(variables, end.values)
            if end.kind is End.BREAK:
                self.writer.line("break;")
            elif not top:
                self.writer.line("continue;")
        elif end.kind is End.RETURN and self.loop is not None:
            raise Unsupported("FT302", "`return` inside a loop has no form in cutile 0.5.", self.writer.span)

    def _copy(self, variables: Sequence[Variable], values: Sequence[Value]) -> None:
        """Assigns all at once: no variable is overwritten while another still reads it."""
        pending: list[tuple[Variable, Code]] = []
        for variable, value in zip(variables, values, strict=True):
            if self.variables.get(value.id) is not variable:
                pending.append(
                    (variable, self.scalar(value) if not tile_type(value).shape else self.raw(value))
                )
        while pending:
            reads = [c.text for _, c in pending]
            ready = next((p for p in pending if p[0].name not in (t for t in reads if t != p[1].text)), None)
            if ready is None:
                variable, _code = pending[0]
                saved = self.scope.temporary(variable.name)
                self.writer.line(f"let {saved} = {variable.name};")
                pending = [(v, atom(saved) if c.text == variable.name else c) for v, c in pending]
                continue
            pending.remove(ready)
            self.put(f"{ready[0].name} = ", ready[1])

    def _loop(self, s: Loop) -> None:
        variables = self._start(s)
        skip = self._while_head(s)
        if skip is None:
            self.writer.line("loop {")
            skip = 0
        self._inside(s.body, variables, s, skip)
        self.writer.line("}")

    def _while_head(self, s: Loop) -> int | None:
        """Writes `while c {` if the body starts with the exit test alone; how many statements that covers."""
        for position, first in enumerate(s.body.statements):
            if isinstance(first, Operation):
                if first.results and self.values.is_inline(first.result) and first.opcode != "load_view":
                    continue
                return None
            if (
                not isinstance(first, If)
                or first.results
                or first.then.statements
                or first.otherwise.statements
            ):
                return None
            leave = first.otherwise.terminator
            if first.then.terminator.kind is not End.YIELD or leave.kind is not End.BREAK:
                return None
            if tuple(v.id for v in leave.values) != tuple(a.id for a in s.arguments):
                return None
            before = len(self.writer.lines)
            condition = self.scalar(first.condition)
            if len(self.writer.lines) != before:
                del self.writer.lines[before:], self.writer.spans[before:]
                return None
            self.put("while ", condition, " {")
            return position + 1
        return None

    def _if(self, s: If) -> None:
        if len(s.results) > 1:
            self._declare_results(s)
        elif len(s.results) == 1 and self._value_if(s):
            return
        elif len(s.results) == 1:
            self._declare_results(s)
        condition = self.scalar(s.condition)
        then, otherwise = s.then, s.otherwise
        if self._empty(then) and not self._empty(otherwise):
            condition = self._negated(s.condition, condition)
            then, otherwise = otherwise, then
        self.put("if ", condition, " {")
        self._branch(then, s)
        if not self._empty(otherwise):
            self.writer.line("} else {")
            self._branch(otherwise, s)
        self.writer.line("}")

    def _empty(self, block: Block) -> bool:
        if block.terminator.kind is not End.YIELD or self._visible(block.statements):
            return False
        return all(self.variables.get(v.id) is not None and self.variables[v.id] is r
                   for v, r in zip(block.terminator.values, self._targets, strict=False))  # fmt: skip

    def _visible(self, statements: Sequence[Statement]) -> bool:
        return any(
            not (isinstance(s, Operation) and len(s.results) == 1 and self.values.is_inline(s.result))
            for s in statements
        )

    def _branch(self, block: Block, s: If) -> None:
        targets = [self.variables[r.id] for r in s.results]
        self.writer.deeper()
        self.block(block)
        if block.terminator.kind is End.YIELD:
            self._copy(targets, block.terminator.values)
        else:
            self._end(block.terminator, False)
        self.writer.back()
        self._targets = targets

    def _negated(self, value: Value, code: Code) -> Code:
        source = self.values.defined.get(value.id)
        if isinstance(source, Operation) and source.opcode == "cmpi" and self.values.is_inline(value):
            symbol = COMPARE_SCALAR[str(source.attribute("predicate"))]
            left, right = (self.scalar(v).text for v in source.operands)
            return Code(f"{left} {INVERSE[symbol]} {right}", 4)
        return Code(f"{code.text if code.precedence > 4 else f'({code.text})'} == false", 4)

    def _declare_results(self, s: If) -> None:
        targets: list[Variable] = []
        for k, result in enumerate(s.results):
            ends = (s.otherwise.terminator, s.then.terminator)
            outside = [t.values[k] for t in ends if t.kind is End.YIELD and self._outside(t.values[k])]
            kind = tile_type(result)
            if outside:
                initial = self.scalar(outside[0]) if not kind.shape else self.raw(outside[0])
            elif kind.shape:
                initial = constant_code(self.operands, 0, kind.dtype, kind.shape)
            else:
                initial = atom(
                    "false" if kind.dtype.name == "bool" else "0.0" if kind.dtype.is_float else "0"
                )
            if result.id in self.variables:
                variable = self.variables[result.id]
                self.put(f"{variable.name} = ", initial)
            else:
                name = result.name or (outside[0].name if outside else None) or "r"
                variable = self._carried(result, name, self.values.last_use(result), initial, ())
            targets.append(variable)
        self._targets = targets

    def _outside(self, value: Value) -> bool:
        return value.id in self.variables or self.values.is_free(value)

    def _value_if(self, s: If) -> bool:
        """`let x = if c { a } else { b };`"""
        (result,) = s.results
        if End.YIELD is not s.then.terminator.kind or End.YIELD is not s.otherwise.terminator.kind:
            return False
        condition = self.scalar(s.condition)
        variable = self.variables.get(result.id)
        kind = tile_type(result)
        if variable is None:
            variable = self.scope.declare(self.wish(result), self.now, self.values.last_use(result))
            head = f"let {variable.name}: {self.spelling.value(kind)} = "
        else:
            head = f"{variable.name} = "
        simple = not self._visible(s.then.statements) and not self._visible(s.otherwise.statements)
        if simple:
            a, b = (self.raw(t.terminator.values[0]).text for t in (s.then, s.otherwise))
            short = f"if {condition.text} {{ {a} }} else {{ {b} }}"
            if len(short) <= IF_WIDTH and self.writer.indent + len(head) + len(short) < 100:
                self.writer.line(f"{head}{short};")
                self.variables[result.id] = variable
                return True
        self.writer.line(f"{head}if {condition.text} {{")
        for branch, close in ((s.then, "} else {"), (s.otherwise, "};")):
            self.writer.deeper()
            self.block(branch)
            value = branch.terminator.values[0]
            self.put("", self.scalar(value) if not kind.shape else self.raw(value), "")
            self.writer.back()
            self.writer.line(close)
        self.variables[result.id] = variable
        return True


def _receiver(text: str) -> str:
    simple = text.replace("_", "").replace(".", "").replace("()", "").isalnum() or text.endswith(")")
    return text if simple and " " not in text else f"({text})"

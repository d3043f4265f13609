"""Statements of a kernel body: each operation with its local. What a `Body` holds together is in files of their own:
memory accesses in `memory.py`, loops in `loops.py`, branches in `branches.py`, going back in `resuming.py`."""

from __future__ import annotations

from collections.abc import Callable

from ferrotile.passes.plan import Plan
from ferrotile.program.ir import Block, For, If, Loop, Operation, Value
from ferrotile.program.types import TileType
from ferrotile.rust import block_ids
from ferrotile.rust.assigned import Assigned
from ferrotile.rust.branches import Branches
from ferrotile.rust.carries import Carries
from ferrotile.rust.crowding import Crowding, TooWide
from ferrotile.rust.expressions import Operands, constant_code, expression, tile_type
from ferrotile.rust.journal import Journal
from ferrotile.rust.layout import Code, atom, call, method, statement, unsafe_statement
from ferrotile.rust.loops import Loops, Minted
from ferrotile.rust.memory import Memory
from ferrotile.rust.printing import print_line
from ferrotile.rust.remarks import Queues, rust_comment
from ferrotile.rust.resuming import Mark, Resuming
from ferrotile.rust.scope import Scope, Variable
from ferrotile.rust.targets.cutile_0_5 import UNTYPED_TILES
from ferrotile.rust.types import Spelling, literal
from ferrotile.rust.unsafe_forms import unsafe_reason
from ferrotile.rust.values import Values
from ferrotile.rust.wishes import Wishes
from ferrotile.rust.writer import Writer
from ferrotile.syntax.span import NOWHERE, Span


class Body:
    """Emits one kernel's statements into a writer."""

    def __init__(
        self,
        plan: Plan,
        values: Values,
        scope: Scope,
        spelling: Spelling,
        writer: Writer,
        comments: Queues,
        forced: set[int],
        journal: Journal,
    ) -> None:
        self.plan, self.values, self.scope, self.spelling, self.writer = plan, values, scope, spelling, writer
        self.journal = journal
        self.variables: dict[int, Variable] = journal.dict()
        self.forced = forced
        self.crowding = Crowding(values, forced)
        self.comments = comments
        self.now = 0
        self._fills: dict[tuple[float, type, str], Code] = {}
        """Rank-0 tiles of constants that the statement at hand has bound."""
        self.minted: dict[int, Minted] = {}
        """The local that holds the tile of the mapped loop at hand."""
        self._base = writer.indent
        self.names = Wishes(values, scope)
        self.memory = Memory(self)
        self.operands = Operands(
            self.raw, self.tile, self.scalar, values, spelling, plan.axes, self.bind, self.memory.mul_add,
            self.memory.helpers.get,
        )  # fmt: skip
        self.carries = Carries(values)
        self.assigned = Assigned(self)
        self.loops = Loops(self)
        self.branches = Branches(self)
        self._resuming = Resuming(self)

    def put(self, prefix: str, code: Code, suffix: str = ";", unsafe: bool = False) -> None:
        """One statement, broken as rustfmt would. An inlined value that must come out first joins `crowding`: the text
        is then not the last one."""
        layout: Callable[[str, Code, str, int], list[str] | None] = unsafe_statement if unsafe else statement
        lines = layout(prefix, code, suffix, self.writer.indent)
        if lines is not None:
            self.crowding.tall(prefix, code, f"{suffix} }}" if unsafe else suffix, self.writer.indent, len(lines))
        else:
            self.crowding.wide(prefix, code, suffix, self.writer.indent)
            lines = [f"{prefix}unsafe {{ {code.text} }}{suffix}" if unsafe else f"{prefix}{code.text}{suffix}"]
        for line in lines:
            self.writer.line(line)

    def bind(self, wish: str, kind: str, code: Code, keep: bool = False) -> Code:
        """A typed local in front of the statement at hand, which alone reads it unless it is to `keep`."""
        name = self.scope.temporary(wish) if keep else self.scope.passing(wish, self.now)
        self.put(f"let {name}: {kind} = ", code)
        return atom(name)

    def bind_print(self, value: Value) -> str:
        """A printed value under a plain name, which is all that the macro takes."""
        code = self.raw(value)
        if code.text.isidentifier() and code.text not in ("true", "false"):
            return code.text
        return self.bind(value.name or "shown", self._kind(value), code).text

    def at(self, span: Span) -> None:
        """What is written next comes from here: first the comments in front of it."""
        if span != NOWHERE:
            self.writer.span = span
            for text in self.comments.until(span.start):
                self.writer.line(rust_comment(text))

    def raw(self, value: Value) -> Code:
        """A value as it is held: an expression if inlined, else its local."""
        variable = self.variables.get(value.id)
        if variable is not None:
            return atom(variable.name)
        source = self.values.defined[value.id]
        assert isinstance(source, Operation), value
        if source.opcode in ("extent", "num_tiles"):
            extent = self.memory.own_extent(source)
            if extent is not None:
                return extent.inlined(value.id)
        if source.opcode == "num_tiles":
            code = call(
                "num_tiles",
                atom("&" + self.memory.view(source.operands[0])),
                atom(str(source.attribute("axis"))),
            )
            return code.inlined(value.id)
        if source.opcode == "load_view":
            if not self.memory.loads.inlines(source):
                raise TooWide({value.id})
            return self.memory.loads.code(source).inlined(value.id)
        if source.opcode == "stride":
            return self.memory.stride(source.operands[0], int(str(source.attribute("axis")))).inlined(value.id)
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
            text = literal(number, value.type.dtype, False) if value.type.dtype.name == "f32" else None
            if text is not None and text.replace(".", "").isdigit():
                return method(atom(f"{text}f32"), "broadcast", atom(self.spelling.shape(())))
            key = (number, type(number), value.type.dtype.name)
            if key not in self._fills:
                wish = self.wish(value)
                self._fills[key] = self.bind(wish, kind, constant_code(self.operands, number, value.type.dtype, ()))
            return self._fills[key]
        code = self.raw(value)
        if code.text.isidentifier() and value.type.dtype.name != "bool":
            return method(code, "broadcast", atom(self.spelling.shape(())))
        wish = f"{value.name}_tile" if value.name else self.wish(value)
        return self.bind(wish, kind, call("scalar_to_tile", self.raw(value)))

    def scalar(self, value: Value) -> Code:
        """A rank-0 value as a Rust scalar."""
        if not self.values.is_tile0(value):
            return self.raw(value)
        code, dtype = self.raw(value), tile_type(value).dtype
        if "(" in code.text:  # the JIT cannot type a call as the argument of `tile_to_scalar`
            code = self.bind("tile", self.spelling.tile(dtype, ()), code)
        return self.bind(value.name or "s", str(dtype), call("tile_to_scalar", code))

    def block(self, block: Block) -> None:
        """The statements of a block, without its end."""
        runs = block_ids.runs_of(block, self.values, self.carries)
        together = {id(run[0]): run for run in runs}
        done = {id(s) for run in runs for s in run[1:]}
        marks: list[Mark] = []
        unchanged = False
        k, statements = 0, block.statements
        while k < len(statements):
            s = statements[k]
            marks.append(marks[-1] if unchanged else self._resuming.mark())
            unchanged = True
            if id(s) in done:
                k += 1
                continue
            self._fills.clear()
            self.now = self.values.position[id(s)]
            if isinstance(s, Operation) and id(s) not in together and self._silent(s):
                k += 1
                continue
            unchanged = False
            if self.writer.indent == self._base:
                self.memory.top = len(self.writer.lines)
            if id(s) in together:
                block_ids.bind(self, together[id(s)])
            elif isinstance(s, Operation):
                self._operation(s)
            else:
                self.at(s.span)
                self._structured(s)
            crowded = len(self.crowding.found) > len(self.crowding.left)
            k = self._resuming.next(block, runs, marks) if crowded else k + 1
        self._fills.clear()

    def _structured(self, s: If | For | Loop) -> None:
        match s:
            case If():
                self.branches.if_(s)
            case For():
                self.loops.for_(s)
            case Loop():
                self.loops.loop(s)

    def _operation(self, s: Operation) -> None:
        self.at(s.span)
        match s.opcode:
            case "tile_index":
                pass
            case "store_view":
                self.memory.store(s)
            case "load_view":
                self.memory.loads.load(s)
            case "load_ptr":
                self.memory.pointers.load_pointer(s)
            case "base_pointer":
                self.assign(s.result, self.memory.pointers.base(s), self._annotate(s))
            case "store_ptr":
                self.memory.pointers.store_pointer(s)
            case "gather" | "scatter" | "atomic_rmw" | "atomic_cas":
                self.memory.elements.access(s)
            case "slice":
                self.memory.special.slice(s)
            case "load_special":
                self.memory.special.load(s)
            case "store_special":
                self.memory.special.store(s)
            case "reduce_view":
                self.memory.special.reduce(s)
            case "assert":
                message = str(s.attribute("message") or "").replace('"', '\\"')
                condition = self.bind("holds", self._kind(s.operands[0]), self.raw(s.operands[0]))
                self.writer.line(f'cuda_tile_assert!({condition.text}, "{message}");')
            case "print":
                self.writer.line(print_line(s, self.bind_print))
            case _:
                reason = unsafe_reason(s)
                code = expression(s, self.operands)
                if reason is not None:
                    self.writer.line(f"// SAFETY: {reason}")
                    self.memory.assumed += reason.startswith("as in the Python")
                annotation = self._annotate(s)
                if not annotation and s.results and "convert_scalar" in code.text:
                    annotation = f": {self._kind(s.result)}"  # the JIT has no type for it
                self.assign(s.result, code, annotation, unsafe=reason is not None)

    def _silent(self, s: Operation) -> bool:
        """Whether an operation is written where it is read."""
        if len(s.results) == 1 and (s.opcode == "make_view" or self.values.is_inline(s.result)):
            return True
        return s.opcode == "num_tiles" or self._only_padding(s)

    def _only_padding(self, s: Operation) -> bool:
        """Whether a constant is written as a gather's padding argument only."""
        return s.opcode == "constant" and all(
            isinstance(c, Operation) and c.opcode == "load_ptr" and self.memory.pointers.pads_inside(c)
            for c in self.values.consumers(s.result)
        )

    def _kind(self, value: Value) -> str:
        kind = tile_type(value)
        return (
            self.spelling.tile(kind.dtype, kind.shape) if kind.shape or self.values.is_tile0(value) else str(kind.dtype)
        )

    def _annotate(self, s: Operation) -> str:
        kind = s.result.type
        assert isinstance(kind, TileType)
        if kind.pointer:
            return f": {self.memory.pointers.pointer_type(s.result)}"
        scalar = not kind.shape and not self.values.is_tile0(s.result)
        if scalar:
            return "" if self.values.infers(s.result) else f": {kind.dtype}"
        return f": {self._kind(s.result)}" if s.opcode in UNTYPED_TILES else ""

    def wish(self, value: Value) -> str:
        """What a value would like to be called."""
        return self.names.of(value, self.now)

    def assign(self, value: Value, code: Code, annotation: str, unsafe: bool = False) -> None:
        """`let name = code;`, or `name = code;` for a carried variable."""
        variable = self.variables.get(value.id)
        scalar = variable is not None or not self.values.is_tile0(value)
        if scalar and self.values.natural_tile0(value):
            kind = tile_type(value).dtype
            wish = self.wish(value)
            if variable is None:  # the scalar may hide the tile
                name = self.scope.declare(wish, self.now, self.now).name
            else:
                name = self.scope.passing(f"{wish}_tile", self.now)
            self.put(f"let {name}: {self.spelling.tile(kind, ())} = ", code, unsafe=unsafe)
            code, unsafe = call("tile_to_scalar", atom(name)), False
            annotation = f": {kind}"
        if variable is not None:
            self.put(f"{variable.name} = ", code, unsafe=unsafe)
            return
        # A carried number is a scalar: what is held as a tile has a variable of its own.
        carry = None if self.values.is_tile0(value) else self.carries.starting_as(value)
        if carry is not None:
            wish, last = value.name or carry.argument.name or self.wish(value), self.values.lifetimes.lasting(value)
            variable = self.scope.declare(wish, self.now, last, mutable=True)
            self.variables[value.id] = variable
            self.put(f"let mut {variable.name}: {self._kind(value)} = ", code, unsafe=unsafe)
            return
        variable = self.scope.declare(self.wish(value), self.now, self.values.lifetimes.lasting(value))
        self.variables[value.id] = variable
        self.put(f"let {variable.name}{annotation} = ", code, unsafe=unsafe)

    def name_result(self, value: Value, wish: str) -> str:
        """A name for a destructured result: the value's own, unless it is a carried variable."""
        if value.id in self.variables:
            return self.scope.temporary(wish)
        variable = self.scope.declare(self.wish(value), self.now, self.values.lifetimes.lasting(value))
        self.variables[value.id] = variable
        return variable.name

    def settle(self, value: Value, name: str) -> None:
        """Assigns a destructured result to its carried variable, if it has one."""
        if self.variables[value.id].name != name:
            self.writer.line(f"{self.variables[value.id].name} = {name};")

"""Accesses that partitions do not cover: parts of arrays, overlapping tiles, rows by index, stores in another axis
order, memory orders, and reductions into a view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrotile.passes.plan import ArrayPlan, Form
from ferrotile.program.ir import Operation, Value
from ferrotile.program.types import ArrayType, TileType, ViewType
from ferrotile.rust.element_helpers import atomic_mode
from ferrotile.rust.layout import CALL_WIDTH, Code, array, atom, binary, call, method
from ferrotile.rust.targets.cutile_0_5 import ORDERING, PADDING, SCOPE

if TYPE_CHECKING:
    from ferrotile.rust.memory import Memory
    from ferrotile.rust.statements import Body


_LOADED = {True: "the load waits for the access before it", False: "no block writes the array"}


class SpecialViews:
    """Emits these accesses for a `Body`, each with a view of its own."""

    def __init__(self, memory: Memory, body: Body) -> None:
        self._memory, self._body = memory, body
        self._defined = body.values.defined
        self._bases: dict[int, Code] = body.journal.dict()
        """The pointer tile at which each part starts."""

    def handles(self, operation: Operation) -> bool:
        """Whether a load or store goes through here."""
        view = operation.operands[0]
        kind = view.type
        if not isinstance(kind, ViewType) or operation.opcode not in ("load_view", "store_view"):
            return True
        if operation.attribute("memory_order") not in (None, "weak"):
            return True
        if self.parts(view):
            return True
        plan = self._memory.array(view)
        turned = kind.dim_map != tuple(range(len(kind.dim_map)))
        return operation.opcode == "store_view" and turned and plan.form in (Form.FULL, Form.POINTER)

    def parts(self, view: Value) -> bool:
        """Whether the view is of a part of an array."""
        made = self._defined.get(view.id)
        return isinstance(made, Operation) and made.operands[0].id in self._defined

    def slice(self, operation: Operation) -> None:
        """A part of an array as a tensor of its own."""
        body = self._body
        whole, start, stop = operation.operands
        kind = operation.result.type
        assert isinstance(kind, ArrayType)
        rank, axis = kind.rank, int(str(operation.attribute("axis")))
        name = self._memory.tensor(whole)
        steps = [self._memory.stride(whole, d) for d in range(rank - 1)]
        first = body.scalar(start)
        if axis != rank - 1:
            first = binary(first, "*", steps[axis], 10)
        elif first.text.isdigit():
            first = atom(f"{first.text}i32")
        moved = body.bind("from", "Tile<i32, { [] }>", call("scalar_to_tile", first))
        moved = body.bind("from", "Tile<u64, { [] }>", call("exti", moved))
        pointer = f"PointerTile<*mut {kind.dtype}, {{ [] }}>"
        base = self._bases.get(whole.id)
        if base is None:  # a part's own `as_ptr` has no type for the JIT where the element type is generic
            base = call("pointer_to_tile", call("cast_mut", method(atom(name), "as_ptr")))
            base = body.bind("base", pointer, base)
        base = self._bases[operation.result.id] = body.bind(
            "base", pointer, method(base, "offset_tile", moved), keep=True
        )
        extents = [atom(f"{name}.shape()[{d}]") for d in range(rank)]
        extents[axis] = self._length(start, stop)
        dims = ", ".join(["-1"] * rank)
        shape = self._struct("extents", "Shape", f"{{ [{dims}] }}", extents)
        inner = ", ".join([*["-1"] * (rank - 1), "1"])
        strides = self._struct("steps", "Array", f"{{ [{inner}] }}", steps)
        last = body.values.lifetimes.lasting(operation.result)
        variable = body.scope.declare(body.wish(operation.result), body.now, last)
        body.variables[operation.result.id] = variable
        self._memory.assumed += 1
        body.writer.line(f"// SAFETY: as in the Python, the part lies within `{name}`.")
        code = call("make_tensor_view", base, atom(shape), atom(strides), atom(f"{name}.token()"))
        body.put(f"let {variable.name}: Tensor<{kind.dtype}, {{ [{dims}] }}> = ", code, unsafe=True)

    def _length(self, start: Value, stop: Value) -> Code:
        """`stop - start`; of `start + n` that is `n`, and the sum is written nowhere else."""
        end = self._defined.get(stop.id)
        if isinstance(end, Operation) and end.opcode == "addi" and self._body.values.is_inline(stop):
            first, second = end.operands
            if start.id in (first.id, second.id):
                return self._body.scalar(second if first.id == start.id else first)
        return binary(self._body.scalar(stop), "-", self._body.scalar(start), 9)

    def _struct(self, wish: str, type_: str, sizes: str, words: list[Code]) -> str:
        body = self._body
        name = body.scope.temporary(wish)
        inside = f"dims: &[{', '.join(w.text for w in words)}]"
        head = f"let {name}: {type_}<{sizes}> = {type_}::<{sizes}>"
        if len(inside) <= 18:
            body.writer.line(f"{head} {{ {inside} }};")
        else:
            body.writer.line(f"{head} {{")
            if len(inside) - len("dims: &[]") <= CALL_WIDTH:
                body.writer.line(f"    {inside},")
            else:
                for line in ("dims: &[", *(f"    {w.text}," for w in words), "],"):
                    body.writer.line(f"    {line}")
            body.writer.line("};")
        return name

    def _view(self, value: Value, plan: ArrayPlan, write: bool) -> str:
        """A local view of the array or part, made where it is used."""
        body = self._body
        kind = value.type
        made = self._defined[value.id]
        assert isinstance(kind, ViewType) and isinstance(made, Operation)
        name = self._memory.tensor(made.operands[0])
        reference = self._memory.reference(made.operands[0])
        shape = atom(body.spelling.shape(kind.tile))
        braces = body.spelling.braces(kind.tile)
        pad = atom(f"padding::{'None' if kind.padding is None else PADDING[kind.padding]}")
        local = body.scope.temporary(f"p{name}")
        if kind.sparse is not None:
            typed = f"GatherScatterView<{kind.dtype}, {braces}, {kind.sparse}>"
            code = call("make_gather_scatter_view", atom(reference), shape, pad)
        elif kind.steps is not None:
            axes = ", ".join(map(str, kind.dim_map))
            typed = f"StridedView<{kind.dtype}, {braces}, {{ [{', '.join(map(str, kind.steps))}] }}, {{ [{axes}] }}>"
            code = call("make_strided_view", atom(reference), shape, pad)
        else:
            typed = f"Partition<{kind.dtype}, {braces}>"
            identity = kind.dim_map == tuple(range(len(kind.dim_map)))
            if identity and not write and kind.padding in (None, "zero"):
                body.put(f"let {local}: {typed} = ", method(atom(name), "partition", shape))
                return local
            order = atom("dim_map::Identity" if identity else f"const_array![{', '.join(map(str, kind.dim_map))}]")
            code = call("make_partition_view", atom(reference), shape, pad, order, atom(f"{name}.token()"))
        why = "its accesses say how they are ordered" if write or plan.form is not Form.READ else "it is never written"
        body.writer.line(f"// SAFETY: the view starts from the tensor's own token; {why}.")
        body.put(f"let {local}: {typed} = ", code, unsafe=True)
        return local

    def _modes(self, operation: Operation) -> tuple[Code, ...]:
        order = atom(f"ordering::{ORDERING[str(operation.attribute('memory_order') or 'weak')]}")
        scope = atom(f"scope::{SCOPE[str(operation.attribute('memory_scope') or 'tile_block')]}")
        tma = self._memory.tma.allows(self._memory.access[id(operation)])
        latency = operation.attribute("latency")
        return (
            order,
            scope,
            atom(f"tma::{'Enabled' if tma else 'Disabled'}"),
            atom("None" if latency is None else f"Some({latency})"),
        )

    def _index(self, view: Value, values: tuple[Value, ...]) -> Code:
        kind = view.type
        assert isinstance(kind, ViewType)
        codes: list[Code] = []
        for value in values:
            assert isinstance(value.type, TileType)
            if value.type.shape:
                code = self._body.tile(value)
                if "(" in code.text:
                    code = self._body.bind("at", self._body.spelling.tile(value.type.dtype, value.type.shape), code)
                codes.append(code)
            else:
                codes.append(self._memory.index_code(value, True))
        if kind.sparse is None:
            return array(*codes)
        return atom(f"({', '.join(c.text for c in codes)})")

    def load(self, operation: Operation) -> None:
        """A load, with the array's token where its accesses are ordered."""
        body, memory = self._body, self._memory
        view, *index = operation.operands
        plan = memory.array(view)
        kind = operation.result.type
        assert isinstance(kind, TileType)
        local = self._view(view, plan, False)
        at = self._index(view, tuple(index))
        token = f"Some({memory.token(plan)})" if plan.tokens else "None"
        order, scope, tma, latency = self._modes(operation)
        assert isinstance(view.type, ViewType)
        if not plan.tokens and operation.opcode == "load_view":
            note = f": {body.spelling.tile(kind.dtype, kind.shape)}"
            code = call("load_view_tko", atom(f"&{local}"), at, order, scope, latency, tma)
            body.assign(operation.result, code, note)
            return
        shape = atom(body.spelling.shape(kind.shape))
        flags = array(*[atom("false")] * len(kind.shape))
        body.writer.line(f"// SAFETY: {_LOADED[plan.tokens]}.")
        code = call("load_view_raw", atom(f"&{local}"), at, atom(token), *self._modes(operation), flags, shape)
        typed = body.spelling.tile(kind.dtype, kind.shape)
        name = body.name_result(operation.result, "loaded")
        done = body.scope.temporary("done") if plan.tokens else "_"
        body.put(f"let ({name}, {done}): ({typed}, Token) = ", code, unsafe=True)
        if plan.tokens:
            body.writer.line(f"{memory.token(plan)} = {done};")
        body.settle(operation.result, name)

    def store(self, operation: Operation) -> None:
        """A store, with the array's token where its accesses are ordered."""
        plan, view, value, at, token = self._target(operation)
        flags = array(*[atom("false")] * len(operation.operands[2:]))
        self._memory.note(plan)
        self._write(plan, call("store_view_raw", view, value, at, token, *self._modes(operation), flags))

    def reduce(self, operation: Operation) -> None:
        """An atomic reduction into a tile of the array."""
        plan, view, value, at, token = self._target(operation)
        mode = atom(f"atomic::{atomic_mode(str(operation.attribute('mode')), plan.dtype)}")
        order = atom(f"ordering::{ORDERING[str(operation.attribute('memory_order'))]}")
        scope = atom(f"scope::{SCOPE[str(operation.attribute('memory_scope'))]}")
        self._body.writer.line("// SAFETY: the access is atomic, and lanes outside the array are left out.")
        self._write(plan, call("atomic_red_view_raw", view, value, at, mode, order, scope, token))

    def _target(self, operation: Operation) -> tuple[ArrayPlan, Code, Code, Code, Code]:
        """What a write goes to: the array's plan, its view, the tile, the index and the token before it."""
        view, tile, *index = operation.operands
        plan = self._memory.array(view)
        value = self._value(tile)
        local = atom(f"&{self._view(view, plan, True)}")
        token = atom(f"Some({self._memory.token(plan)})" if plan.tokens else "None")
        return plan, local, value, self._index(view, tuple(index)), token

    def _write(self, plan: ArrayPlan, code: Code) -> None:
        """A write, whose token is the array's next one where its accesses are ordered."""
        self._body.put(f"{self._memory.token(plan)} = " if plan.tokens else "", code, unsafe=True)

    def _value(self, tile: Value) -> Code:
        body = self._body
        code = body.tile(tile)
        if not code.text.isidentifier():
            assert isinstance(tile.type, TileType)
            code = body.bind("value", body.spelling.tile(tile.type.dtype, tile.type.shape), code)
        return code

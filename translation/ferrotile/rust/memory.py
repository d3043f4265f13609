"""Loads and stores of a kernel body: views, ordered loads, owned and full stores, pointers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ferrotile.passes.accesses import find_accesses
from ferrotile.passes.hints import check_is_free, use_tma
from ferrotile.passes.plan import ArrayPlan, Form
from ferrotile.passes.uses import array_of, operations
from ferrotile.program.dtypes import BOOL, I32
from ferrotile.program.ir import Operation, Value
from ferrotile.program.types import ViewType
from ferrotile.rust import safety
from ferrotile.rust.expressions import Unsupported, constant_code, tile_type
from ferrotile.rust.layout import Code, array, atom, binary, call, method
from ferrotile.rust.layout import statement as layout_statement
from ferrotile.rust.layout import unsafe_statement as layout_unsafe
from ferrotile.rust.ordered import Ordered
from ferrotile.rust.pointers import Pointers
from ferrotile.rust.targets.cutile_0_5 import PADDING

if TYPE_CHECKING:
    from ferrotile.rust.statements import Body

_WHY = {
    True: "tile indices are one to one in the block id and loop counters, so blocks write different tiles",
    False: "as in the Python, no two blocks write the same tile",
}

_Key = tuple[int, tuple[int, ...], tuple[int, ...], str | None]


class Memory:
    """Emits memory operations for a `Body`; keeps the hoisted views and the helpers that they need."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.plan = body.plan
        self._defined = body.values.defined
        self.access = {id(a.operation): a for a in find_accesses(self.plan.program)}
        self.views: dict[_Key, str] = {}
        self._stores: dict[int, str] = {}
        self._tokens: dict[int, str] = {}
        self._wants: dict[_Key, int] = {}
        for operation in operations(self.plan.program.body):
            if operation.opcode in ("load_view", "num_tiles"):
                key = self.key(operation.operands[0])
                self._wants[key] = self._wants.get(key, 0) + 1
        self._unchecked = {
            self.key(o.operands[0])
            for o in operations(self.plan.program.body)
            if o.opcode == "load_view" and not self._checked(o)
        }
        self.helpers: dict[str, safety.Helper] = {}
        self._helper_keys: dict[tuple[object, ...], str] = {}
        self.top = 0
        self.assumed = 0
        self.pointers = Pointers(self, body)
        self.ordered = Ordered(self, body)

    def array(self, value: Value) -> ArrayPlan:
        found = array_of(value, self._defined)
        assert found is not None
        return self.plan.array(found.id)

    def key(self, view: Value) -> _Key:
        found = array_of(view, self._defined)
        assert found is not None and isinstance(view.type, ViewType)
        tokens = self.plan.array(found.id).tokens
        padding = view.type.padding if tokens else view.type.padding or "zero"
        return (found.id, tuple(s.value for s in view.type.tile), view.type.dim_map, padding)

    def hoist(self, prefix: str, code: Code, unsafe: bool, safety_line: str | None) -> None:
        """Writes a `let` in front of the top-level statement at hand."""
        writer = self._body.writer
        indent = 8
        lines = (layout_unsafe if unsafe else layout_statement)(prefix, code, ";", indent)
        lines = lines or [f"{prefix}{code.text};"]
        if safety_line is not None:
            lines = [safety_line, *lines]
        writer.lines[self.top : self.top] = [" " * indent + line for line in lines]
        writer.spans[self.top : self.top] = [writer.span] * len(lines)
        self.top += len(lines)

    def _partition(self, view: ViewType, name: str) -> tuple[Code, bool]:
        spelling = self._body.spelling
        shape = atom(spelling.shape(view.tile))
        identity = view.dim_map == tuple(range(len(view.dim_map)))
        order = atom("dim_map::Identity" if identity else f"const_array![{', '.join(map(str, view.dim_map))}]")
        if view.padding in (None, "zero"):
            if identity:
                return method(atom(name), "partition", shape), False
            return method(atom(name), "partition_permuted", shape, order), False
        pad = atom(f"padding::{PADDING[view.padding]}")
        return call("make_partition_view", atom(name), shape, pad, order, atom(f"{name}.token()")), True

    def view(self, value: Value) -> str:
        """The local that holds a read view, made on first use."""
        key = self.key(value)
        if key in self.views:
            return self.views[key]
        assert isinstance(value.type, ViewType)
        plan = self.array(value)
        name = self._body.scope.temporary(f"p{plan.name}")
        self.views[key] = name
        code, unsafe = self._partition(value.type, plan.name)
        typed = unsafe or key in self._unchecked
        kind = f": Partition<{value.type.dtype}, {self._body.spelling.braces(value.type.tile)}>" if typed else ""
        note = f"// SAFETY: the view starts from the tensor's own token and `{plan.name}` is never written."
        self.hoist(f"let {name}{kind} = ", code, unsafe, note if unsafe else None)
        return name

    def index(self, values: tuple[Value, ...], bound: bool) -> Code:
        codes = []
        for v in values:
            code = self._body.scalar(v)
            if bound and ("(" in code.text or "[" in code.text):
                code = self._body.bind("at", "i32", code)
            elif bound and code.text.isdigit():
                code = atom(f"{code.text}i32")
            codes.append(code)
        return array(*codes)

    def _checked(self, operation: Operation) -> bool:
        """Whether a load stays `.load(..)`: its check costs nothing, or the options keep it."""
        access = self.access[id(operation)]
        free = use_tma(access, self.plan.options.target) and check_is_free(access, self._defined)
        return free or self.plan.options.checks == "keep"

    def load_code(self, operation: Operation) -> Code:
        """A load as an expression."""
        view = operation.operands[0].type
        assert isinstance(view, ViewType)
        if self.plan.options.unsafe == "never" and view.padding not in (None, "zero"):
            return self._masked(operation, view)
        return self._load_code(operation)

    def token(self, plan: ArrayPlan) -> str:
        """The variable that holds the token of an array's last access."""
        if plan.value not in self._tokens:
            name = self._tokens[plan.value] = self._body.scope.temporary(f"{plan.name}_order")
            self.hoist(f"let mut {name}: Token = ", method(atom(plan.name), "token"), False, None)
        return self._tokens[plan.value]

    def note(self, plan: ArrayPlan) -> None:
        self.assumed += not plan.injective
        self._body.writer.line(f"// SAFETY: {_WHY[plan.injective]} of `{plan.name}`.")

    def _masked(self, operation: Operation, view: ViewType) -> Code:
        """Any padding without `unsafe`: a zero-padded load, and a select on the lanes inside the array."""
        body, spelling = self._body, self._body.spelling
        plain = replace(view, padding=None)
        source = operation.operands[0]
        made = self._defined[source.id]
        assert isinstance(made, Operation)
        array_ = made.operands[0].name or self.plan.array(made.operands[0].id).name
        unpadded = replace(source, type=plain)
        access = self.access[id(operation)]
        loaded = replace(operation, operands=(unpadded, *operation.operands[1:]))
        self.access[id(loaded)] = replace(access, operation=loaded, view=plain)
        kind = spelling.tile(view.dtype, view.tile)
        mask: Code | None = None
        flags = spelling.tile(BOOL, view.tile)
        for d, size in enumerate(view.tile):
            axis = view.dim_map[d]
            if size.value == 1:
                continue
            line = replace(size, symbol=size.symbol)
            lanes = body.bind("lanes", spelling.tile(I32, (line,)), call("iota", atom(spelling.shape((line,)))))
            shape = atom(spelling.shape((line,)))
            start = access.index[d]
            if start.known != 0:
                index = binary(body.scalar(operation.operands[1 + d]), "*", atom(spelling.size(size)), 10)
                lanes = body.bind(
                    "at",
                    spelling.tile(I32, (line,)),
                    binary(method(index, "broadcast", shape), "+", lanes, 9),
                )
            end = method(atom(f"{array_}.shape()[{axis}]"), "broadcast", shape)
            inside = call("lt_tile", lanes, end)
            ones = ", ".join(spelling.size(size) if e == d else "1" for e in range(len(view.tile)))
            inside = method(inside, "reshape", atom(f"shape![{ones}]"))
            if any(s.value != 1 for e, s in enumerate(view.tile) if e != d):
                inside = body.bind("inside", flags.replace(spelling.braces(view.tile), f"{{ [{ones}] }}"), inside)
                inside = method(inside, "broadcast", atom(spelling.shape(view.tile)))
            mask = inside if mask is None else binary(mask, "&", inside, 7)
        tile = body.bind("loaded", kind, self._load_code(loaded))
        if mask is None:
            return tile
        number = {"neg_zero": -0.0, "nan": math.nan, "pos_inf": math.inf, "neg_inf": -math.inf}[str(view.padding)]
        fill = body.bind("fill", kind, constant_code(body.operands, number, view.dtype, view.tile))
        return call("select", body.bind("inside", flags, mask), tile, fill)

    def _load_code(self, operation: Operation) -> Code:
        view, index = operation.operands[0], operation.operands[1:]
        plan = self.array(view)
        access = self.access[id(operation)]
        assert isinstance(view.type, ViewType)
        if operation.attribute("memory_order") not in (None, "weak"):
            raise Unsupported("FT301", "Loads with a memory order have no translation yet.", operation.span)
        if plan.ordered:
            return self._ordered(operation, plan, view.type)
        tma = use_tma(access, self.plan.options.target)
        if self._checked(operation):
            if self._wants.get(self.key(view)) == 1 and access.straight and view.type.padding in (None, "zero"):
                code, _ = self._partition(view.type, plan.name)
                return method(code, "load", self.index(index, False))
            return method(atom(self.view(view)), "load", self.index(index, False))
        if len(view.type.tile) == 1 and operation.attribute("allow_tma") is None:
            tma = False
        self._unchecked.add(self.key(view))
        name = self.view(view)
        latency = operation.attribute("latency")
        return call(
            "load_view_tko", atom(f"&{name}"), self.index(index, True), atom("ordering::Weak"),
            atom("scope::TileBlock"), atom("None" if latency is None else f"Some({latency})"),
            atom(f"tma::{'Enabled' if tma else 'Disabled'}"),
        )  # fmt: skip

    def _ordered(self, operation: Operation, plan: ArrayPlan, view: ViewType) -> Code:
        owned = plan.form is Form.OWNED
        identity = view.dim_map == tuple(range(len(view.dim_map)))
        if view.padding not in (None, "zero") or not identity:
            raise Unsupported(
                "FT304", f"`{plan.name}` is also written: load it without padding or order.", operation.span
            )
        name = self._helper("load_first", plan, tuple(view.tile), owned)
        if owned:
            return call(name, atom(plan.name))
        index = [self._body.scalar(v) for v in operation.operands[1:]]
        generics = self.helpers[name].generics
        return call(f"{name}::<{generics}>" if generics else name, atom(plan.name), *index)

    def _helper(self, kind: str, plan: ArrayPlan, tile: tuple[object, ...], owned: bool) -> str:
        spelling = self._body.spelling
        view = next(a.view for a in self.access.values() if a.array == plan.value and a.view is not None
                    and tuple(a.view.tile) == tile)  # fmt: skip
        key = (kind, plan.dtype.name, spelling.sizes(view.tile), spelling.sizes(plan.tile), owned)
        if key not in self._helper_keys:
            name, number = kind, 2
            while name in self.helpers:
                name, number = f"{kind}{number}", number + 1
            self._helper_keys[key] = name
            if kind == "load_first":
                made = safety.load_first(name, plan.dtype, plan.tile if owned else None, view.tile, spelling)
            else:
                made = safety.store_row(name, plan.dtype, plan.tile, view.tile, plan.row_axis, spelling)
            self.helpers[name] = made
        return self._helper_keys[key]

    def inlines(self, operation: Operation) -> bool:
        """Whether a load may stand inside an expression: `load_view_tko` needs a typed local (JIT)."""
        return self._checked(operation) and not self.array(operation.operands[0]).ordered

    def load(self, operation: Operation) -> None:
        """A load into a local."""
        plan = self.array(operation.operands[0])
        if plan.tokens:
            self.ordered.load(operation, plan)
            return
        kind = tile_type(operation.result)
        bare = not self.inlines(operation) and not plan.ordered
        note = f": {self._body.spelling.tile(kind.dtype, kind.shape)}" if bare else ""
        self._body.assign(operation.result, self.load_code(operation), note)

    def store(self, operation: Operation) -> None:
        """A store in the form that the plan chose."""
        view, tile, *index = operation.operands
        plan = self.array(view)
        access = self.access[id(operation)]
        body = self._body
        code = body.tile(tile)
        assert isinstance(view.type, ViewType)
        quick = use_tma(access, self.plan.options.target) or self.plan.options.unsafe == "never"
        if plan.tokens:
            self.ordered.store(operation, plan, code)
        elif plan.form in (Form.OWNED, Form.OWNED_ROW) and not quick:
            name = self._helper("store_row", plan, tuple(view.type.tile), True)
            extra = [body.scalar(index[plan.row_axis])] if plan.row_axis is not None else []
            body.put("", call(name, atom(plan.name), code, *extra))
        elif plan.form is Form.OWNED:
            body.put("", method(atom(plan.name), "store", code))
        elif plan.form is Form.OWNED_ROW:
            if plan.value not in self._stores:
                name = self._stores[plan.value] = body.scope.temporary(f"p{plan.name}")
                shape = atom(body.spelling.shape(view.type.tile))
                self.hoist(f"let mut {name} = ", method(atom(plan.name), "partition_mut", shape), False, None)
            at = [body.scalar(v) if d == plan.row_axis else atom("0") for d, v in enumerate(index)]
            body.put("", method(atom(self._stores[plan.value]), "store", code, array(*at)))
        else:
            self._store_full(operation, plan, view.type, code, tuple(index), access.straight)

    def _store_full(
        self,
        operation: Operation,
        plan: ArrayPlan,
        view: ViewType,
        code: Code,
        index: tuple[Value, ...],
        straight: bool,
    ) -> None:
        body = self._body
        if view.dim_map != tuple(range(len(view.dim_map))):
            raise Unsupported("FT301", "Stores with `order` have no translation yet.", operation.span)
        shape = atom(body.spelling.shape(view.tile))
        made = method(atom(plan.name), "partition_full_mut", shape)
        name = self._stores.get(plan.value)
        if name is None or straight:
            name = self._stores[plan.value] = body.scope.temporary(f"p{plan.name}")
            note = f"// SAFETY: {_WHY[plan.injective]} of `{plan.name}`."
            self.assumed += not plan.injective
            if straight:
                body.writer.line(note)
                body.put(f"let mut {name} = ", made, unsafe=True)
            else:
                self.hoist(f"let mut {name} = ", made, True, note)
        body.put("", method(atom(name), "store", code, self.index(index, False)))

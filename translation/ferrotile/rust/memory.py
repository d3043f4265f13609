"""The memory of a kernel body: views, tokens, helpers, owned and full stores. Loads are in `loads.py`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ferrotile.passes.accesses import Access
from ferrotile.passes.hints import check_is_free, tma_policy
from ferrotile.passes.plan import ArrayPlan, Form
from ferrotile.passes.uses import array_of, operations
from ferrotile.program.dtypes import F32, DType
from ferrotile.program.ir import Operation, Value
from ferrotile.program.types import ArrayType, ViewType
from ferrotile.rust import safety
from ferrotile.rust.element_helpers import strides_helper
from ferrotile.rust.elements import Elements
from ferrotile.rust.expressions import Unsupported, tile_type
from ferrotile.rust.layout import Code, array, atom, binary, call, method, suffixed
from ferrotile.rust.layout import statement as layout_statement
from ferrotile.rust.layout import unsafe_statement as layout_unsafe
from ferrotile.rust.loads import Loads
from ferrotile.rust.ordered import Ordered
from ferrotile.rust.pointers import Pointers
from ferrotile.rust.special_views import SpecialViews
from ferrotile.rust.starts import Starts
from ferrotile.rust.static_extents import static_extents
from ferrotile.rust.targets.cutile_0_5 import PADDING

if TYPE_CHECKING:
    from ferrotile.rust.statements import Body

_WHY = {
    True: "the index is one to one in the block id, so blocks write different tiles",
    False: "as in the Python, no two blocks write the same tile",
}

_FMA = 17
"""Longer operands break an `fma(a, b, c, rounding::NearestEven, ftz::Disabled)`."""

_Key = tuple[int, tuple[int, ...], tuple[int, ...], str | None]


def _plain_fma(operation: Operation) -> int | None:
    """The rank of a multiply-add of tiles in the default mode; None for anything else."""
    if operation.opcode != "fma" or operation.attribute("ftz"):
        return None
    plain = operation.attribute("rounding") in (None, "nearest_even")
    return tile_type(operation.result).rank if plain else None


class Memory:
    """Emits memory operations for a `Body`; keeps the hoisted views and the helpers that they need."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.plan = body.plan
        self.defined = body.values.defined
        self.access = dict(body.values.accesses)
        self.tma = tma_policy(self.plan.program, tuple(self.access.values()), self.plan.options)
        self.views: dict[_Key, str] = body.journal.dict()
        self._stores: dict[tuple[int, tuple[int, ...]], str] = body.journal.dict()
        self._extents: dict[tuple[int, int], str] = body.journal.dict()
        self.extents = static_extents(self.plan)
        self._tokens: dict[int, str] = body.journal.dict()
        self.wants: dict[_Key, int] = {}
        self._fma: Counter[int | None] = Counter()
        for operation in operations(self.plan.program.body):
            if operation.opcode in ("load_view", "num_tiles"):
                key = self.key(operation.operands[0])
                self.wants[key] = self.wants.get(key, 0) + 1
            elif operation.opcode == "fma":
                self._fma[_plain_fma(operation)] += 1
        self.helpers = safety.Helpers(body.journal)
        self.top = 0
        """The line in front of which views are hoisted."""
        self.hoisted: list[tuple[int, int]] = []
        """Where lines were put in between, and how many."""
        self.assumed = 0
        self.loads = Loads(self, body)
        self.pointers = Pointers(self, body)
        self.elements = Elements(self, body)
        self.special = SpecialViews(self, body)
        self.ordered = Ordered(self, body)
        self.starts = Starts(self, body)

    def array(self, value: Value) -> ArrayPlan:
        found = array_of(value, self.defined)
        assert found is not None
        return self.plan.array(found.id)

    def tensor(self, value: Value) -> str:
        """The local that holds an array: the parameter, or a slice of it."""
        variable = self._body.variables.get(value.id)
        assert variable is not None, value
        return variable.name

    def stride(self, array: Value, axis: int) -> Code:
        """A stride of an array."""
        assert isinstance(array.type, ArrayType)
        rank = array.type.rank
        name = self.helpers.get(("strides", rank), f"strides_of_{rank}", lambda n: strides_helper(rank))
        return atom(f"{name}({self.reference(array)})[{axis}]")

    def reference(self, value: Value) -> str:
        """An array as an argument: a parameter is a reference already."""
        return f"&{self.tensor(value)}" if value.id in self.defined else self.tensor(value)

    def key(self, view: Value) -> _Key:
        found = array_of(view, self.defined)
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
        self.hoisted.append((self.top, len(lines)))
        self.top += len(lines)

    def partition(self, view: ViewType, name: str) -> tuple[Code, bool]:
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
        """The local that holds a read view, made on first use; a mapped array is its own view."""
        if self.array(value).form is Form.MAPPED:
            return self.array(value).name
        key = self.key(value)
        if key in self.views:
            return self.views[key]
        assert isinstance(value.type, ViewType)
        plan = self.array(value)
        name = self._body.scope.temporary(f"p{plan.name}")
        self.views[key] = name
        code, unsafe = self.partition(value.type, plan.name)
        kind = f": Partition<{value.type.dtype}, {self._body.spelling.braces(value.type.tile)}>" if unsafe else ""
        note = f"// SAFETY: the view starts from the tensor's own token and `{plan.name}` is never written."
        self.hoist(f"let {name}{kind} = ", code, unsafe, note if unsafe else None)
        return name

    def index(self, values: tuple[Value, ...], bound: bool) -> Code:
        return array(*(self.index_code(v, bound) for v in values))

    def index_code(self, value: Value, bound: bool) -> Code:
        """One index; `bound`: as an argument that the JIT types without help."""
        code = self._body.scalar(value)
        if bound and ("(" in code.text or "[" in code.text):
            return self._body.bind("at", "i32", code)
        return suffixed(code) if bound else code

    def token(self, plan: ArrayPlan) -> str:
        """The variable that holds the token of an array's last access."""
        key = -1 if plan.fenced else plan.value
        if key not in self._tokens:
            wish = "order" if plan.fenced else f"{plan.name}_order"
            name = self._tokens[key] = self._body.scope.temporary(wish)
            self.hoist(f"let mut {name}: Token = ", method(atom(plan.name), "token"), False, None)
        return self._tokens[key]

    def note(self, plan: ArrayPlan) -> None:
        self.assumed += not plan.injective
        self._body.writer.line(f"// SAFETY: {_WHY[plan.injective]} of `{plan.name}`.")

    def mul_add(self, operation: Operation, length: int) -> str | None:
        """The helper for a plain `a * b + c`, where there are several of one rank or the operands' `length` would
        break the call."""
        rank = _plain_fma(operation)
        if rank is None or (self._fma[rank] < 2 and length <= _FMA):
            return None
        single = tile_type(operation.result).dtype.identical(F32)
        wish = (f"fma_{rank}" if rank else "fma0") if single else "mul_add"
        return self.helpers.get(("mul_add", rank, single), wish, lambda name: safety.mul_add(name, rank, single))

    def hints(self, operation: Operation) -> safety.Access:
        """How an access goes: the author's hints, else the policy."""
        latency = operation.attribute("latency")
        access = self.access[id(operation)]
        tma = self.tma.allows(access)
        line = operation.opcode == "load_view" and tile_type(operation.result).rank == 1
        if line and not self.loads.checked(operation) and self.tma.chosen(access) is None:
            tma = operation.attribute("allow_tma") is True
        return safety.Access(tma, latency if isinstance(latency, int) else None)

    def store(self, operation: Operation) -> None:
        """A store in the form that the plan chose."""
        if self.special.handles(operation):
            self.special.store(operation)
            return
        view, tile, *index = operation.operands
        plan = self.array(view)
        access = self.access[id(operation)]
        body = self._body
        code = body.tile(tile)
        assert isinstance(view.type, ViewType)
        hints = self.hints(operation)
        quick = hints == safety.Access() or self.plan.options.unsafe == "never"
        if plan.tokens:
            self.ordered.store(operation, plan, code)
        elif plan.form in (Form.OWNED, Form.OWNED_ROW) and not quick:
            self._store_own(operation, plan, view.type, code, hints)
        elif plan.form is Form.OWNED:
            body.put("", method(atom(plan.name), "store", code))
        elif plan.form is Form.MAPPED:
            at = self._minted(plan, access, tuple(index))
            body.put("", method(atom(plan.name), "store", code, at))
        elif plan.form is Form.OWNED_ROW:
            at = array(*self._inside(operation, plan, "0"))
            body.put("", method(atom(self._nested(plan, view.type)), "store", code, at))
        else:
            self._store_full(plan, view.type, code, tuple(index), access, hints)

    def _nested(self, plan: ArrayPlan, view: ViewType) -> str:
        """The local that holds the tiles of a block's own row."""
        key = (plan.value, tuple(s.value for s in view.tile))
        if key not in self._stores:
            name = self._stores[key] = self._body.scope.temporary(f"p{plan.name}")
            shape = atom(self._body.spelling.shape(view.tile))
            self._read_extents(plan)
            self.hoist(f"let mut {name} = ", method(atom(plan.name), "partition_mut", shape), False, None)
        return self._stores[key]

    def own_extent(self, operation: Operation) -> Code | None:
        """The extent, or count of tiles, of an array whose row a nested partition borrows; None of any other."""
        plan, kind = self.array(operation.operands[0]), operation.operands[0].type
        if plan.form is not Form.OWNED_ROW:
            return None
        self._read_extents(plan)
        axis = int(str(operation.attribute("axis")))
        if not isinstance(kind, ViewType):
            return atom(self._extents[plan.value, axis])
        name = self._extents[plan.value, kind.dim_map[axis]]
        return call("ceil_div", atom(name), atom(self._body.spelling.size(kind.tile[axis])))

    def _read_extents(self, plan: ArrayPlan) -> None:
        """Locals for all extents of an array that the kernel asks for, read before its row is borrowed."""
        for o in operations(self.plan.program.body):
            if o.opcode not in ("extent", "num_tiles") or self.array(o.operands[0]).value != plan.value:
                continue
            kind, axis = o.operands[0].type, int(str(o.attribute("axis")))
            key = plan.value, kind.dim_map[axis] if isinstance(kind, ViewType) else axis
            if key not in self._extents:
                name = self._extents[key] = self._body.scope.temporary("extent")
                self.hoist(f"let {name} = ", atom(f"{plan.name}.shape()[{key[1]}]"), False, None)

    def _minted(self, plan: ArrayPlan, access: Access, index: tuple[Value, ...]) -> Code:
        """The index of a mapped tile: as it was minted, or with counters along the axes that the block owns."""
        minted = self._body.minted[plan.value]
        if not plan.owned_axes:
            return atom(minted.tile)
        own = zip(plan.map, minted.names, index, strict=True)
        parts = [atom(n) if s.value else self._body.scalar(v) for s, n, v in own]
        return call("coord", atom(f"({', '.join(p.text for p in parts)})"))

    def _inside(self, operation: Operation, plan: ArrayPlan, zero: str) -> list[Code]:
        """The index of a stored tile within what its block owns."""
        codes: list[Code] = []
        for form, count in zip(self.access[id(operation)].index, plan.counts, strict=True):
            rest = [(s, k) for s, k in form.terms if count > 1 and not s.startswith("bid")]
            suffix = zero.removeprefix("0")
            code = atom(f"{form.constant}{suffix}") if (form.constant and count > 1) or not rest else None
            for symbol, k in reversed(rest):
                term = atom(self._body.variables[int(symbol[1:])].name)
                term = binary(term, "*", atom(str(k)), 10) if k != 1 else term
                code = term if code is None else binary(term, "+", code, 9)
            codes.append(code if code is not None and count > 1 else atom(zero))
        return codes

    def _store_own(
        self, operation: Operation, plan: ArrayPlan, view: ViewType, code: Code, hints: safety.Access
    ) -> None:
        """A store with hints, for which cutile has no safe form."""
        body, rank = self._body, len(view.tile)
        row = len([s for s in view.tile[:-1] if s.value != 1]) == 0
        wish = ("store_row" if row else "store_own") + hints.suffix
        if plan.form is Form.OWNED:
            name = self.helpers.get(("own", rank, hints), wish, lambda n: safety.store_own(n, rank, hints))
            body.put("", call(name, atom(plan.name), code))
            return
        at = self._inside(operation, plan, "0i32")
        note = f"// SAFETY: the tile lies in the row of `{plan.name}` that this block owns."
        self._store_at(self._nested(plan, view), rank, plan.dtype, code, array(*at), hints, note)

    def _store_at(
        self,
        partition: str,
        rank: int,
        dtype: DType,
        code: Code,
        at: Code,
        hints: safety.Access,
        note: str | None = None,
    ) -> None:
        """An unchecked store with hints; `note` where nothing before has said why it is safe."""
        element = None if dtype.variable is not None else str(dtype)
        wish = ("store_at" if element is None else "store") + hints.suffix
        name = self.helpers.get(("at", rank, hints, element), wish, lambda n: safety.store_at(n, rank, hints, element))
        if not code.text.isidentifier():
            # The JIT infers no types of calls inside `unsafe`.
            bound = self._body.scope.passing("tile", self._body.now)
            self._body.put(f"let {bound} = ", code)
            code = atom(bound)
        if note is not None:
            self._body.writer.line(note)
        self._body.put("", call(name, atom(f"&mut {partition}"), code, at), unsafe=True)

    def _tiles(self, plan: ArrayPlan) -> set[tuple[int, ...]]:
        """The tile shapes in which an array is stored: a partition in one shape does not wait for stores in another."""
        own = [a for a in self.access.values() if a.array == plan.value and a.store and a.view is not None]
        return {tuple(s.value for s in a.view.tile) for a in own if a.view is not None}

    def _store_full(
        self,
        plan: ArrayPlan,
        view: ViewType,
        code: Code,
        index: tuple[Value, ...],
        access: Access,
        hints: safety.Access,
    ) -> None:
        body, straight = self._body, access.straight
        if view.dim_map != tuple(range(len(view.dim_map))):
            raise Unsupported("FT301", "Stores with `order` have no translation yet.", body.writer.span)
        shape = atom(body.spelling.shape(view.tile))
        made = method(atom(plan.name), "partition_full_mut", shape)
        key = (plan.value, tuple(s.value for s in view.tile))
        name = self._stores.get(key)
        if name is None or (straight and len(self._tiles(plan)) > 1):
            name = self._stores[key] = body.scope.temporary(f"p{plan.name}")
            note = f"// SAFETY: {_WHY[plan.injective]} of `{plan.name}`."
            self.assumed += not plan.injective
            if straight:
                body.writer.line(note)
                body.put(f"let mut {name} = ", made, unsafe=True)
            else:
                self.hoist(f"let mut {name} = ", made, True, note)
        options = self.plan.options
        # A check that stays in the kernel, even once behind its loop, took up to two thirds more time.
        kept = options.checks == "keep" or options.unsafe == "never" or check_is_free(access, self.defined)
        if hints == safety.Access() and kept:
            body.put("", method(atom(name), "store", code, self.index(index, False)))
            return
        self.assumed += not plan.injective
        note = f"// SAFETY: as above; the tile lies in `{plan.name}` as it does in the Python."
        self._store_at(name, len(view.tile), plan.dtype, code, self.index(index, True), hints, note)

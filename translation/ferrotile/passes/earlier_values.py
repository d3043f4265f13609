"""Arrays that are read and written, read from a copy that the launcher made before the launch.

Safe cutile 0.5 does not order a load before a store of the same tensor. Where no load can see a store of its own block,
every load gives what the array held before the launch: it may come from a copy, and the array itself is only written.
What another block writes is not for a block to see: without fences the Python leaves it undefined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.passes.accesses import Access, find_accesses
from ferrotile.passes.affine import Affine
from ferrotile.passes.disjoint import index_values, verdict
from ferrotile.passes.disjoint_elements import element_forms
from ferrotile.passes.elements import element_access
from ferrotile.passes.memory_order import exclusive_arms, fenced
from ferrotile.passes.space import Space
from ferrotile.passes.uses import next_id, rewrite
from ferrotile.program.ir import For, Loop, Operation, Parameter, Program, Statement, Value
from ferrotile.program.types import ArrayType
from ferrotile.signatures.model import ArrayArgument, Signature

_LOADS = frozenset(("load_view", "gather"))
_STORES = frozenset(("store_view", "scatter"))


class Earlier(Struct, frozen=True):
    """The program whose loads go to copies, the signature with these, and for each copy (a value id) the name of its
    array."""

    program: Program
    signature: Signature
    copies: Mapping[int, str]

    @property
    def hypotheses(self) -> tuple[str, ...]:
        """What the launcher answers for."""
        return tuple(f"{name}_before is a copy of {name} from before the launch" for name in self.copies.values())


def earlier_values(program: Program, signature: Signature) -> Earlier:
    """Copies for all arrays that are read and written and allow it."""
    accesses = find_accesses(program)
    space = Space(program, signature)
    closed = fenced(accesses)
    copies: dict[int, Parameter] = {}
    fresh = next_id(program)
    taken = {p.name for p in program.parameters}
    for parameter in program.parameters:
        own = [a for a in accesses if a.array == parameter.value.id]
        known = isinstance(parameter.value.type, ArrayType) and parameter.value.id not in closed
        if known and f"{parameter.name}_before" not in taken and _only_earlier(space, own):
            name = f"{parameter.name}_before"
            copies[parameter.value.id] = Parameter(name, Value(fresh, parameter.value.type, name))
            fresh += 1
    if not copies:
        return Earlier(program, signature, {})
    names = {copies[p.value.id].value.id: p.name for p in program.parameters if p.value.id in copies}
    return Earlier(_read_from(program, space, copies, fresh), _with_copies(signature, names), names)


def _only_earlier(space: Space, own: Sequence[Access]) -> bool:
    """Whether an array is read and written, and no load sees a store of its own block."""
    loads = [(at, a) for at, a in enumerate(own) if a.operation.opcode in _LOADS]
    stores = [(at, a) for at, a in enumerate(own) if a.operation.opcode in _STORES]
    parts = any(a.view is None and a.operation.opcode not in ("gather", "scatter") for a in own)
    if not loads or not stores or parts or len(loads) + len(stores) < len(own):
        return False
    return not any(_sees(space, load, store, at < other) for at, load in loads for other, store in stores)


def _sees(space: Space, load: Access, store: Access, before: bool) -> bool:
    """Whether a load, which stands `before` the store or not, can read what the store wrote earlier."""
    rounds = [p for p, q in zip(load.path, store.path, strict=False) if p is q and isinstance(p, (For, Loop))]
    if not rounds and (before or exclusive_arms(load, store)):
        return False
    if not before or not _same_place(space, load, store):
        return True
    inside = [p for p in store.path if isinstance(p, (For, Loop))]
    if store.view is not None and len(inside) == len(rounds) and verdict(space, store).trips:
        return False
    return len(inside) > len(rounds) or not all(isinstance(p, For) and _moves(space, store, p) for p in rounds)


def _same_place(space: Space, load: Access, store: Access) -> bool:
    """Whether in one round a load reads what the store is going to write, or less."""
    if load.view is not None and store.view is not None:
        same = load.view.tile == store.view.tile and load.view.dim_map == store.view.dim_map
        return same and _alike(space, index_values(load), index_values(store))
    if load.view is None and store.view is None:
        a, b = element_access(load.operation), element_access(store.operation)
        return not a.linear and not b.linear and _alike(space, a.index, b.index)
    return False


def _alike(space: Space, a: Sequence[Value], b: Sequence[Value]) -> bool:
    return len(a) == len(b) and all(space.same(x, y) for x, y in zip(a, b, strict=True))


def _moves(space: Space, store: Access, loop: For) -> bool:
    """Whether a store goes elsewhere in every round of a loop: along some axis by more than its lanes reach."""
    name = f"v{loop.variable.id}"
    reach: Mapping[str, int] = {}
    forms: Sequence[Affine] = store.index
    if store.view is None:
        forms, reach = element_forms(space, store)
    for form in forms:
        terms = dict(form.terms)
        step = abs(terms.pop(name, 0))
        others = {s: k for s, k in terms.items() if not s.startswith("bid")}
        if all(s in reach for s in others) and step > sum(abs(k) * (reach[s] - 1) for s, k in others.items()):
            return True
    return False


def _read_from(program: Program, space: Space, copies: Mapping[int, Parameter], fresh: int) -> Program:
    """The program with copies behind their arrays, and loads from them."""

    def parameters() -> Iterator[Parameter]:
        for p in program.parameters:
            yield p
            if p.value.id in copies:
                yield copies[p.value.id]

    def load(s: Statement) -> Sequence[Statement]:
        nonlocal fresh
        if not isinstance(s, Operation) or s.opcode not in _LOADS:
            return (s,)
        first, *rest = s.operands
        if s.opcode == "gather":
            copy = copies.get(first.id)
            return (s,) if copy is None else (replace(s, operands=(copy.value, *rest)),)
        made = space.defined.get(first.id)
        copy = copies.get(made.operands[0].id) if isinstance(made, Operation) else None
        if copy is None or not isinstance(made, Operation):
            return (s,)
        view = Value(fresh, first.type, None)
        fresh += 1
        return replace(made, operands=(copy.value,), results=(view,)), replace(s, operands=(view, *rest))

    return replace(program, parameters=tuple(parameters()), body=rewrite(program.body, load))


def _with_copies(signature: Signature, names: Mapping[int, str]) -> Signature:
    """The signature with an argument for each copy, of its array's shape and type."""
    arguments = list(signature.arguments)
    for name in names.values():
        at = next(k for k, a in enumerate(arguments) if a.name == name)
        whole = arguments[at]
        assert isinstance(whole, ArrayArgument)
        arguments.insert(at + 1, replace(whole, name=f"{name}_before"))
    return replace(signature, arguments=tuple(arguments))

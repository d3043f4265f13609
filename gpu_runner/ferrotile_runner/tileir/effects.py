"""Loads, stores, atomics, prints and asserts as terms (rules M1-M5, M9)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ferrotile_runner.tileir import memory, own_places, shapes
from ferrotile_runner.tileir.memory import Access, View
from ferrotile_runner.tileir.model import Operation, TileType, Value
from ferrotile_runner.tileir.terms import Shape, Term, squeeze, value_of
from ferrotile_runner.tileir.trace import Assertion, Fact, Loaded, Unsupported

if TYPE_CHECKING:
    from ferrotile_runner.tileir.graph import Program


def run(program: Program, operation: Operation) -> None:
    """One operation with an effect."""
    match operation.name:
        case "load_view_tko":
            _load_view(program, operation)
        case "store_view_tko" | "atomic_red_view_tko":
            _store_view(program, operation)
        case "load_ptr_tko":
            _load_pointer(program, operation)
        case "store_ptr_tko" | "atomic_rmw_tko" | "atomic_cas_tko":
            _write_pointer(program, operation)
        case "assert":
            condition = program.term(operation.one("condition"))
            if value_of(condition) != 1:
                found = Assertion(condition, program.path, program.loops, operation.location)
                program.trace.assertions.append(found)
        case "print_tko":
            _print(program, operation)
        case "gdc_wait_tko" | "gdc_launch_dependents_tko":
            _grid(program, operation)
        case name:
            raise Unsupported(f"no rule for {name}", operation.location)


def semantics(operation: Operation) -> str:
    """Ordering, scope and mode."""
    keys = ("memory_ordering", "memory_scope", "mode")
    return " ".join(str(operation.attributes[key]) for key in keys if key in operation.attributes)


def state(program: Program, base: Term) -> Term:
    """The writes to an array so far, as a term."""
    return program.store.term("state", (), program.trace.state(base), (), "state")


def state_at(program: Program, base: Term, view: View | None, index: tuple[Term, ...], offset: Term | None) -> Term:
    """The same, without what other rounds of a loop write elsewhere (M11)."""
    return program.store.term("state", (), own_places.before_loop(program, base, view, index, offset), (), "state")


def write(program: Program, base: Term, effect: Term) -> None:
    """Adds an effect to the array's."""
    program.trace.effects.append((base, effect))
    program.trace.states[base] = (*program.trace.state(base), effect)


def _note(
    program: Program,
    operation: Operation,
    kind: str,
    base: Term,
    value: Term,
    token: Value | None,
    view: View | None = None,
    index: tuple[Term, ...] = (),
    by_pointer: bool = False,
) -> None:
    """Records the access; a synchronising one is an event on all arrays that blocks share (M9)."""
    before = program.token(operation.optional("token"))
    number = len(program.trace.accesses)
    how = semantics(operation) if kind != "grid" else "acq_rel"
    access = Access(
        base, kind, before, view, index, value, program.path, program.loops, operation.location, how, by_pointer
    )
    program.trace.accesses.append(access)
    if token is not None:
        program.tokens[token.number] = before | {number}
    program.trace.place(value, operation.location)
    if access.acquires or access.releases:
        for other in sorted(program.setting.shared - {base}, key=lambda term: term.number):
            write(program, other, program.store.term("fence", how, (value,), (), "effect"))


def _where(program: Program, operation: Operation) -> tuple[View, tuple[Term, ...]]:
    """The view of tiles and index of an access. The tile being in range is noted as a fact."""
    view = program.views[operation.one("view").number]
    index = program.terms(operation.named["index"])
    if len(index) != len(view.tile):
        raise Unsupported("an access with another rank than its view", operation.location)
    if any(operation.integers("inbounds")):
        raise Unsupported("an access that promises to be in bounds", operation.location)
    merged = program.setting.merged.get(view.base)
    if merged is not None and len(view.extents) > len(merged.extents):
        rank = len(merged.extents)
        view, index = memory.merge_leading(program.rewriter, view, index, rank, merged.extents, merged.strides)
        program.store.use(f"{name_of(view.base)} is contiguous")
    if view.sparse is None:  # of a gathering view a tile may lie anywhere: each of its lanes has its own limits
        for condition in memory.in_range(program.rewriter, view, index):
            program.trace.facts.append(Fact(condition, program.path, program.loops))
    return view, index


def name_of(base: Term) -> str:
    """The parameter's name."""
    return str(base.data[1]) if isinstance(base.data, tuple) and len(base.data) > 1 else str(base)


def _load_view(program: Program, operation: Operation) -> None:
    view, index = _where(program, operation)
    trace, rewriter = program.trace, program.rewriter
    type_ = operation.results[0].type
    if not isinstance(type_, TileType) or not isinstance(type_.element, str):
        raise Unsupported("a load of no tile", operation.location)
    owner = view.base
    view, now = _at_launch(program, view, index, operation)
    key = (view.key, index, now)
    if key in trace.paddings and trace.paddings[key] != view.padding:
        trace.paddings[key] = None
    else:
        trace.paddings[key] = view.padding
    padding = view.padding or program.setting.paddings.get(key)
    if padding is not None and view.padding is None:
        program.store.lemma("M2: undetermined padding may be the translation's")
    chosen = replace(view, padding=padding)
    pad = memory.padding(rewriter, chosen, type_.element)
    if pad is None:
        pad = _undetermined(program, key, view.form, (*view.words, *index, now), view.tile, type_.element)
    by_pointer = view.base in program.setting.by_pointer
    raw = memory.load(rewriter, view, index, now, semantics(operation), type_.element, by_pointer)
    tile = memory.padded(rewriter, view, index, raw, pad)
    trace.loaded[tile] = Loaded(view, index, now, pad, semantics(operation))
    program.bind(operation, operation.results[0], shapes.reshape(rewriter, tile, type_.shape))
    if by_pointer:
        parts = (view.base, memory.address(rewriter, view, index), memory.inside(rewriter, view, index))
        raw = program.store.term("masked", (), _squeezed(program, parts), (), "effect")
    _note(program, operation, "load", owner, raw, operation.results[1], view, index, by_pointer)


def _at_launch(program: Program, view: View, index: tuple[Term, ...], operation: Operation) -> tuple[View, Term]:
    """What a load reads: the array as the writes so far left it there; of a copy the array before the launch (M10)."""
    copy = program.setting.copies.get(view.base)
    if copy is None:
        by_pointer = view.base in program.setting.by_pointer
        offset = memory.address(program.rewriter, view, index) if by_pointer else None
        return view, state_at(program, view.base, view, index, offset)
    rank = len(view.extents)
    if (*view.extents, *view.strides) != copy.words or value_of(view.shift) != 0:
        raise Unsupported("a copy that is seen through another view than its array", operation.location)
    program.store.use(copy.hypothesis)
    extents, strides = copy.original_words[:rank], copy.original_words[rank:]
    now = program.store.term("state", (), (), (), "state")
    return replace(view, base=copy.original, extents=extents, strides=strides), now


def _no_copy(program: Program, base: Term, operation: Operation) -> None:
    if base in program.setting.copies:
        raise Unsupported("an access of a copy that is no load of a tile", operation.location)


def _undetermined(
    program: Program, key: tuple[object, ...], form: tuple[object, ...], args: tuple[Term, ...], shape: Shape, kind: str
) -> Term:
    """What lanes hold that a load leaves open: each load of each round has its own."""
    seen = program.trace.occurrences
    seen[key] = seen.get(key, 0) + 1
    rounds = tuple(frame.induction for frame in program.loops)
    return program.store.term("undetermined", (seen[key], len(rounds), form), (*args, *rounds), shape, kind)


def _store_view(program: Program, operation: Operation) -> None:
    view, index = _where(program, operation)
    _no_copy(program, view.base, operation)
    rewriter, store = program.rewriter, program.store
    value = shapes.reshape(rewriter, program.term(operation.one("value")), view.tile)
    kind = "store" if operation.name == "store_view_tko" else "atomic"
    by_pointer = view.base in program.setting.by_pointer
    if by_pointer:
        args = (memory.address(rewriter, view, index), memory.inside(rewriter, view, index), value)
        op = "store_ptr" if kind == "store" else "atomic_rmw_tko"
        effect = store.term(op, semantics(operation), _squeezed(program, (view.base, *args)), (), "effect")
    else:
        data = (semantics(operation), *view.form)
        op = "store" if kind == "store" else "atomic_red"
        effect = store.term(op, data, (*view.words, *index, value), (), "effect")
    write(program, view.base, effect)
    _note(program, operation, kind, view.base, effect, operation.results[0], view, index, by_pointer)


def _squeezed(program: Program, args: tuple[Term, ...]) -> tuple[Term, ...]:
    """Unit axes make no lane."""
    return tuple(shapes.reshape(program.rewriter, arg, squeeze(arg.shape)) for arg in args)


def pointer(program: Program, term: Term, operation: Operation) -> tuple[Term, Term]:
    """Array and i64 offset behind a tile of pointers."""
    base, offset = term, program.store.const(0, term.shape, "i64")
    while base.op == "offset":
        base, step = base.args
        if step.element != "i64":
            step = program.rewriter.make("exti", "signed", (step,), step.shape, "i64")
        offset = program.rewriter.integers.add(offset, step)
    scalar = shapes.unsplat(program.rewriter, base)
    if scalar is not None and scalar.op == "offset":
        scalar, shift = pointer(program, scalar, operation)
        offset = program.rewriter.integers.add(offset, shapes.splat(program.rewriter, shift, offset.shape))
    if scalar is None or scalar.op != "param":
        raise Unsupported("a pointer that is no parameter plus an offset", operation.location)
    return scalar, offset


def _pointer(program: Program, operation: Operation) -> tuple[Term, Term]:
    base, offset = pointer(program, program.term(operation.one("pointer")), operation)
    _no_copy(program, base, operation)
    program.trace.pointers.add(base)
    return base, offset


def _mask(program: Program, operation: Operation, shape: Shape) -> Term:
    mask = operation.optional("mask")
    return program.store.const(1, shape, "i1") if mask is None else program.term(mask)


def _load_pointer(program: Program, operation: Operation) -> None:
    base, offset = _pointer(program, operation)
    type_ = operation.results[0].type
    if not isinstance(type_, TileType) or not isinstance(type_.element, str):
        raise Unsupported("a load of no tile", operation.location)
    args = (base, offset, state_at(program, base, None, (), offset))
    raw = program.store.term("load_ptr", semantics(operation), args, type_.shape, type_.element)
    mask = _mask(program, operation, type_.shape)
    padding = operation.optional("padding")
    if padding is not None:
        pad = program.term(padding)
    else:
        key = ("pointer", base, offset, mask, args[2])
        pad = _undetermined(program, key, (), (base, offset, mask, args[2]), type_.shape, type_.element)
    program.bind(operation, operation.results[0], program.rewriter.select((mask, raw, pad), type_.shape, type_.element))
    place = program.store.term("masked", (), _squeezed(program, (base, offset, mask)), (), "effect")
    _note(program, operation, "load", base, place, operation.results[1], by_pointer=True)


def _write_pointer(program: Program, operation: Operation) -> None:
    base, offset = _pointer(program, operation)
    mask = _mask(program, operation, offset.shape)
    roles = ("expected", "desired") if operation.name == "atomic_cas_tko" else ("value",)
    values = program.terms(operation.one(role) for role in roles)
    kind = "store" if operation.name == "store_ptr_tko" else "atomic"
    op = {"store_ptr_tko": "store_ptr"}.get(operation.name, operation.name)
    args = _squeezed(program, (base, offset, mask, *values))
    effect = program.store.term(op, semantics(operation), args, (), "effect")
    if kind == "atomic":
        shape, element = values[0].shape, values[0].element
        place = (effect, state(program, base))
        flat = program.store.term("atomic", (), place, squeeze(shape), element)
        program.bind(operation, operation.results[0], shapes.reshape(program.rewriter, flat, shape))
    write(program, base, effect)
    _note(program, operation, kind, base, effect, operation.results[-1], by_pointer=True)


def _print(program: Program, operation: Operation) -> None:
    """What is printed, in order; text and values (E1)."""
    console = program.store.term("console", (), (), (), "console")
    args = program.terms(operation.named.get("arguments", ()))
    # One conversion under two names; `%%` is a percent sign, whatever follows.
    text = re.sub("%%|%i", lambda found: found[0].replace("i", "d"), operation.word("message"))
    effect = program.store.term("print", text, args, (), "effect")
    write(program, console, effect)
    _note(program, operation, "print", console, effect, operation.results[0] if operation.results else None)


def _grid(program: Program, operation: Operation) -> None:
    """Waiting for another launch, and letting one start, order all accesses (E2)."""
    launches = program.store.term("launches", (), (), (), "console")
    done = program.trace.state(launches)
    effect = program.store.term(operation.name, (), done, (), "effect")
    write(program, launches, effect)
    _note(program, operation, "grid", launches, effect, operation.results[0] if operation.results else None)

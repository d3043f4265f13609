"""Slices of tiles, moved to the leaves as other shape operations are (rules M4, T11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ferrotile_runner.tileir import memory, shapes
from ferrotile_runner.tileir.terms import Shape, Term, value_of

if TYPE_CHECKING:
    from ferrotile_runner.tileir.graph import Program

Place = tuple[Term, ...]


def extract(program: Program, source: Term, place: Place, shape: Shape) -> Term:
    """The part of `shape` at `place`, counted in parts: of each operand the same part."""
    if shape == source.shape:
        return source  # there is one such part
    made = _of_loaded(program, source, place, shape)
    if made is not None:
        return made
    rewriter, store = program.rewriter, program.store
    known = value_of(source)
    if known is not None:
        return store.const(known, shape, source.element)
    if source.op == "iota":
        return _of_lanes(program, source, place[0], shape)
    if source.op == "map":
        return _of_map(program, source, place, shape)
    if source.op == "poly":
        return rewriter.again(source, tuple(extract(program, atom, place, shape) for atom in source.args), shape)
    if source.op == "load_ptr":
        base, offset, state = source.args
        moved = extract(program, offset, place, shape)
        return store.term("load_ptr", source.data, (base, moved, state), shape, source.element)
    if shapes.is_elementwise(source) and isinstance(source.data, str):
        args = tuple(extract(program, arg, place, shape) for arg in source.args)
        return rewriter.make(source.op, source.data, args, shape, source.element)
    return store.term("extract", (), (source, *place), shape, source.element)


def _of_lanes(program: Program, source: Term, place: Term, shape: Shape) -> Term:
    """Lanes from place * size: in the type of the lanes, of which the place is a number."""
    rewriter, store = program.rewriter, program.store
    if source.element not in {"i32", "i64"} or place.element != "i32":
        return store.term("extract", (), (source, place), shape, source.element)
    first = place
    if source.element == "i64":
        first = rewriter.make("exti", "signed", (place,), (), "i64")
    first = shapes.splat(rewriter, rewriter.integers.scale(first, shape[0]), shape)
    lane = store.const(0, shape, source.element)
    if shape != (1,):
        lane = store.term("iota", (), (), shape, source.element)
    return rewriter.integers.add(first, lane)


def _of_map(program: Program, source: Term, place: Place, shape: Shape) -> Term:
    """The same part of the leaf, along the axes that it has."""
    leaf, axes = source.args[0], source.data if isinstance(source.data, tuple) else ()
    real = [axis for axis, size in enumerate(source.shape) if size != 1]
    own = [axis for axis, size in enumerate(leaf.shape) if size != 1]
    part, at = list(leaf.shape), [program.store.const(0)] * len(leaf.shape)
    for axis, inner in zip(real, axes, strict=True):
        if inner >= 0:
            part[own[inner]], at[own[inner]] = shape[axis], place[axis]
    made = extract(program, leaf, tuple(at), tuple(part))
    left = [inner for inner in range(len(own)) if part[own[inner]] != 1]
    kept = tuple(
        left.index(inner) if inner >= 0 else -1 for axis, inner in zip(real, axes, strict=True) if shape[axis] != 1
    )
    return shapes.sink(program.rewriter, made, shape, kept)


def _of_loaded(program: Program, source: Term, place: Place, shape: Shape) -> Term | None:
    """Of a tile that came from a view it is the load of the finer partition (M4)."""
    loaded = program.trace.loaded.get(source)
    scalar = None if loaded is None else shapes.unsplat(program.rewriter, loaded.pad)
    if (
        loaded is None
        or not loaded.view.is_partition
        or source.shape != loaded.view.tile
        or len(place) != len(shape)
        or (scalar is None and loaded.pad.op != "undetermined")
        or any(part == 1 != whole for part, whole in zip(shape, source.shape, strict=True))
    ):
        return None
    view, integers = loaded.view, program.rewriter.integers
    index = tuple(
        integers.add(integers.scale(start, whole // part), offset)
        for start, whole, part, offset in zip(loaded.index, view.tile, shape, place, strict=True)
    )
    fine = replace(view, tile=shape, steps=shape)
    by_pointer = view.base in program.setting.by_pointer
    raw = memory.load(program.rewriter, fine, index, loaded.state, loaded.semantics, source.element, by_pointer)
    if scalar is not None:
        pad = shapes.splat(program.rewriter, scalar, shape)
    else:
        rounds = tuple(frame.induction for frame in program.loops)
        args = (loaded.pad, *index, *rounds)
        pad = program.store.term("undetermined", (loaded.pad.data, shape), args, shape, source.element)
    tile = memory.padded(program.rewriter, fine, index, raw, pad, view.tile)
    program.trace.slices.setdefault(source, set()).add(raw)
    program.store.lemma("M4: a slice of a loaded tile is a load of the finer partition")
    return tile

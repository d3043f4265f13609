"""Rung `proved`: the Tile IR of both sides is the same program, under the hypotheses that the verdict lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ferrotile.signatures.model import (
    ArrayArgument,
    ConstantArgument,
    GridFactor,
    ScalarArgument,
    Signature,
)
from ferrotile.translation import Entry as RustEntry
from ferrotile.translation import Origin
from msgspec.structs import replace

from ferrotile_runner.candidate_words import in_python_order
from ferrotile_runner.launch_grid import grid_owner
from ferrotile_runner.report import signature_text
from ferrotile_runner.rungs.explanation import detail, explain
from ferrotile_runner.rungs.subject import RungFailure, RungSkipped, Subject
from ferrotile_runner.session import Session
from ferrotile_runner.tileir.equivalence import prove
from ferrotile_runner.tileir.hypotheses import (
    Array,
    Hypotheses,
    HypothesisError,
    ParameterMap,
    Scalar,
    parse,
)
from ferrotile_runner.tileir.model import Entry

ARRAYS = "arrays do not overlap, their extents and strides have 32 bits, no stride is negative, the last one is 1"
"""What both compilers are told of every array."""


def proved(session: Session, subject: Subject) -> str:
    """Says what the proof is of: the entry, signature, constants and target, and under which hypotheses. Raises
    RungFailure with the first difference."""
    signature, rust = subject.kernel.signature, subject.kernel.entry
    if signature is None or rust is None:
        raise RungSkipped("not translated")
    if rust.other_blocks:
        raise RungSkipped(f"block by block nothing can be compared: {rust.other_blocks}")
    with ThreadPoolExecutor(1) as other:  # the two compilers are two processes
        made = other.submit(session.rust_code, subject)
        original = session.python_code(subject)
    translation = made.result()
    words = parameter_map(signature, rust)
    foreign = subject.kernel.origin is not Origin.RULES

    def ordered(entry: Entry) -> Entry:
        return in_python_order(entry, rust, signature, original.entry) if foreign else entry

    python, made_by_rust = original.entry, ordered(translation.entry)
    maps = rust.block_maps or ((),)
    for blocks in maps:  # the last one is the one to explain
        known = replace(rust, hypotheses=(*rust.hypotheses, *blocks))
        facts, unread = hypotheses_of(signature, known)
        facts = replace(facts, positive_extents=True, no_overflow=True)
        proof = prove(python, made_by_rust, words, facts)
        if proof.equal:
            break
    if not proof.equal:
        # Places cost reading time, so they are asked for only where there is something to show.
        proof = prove(session.located(original), ordered(session.located(translation)), words, facts)
    if proof.difference is not None:
        without = f"\nfacts that the prover cannot read: {'; '.join(unread)}" if unread else ""
        difference, span = explain(subject, proof.difference)
        raise RungFailure("FT504", f"{detail(difference, proof.difference)}{without}", span, difference)
    # What the Rust launch rests on belongs to the claim, even where the proof of one block needs none of it.
    assumed = tuple(dict.fromkeys((*proof.hypotheses_used, *rust.hypotheses)))
    lines = [
        f"of {rust.name} for {signature_text(signature)}, compiled for {session.compile_rust(subject).target}; {ARRAYS}"
    ]
    lines += [f"assuming {'; '.join(assumed)}"] if assumed else []
    lines += [f"by {'; '.join(proof.lemmas)}"] if proof.lemmas else []
    return "\n".join(lines)


_RENAMED = re.compile(r"grid\.([xyz]) is Rust grid\.([xyz])")
_OF_GRID = re.compile(r"^grid\.([xyz]) = ")


def hypotheses_of(signature: Signature, rust: RustEntry) -> tuple[Hypotheses, tuple[str, ...]]:
    """The translator's launch facts and those that the grid implies, for the prover; and those that it cannot read,
    which are then not assumed."""
    known: list[str] = []
    unread: list[str] = []
    names = {m[1]: m[2] for text in rust.hypotheses if (m := _RENAMED.fullmatch(text))}
    for text in rust.hypotheses:
        said = _RENAMED.sub(r"rust bid.\2 = python bid.\1", text)
        said = _OF_GRID.sub(lambda m: f"grid.{names.get(m[1], m[1])} = ", said)  # for the prover, axes are the Rust's
        try:
            parse([said])
            known.append(said)
        except HypothesisError:
            unread.append(text)
    known += [f"bid.{axis} = 0" for axis in unit_axes(signature, rust)]
    split = any(text.startswith("python bid.") for text in rust.hypotheses)
    if signature.grid is not None and not split:
        axes = zip("xyz", signature.grid, strict=False)
        known += [f"grid.{names.get(axis, axis)} = {_grid_text(factors)}" for axis, factors in axes if factors]
    known += _constant_extents(signature)
    return parse(dict.fromkeys(known)), tuple(unread)


def _constant_extents(signature: Signature) -> list[str]:
    """Extents that a constant names: facts about the launch speak of them by name, where arrays have the number."""
    named = {e for a in signature.arguments if isinstance(a, ArrayArgument) for e in a.extents if isinstance(e, str)}
    return [f"{name} = {value}" for name, value in _values(signature).items() if name in named and value >= 0]


def _grid_text(factors: Sequence[GridFactor]) -> str:
    return " * ".join(str(f.extent) if f.tile == 1 else f"cdiv({f.extent}, {f.tile})" for f in factors)


def unit_axes(signature: Signature, rust: RustEntry) -> tuple[str, ...]:
    """Axes of the Rust launch's grid that have one block: the launcher takes the grid from the partition of the first
    `&mut` tensor, else from the original's."""
    values = _values(signature)
    extents = {
        a.name: tuple(values.get(e, e) if isinstance(e, str) else e for e in a.extents)
        for a in signature.arguments
        if isinstance(a, ArrayArgument)
    }
    owner = grid_owner(rust.parameters)
    grid = signature.grid if rust.grid is None else rust.grid
    if owner is not None:
        own = extents.get(owner.name, ())
        merged = len(own) - len(owner.tile)
        if merged > 0:
            own = (" * ".join(map(str, own[: merged + 1])), *own[merged + 1 :])
        if len(own) != len(owner.tile):
            return ()
        many = [d for d in range(len(own)) if not _one_tile(own[d], owner.tile[d], rust.hypotheses)]
        return tuple(axis for d, axis in enumerate("xyz") if d not in many)
    if grid is None:
        return ()
    several = [d for d, factors in enumerate(grid) if not all(_one_block(f) for f in factors)]
    return tuple(axis for d, axis in enumerate("xyz") if d not in several)


def _one_tile(extent: str | int, tile: int, hypotheses: Sequence[str]) -> bool:
    if isinstance(extent, int):
        return extent <= tile
    return f"cdiv({extent}, {tile}) = 1" in hypotheses or (tile == 1 and f"{extent} = 1" in hypotheses)


def _one_block(factor: GridFactor) -> bool:
    return isinstance(factor.extent, int) and factor.extent <= factor.tile


def _values(signature: Signature) -> dict[str, int]:
    """Constants that may be an extent's name."""
    return {
        a.name: a.value
        for a in signature.arguments
        if isinstance(a, ConstantArgument) and isinstance(a.value, int) and not isinstance(a.value, bool)
    }


def parameter_map(signature: Signature, rust: RustEntry) -> ParameterMap:
    """Arguments that have words, in Python order. An extent that a constant names is that constant's value."""
    of_rust = {p.name: p for p in rust.parameters}
    values = _values(signature)
    parameters: list[Array | Scalar] = []
    for argument in signature.arguments:
        match argument:
            case ArrayArgument(name=name, dtype=dtype, extents=symbols):
                extents = tuple(values.get(e, e) if isinstance(e, str) else e for e in symbols)
                there = of_rust.get(name)
                merged = None
                if there is not None and there.rank < len(extents):
                    merged = _merged(extents, len(extents) - there.rank)
                mutable = there is not None and there.kind == "tensor_mut"
                copy = next((p.name for p in rust.parameters if p.copy_of == name), None)
                parameters.append(Array(name, extents, dtype.name, mutable, merged, copy))
            case ScalarArgument(name=name, extent=extent):
                parameters.append(Scalar(name, None if extent is None else values.get(extent, extent)))
            case ConstantArgument():
                pass
    return ParameterMap(tuple(parameters))


def _merged(extents: tuple[str | int, ...], count: int) -> tuple[str | int, ...]:
    """The leading `count + 1` extents as one."""
    first = extents[: count + 1]
    product = " * ".join(map(str, first))
    return (product, *extents[count + 1 :])

"""How foreign Rust is launched: with which generics, on which grid, under which facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import permutations

from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, Signature
from ferrotile.translation import ArrayWord, Entry, RustParameter
from msgspec import Struct, field

from ferrotile_runner.candidate_blocks import Axis, block_maps, factor_text, normal, read_grid, text_of
from ferrotile_runner.candidate_error import CandidateError
from ferrotile_runner.candidate_file import EntryText, Extent, ModuleText, Parameter
from ferrotile_runner.candidate_match import Matched, Matching
from ferrotile_runner.launch_facts import facts_of

Value = int | float | bool | tuple[object, ...]


class Launch(Struct, frozen=True):
    """`words` say what was inferred."""

    entry: Entry
    words: tuple[str, ...]


class _Claim(Struct, frozen=True):
    """What is claimed of an entry's launches: the `facts` and `words` so far, the facts that may narrow it, and the
    constants by name."""

    signature: Signature
    entry: EntryText
    allowed: Sequence[str]
    fixed: Mapping[str, int]
    facts: dict[str, None] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)

    def axes(self, axes: Sequence[Axis]) -> list[Axis]:
        """Three, with the constants' values."""
        return _three([normal(axis, self.fixed) for axis in axes])

    @property
    def python_grid(self) -> list[Axis] | None:
        return None if self.signature.grid is None else self.axes(self.signature.grid)


def launch_of(
    module: ModuleText,
    entry: EntryText,
    matching: Matching,
    signature: Signature,
    own: Sequence[str],
    assume: Sequence[str] = (),
    grid: str = "",
) -> Launch:
    """The launch of an entry whose parameters are known. `own`: the facts that the original's own translation needs,
    which may narrow the claim where it must be. `assume`: facts that the user narrows it to; `grid`: as the user gives
    it. Raises CandidateError."""
    for fact in assume:
        if facts_of((fact,)).open:
            raise CandidateError(f"`{fact}` is no fact of a launch: `N = 1000`, `N % 64 = 0`, `cdiv(N, 256) = 1`")
    types = _types(entry, matching)
    values = {**module.constants, **matching.generics}
    fixed = {
        a.name: a.value
        for a in signature.arguments
        if isinstance(a, ConstantArgument) and isinstance(a.value, int) and not isinstance(a.value, bool)
    }
    arrays = {a.name: a for a in signature.arguments if isinstance(a, ArrayArgument)}
    claim = _Claim(signature, entry, (*own, *assume), fixed)
    facts = claim.facts
    made: list[RustParameter] = []
    for matched in matching.parameters:
        if isinstance(matched.passed, ArrayWord):
            rank = len(arrays[matched.passed.array].extents)
            name = matched.parameter.name
            kind = matched.parameter.dtype or ""
            made.append(RustParameter(name, "scalar", rank, rust=name, passed=matched.passed, dtype=kind))
        else:
            made.append(_parameter(matched, values, claim))
    generics: list[str] = []
    for generic in entry.generics:
        value = types[generic.name] if generic.kind == "type" else matching.generics[generic.name]
        generics += [_text(v) for v in value] if isinstance(value, tuple) else [_text(value)]
    facts.update((f"{extent} % {by} = 0", None) for extent, by in signature.multiples)
    facts.update((text, None) for text in own if text.endswith("is accessed within its bounds"))
    facts.update(dict.fromkeys(assume))
    given = read_grid(grid, signature, matching.generics) if grid else None
    found = _grid(made, claim, given)
    launched = Entry(
        entry.name, module.name, tuple(made), tuple(generics), tuple(facts), found.other_blocks, found.own, found.maps
    )
    return Launch(launched, tuple(claim.words))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _types(entry: EntryText, matching: Matching) -> Mapping[str, str]:
    found: dict[str, str] = {}
    names = {g.name for g in entry.generics if g.kind == "type"}
    for one in matching.parameters:
        kind = one.parameter.dtype
        if kind not in names or kind is None or one.argument is None:
            continue
        dtype = one.argument.dtype.instance
        if found.setdefault(kind, dtype) != dtype:
            raise CandidateError(f"`{kind}` is both `{found[kind]}` and `{dtype}`", one.parameter.line)
    for name in names - set(found):
        raise CandidateError(f"no parameter says what the type `{name}` is", entry.line)
    return found


def _parameter(matched: Matched, values: Mapping[str, Value], claim: _Claim) -> RustParameter:
    parameter, argument = matched.parameter, matched.argument
    if not isinstance(argument, ArrayArgument):
        name = parameter.name if argument is None else argument.name
        kind = "" if argument is not None else parameter.dtype or ""
        return RustParameter(name, "scalar", rust=parameter.name, passed=matched.passed, dtype=kind)
    extents = [claim.fixed.get(e, e) if isinstance(e, str) else e for e in argument.extents]
    if parameter.kind == "pointer":
        return RustParameter(argument.name, "pointer", len(extents), rust=parameter.name)
    shape = _shape(parameter, values)
    rank = len(shape)
    if rank == 0:
        raise CandidateError(f"`{parameter.name}` has no axes", parameter.line)
    if rank < len(extents):
        merged = len(extents) - rank + 1
        claim.facts[f"{argument.name} is contiguous"] = None
        claim.words.append(f"{parameter.name} has the first {merged} axes of {argument.name} as one")
    strides = (*[-1] * (rank - 1), 1)
    if parameter.kind == "tensor":
        own = extents if rank == len(extents) else [None, *extents[len(extents) - rank + 1 :]]
        for axis, (size, extent) in enumerate(zip(shape, own, strict=True)):
            _static(parameter, argument, axis, size, extent, claim)
        return RustParameter(argument.name, "tensor", rank, strides, rust=parameter.name)
    if any(size < (0 if parameter.kind == "mapped" else 1) for size in shape):
        raise CandidateError(
            f"the tile of `{parameter.name}` is {list(shape)}: its extents must be numbers", parameter.line
        )
    tile = shape if parameter.kind == "tensor_mut" else ()
    return RustParameter(argument.name, "tensor_mut", rank, strides, tile, parameter.name)


def _shape(parameter: Parameter, values: Mapping[str, Value]) -> tuple[int, ...]:
    def number(extent: Extent) -> int:
        if isinstance(extent, int):
            return extent
        name, _, index = extent.partition("[")
        value = values.get(name)
        if isinstance(value, tuple) and index:
            at = int(index.rstrip("]"))
            element = value[at] if at < len(value) else None
            if isinstance(element, int):
                return element
        elif isinstance(value, int) and not isinstance(value, bool):
            return value
        raise CandidateError(f"the extent `{extent}` of `{parameter.name}` is not known", parameter.line)

    if parameter.shape is None:
        raise CandidateError(f"the shape of `{parameter.name}` cannot be read", parameter.line)
    if isinstance(parameter.shape, str):
        value = values.get(parameter.shape)
        if isinstance(value, tuple) and all(isinstance(v, int) for v in value):
            return tuple(v for v in value if isinstance(v, int))
        raise CandidateError(f"the shape `{parameter.shape}` of `{parameter.name}` is not known", parameter.line)
    return tuple(map(number, parameter.shape))


def _static(
    parameter: Parameter, argument: ArrayArgument, axis: int, size: int, extent: str | int | None, claim: _Claim
) -> None:
    """An extent that the Rust's type states holds in every launch of the Python, or is an error."""
    if size < 0 or size == extent:
        return
    fact = f"{extent} = {size}"
    if isinstance(extent, str) and fact in claim.allowed:
        claim.facts[fact] = None
        return
    where = f"axis {axis} of `{argument.name}`"
    if isinstance(extent, int):
        raise CandidateError(f"{where} is {extent} long in the Python, {size} in the Rust", parameter.line)
    if extent is None:
        raise CandidateError(f"{where} is several axes of the Python: its extent must be `-1`", parameter.line)
    raise CandidateError(
        f"{where} is `{extent}` long in the Python, {size} in the Rust: where that always holds, say so, "
        f"with {size} in the directive or `--assume '{fact}'`",
        parameter.line,
    )


# The grid.


class _Grid(Struct, frozen=True):
    """`own`: the axes of the Rust's launch that neither its outputs nor the Python's grid say. `maps`: facts of which
    the prover may choose one set."""

    own: tuple[Axis, ...] | None = None
    other_blocks: str = ""
    maps: tuple[tuple[str, ...], ...] = ()


def _grid(parameters: Sequence[RustParameter], claim: _Claim, given: Sequence[Axis] | None) -> _Grid:
    """Adds the facts of the grid."""
    owners = [p for p in parameters if p.kind == "tensor_mut" and p.tile]
    mapped = [p for p in parameters if p.kind == "tensor_mut" and not p.tile]
    if owners:
        return _owned(owners, claim, given)
    theirs = claim.python_grid
    if given is None:
        claim.words.append(f"launched on {'as many blocks as the Python' if mapped else 'the Python'}'s grid")
        if mapped and theirs is not None and any(theirs[1:]):
            how = "give their number, as in `--grid 'cdiv(M, 64) * cdiv(N, 64)'`"
            return _Grid(other_blocks=f"a mapped partition has blocks along x alone: {how}")
        return _Grid()
    own = tuple(normal(axis, claim.fixed) for axis in given)
    claim.words.append(f"the grid is ({_shown(own)}), as given")
    if mapped and any(own[1:]):
        raise CandidateError("a mapped partition is launched along x alone", claim.entry.line)
    other, maps = _compared(_three(own), claim)
    return _Grid(own, other, maps)


def _owned(owners: Sequence[RustParameter], claim: _Claim, given: Sequence[Axis] | None) -> _Grid:
    """The launcher takes the grid from the tiles of `&mut` tensors, which must agree."""
    arrays = {a.name: a for a in claim.signature.arguments if isinstance(a, ArrayArgument)}
    counted = [(p, _counts(p, arrays[p.name], claim.fixed)) for p in owners]
    first, own = counted[0]
    for other, counts in counted[1:]:
        if counts != own and not _agree(own, counts, claim):
            raise CandidateError(
                f"`{first.rust}` has ({_shown(own)}) tiles and `{other.rust}` ({_shown(counts)}): cutile launches only "
                f"where these are equal; extents that always are have one name in the directive",
                claim.entry.line,
            )
    if own is None:
        return _Grid(other_blocks=f"the tiles of `{first.rust}` go over merged axes: how many there are is no product")
    claim.words.append(f"the grid is ({_shown(own)}), the tiles of {first.rust}")
    if given is not None and claim.axes(given) != _three(own):
        raise CandidateError(f"`--grid`: a launch has the tiles of `{first.rust}`, ({_shown(own)})", claim.entry.line)
    blocked, maps = _compared(_three(own), claim)
    return _Grid(None, blocked, maps)


def _three(axes: Sequence[Axis]) -> list[Axis]:
    return [*axes, *[()] * (3 - len(axes))]


def _compared(rust: Sequence[Axis], claim: _Claim) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """Why blocks cannot be compared, if so, and the maps that the prover may try."""
    python, facts, words = claim.python_grid, claim.facts, claim.words
    if python is None:
        for name, factors in zip("xyz", rust, strict=True):
            facts[f"grid.{name} = {text_of(factors)}" if factors else f"bid.{name} = 0"] = None
        words.append("the Python's grid is not known: it is taken to be the same")
        return "", ()
    one_tile = {f for axis in rust for f in axis if f"{factor_text(f)} = 1" in claim.allowed}

    def agree(order: Sequence[int], one_tile: Set[GridFactor]) -> tuple[GridFactor, ...] | None:
        """The factors that must be 1 for the axes to agree; None where they do not."""
        needed: list[GridFactor] = []
        for k, axis in enumerate(python):
            left = [f for f in rust[order[k]] if f not in one_tile or f in axis]
            if sorted(map(factor_text, left)) != sorted(map(factor_text, axis)):
                return None
            needed += [f for f in rust[order[k]] if f not in left]
        return tuple(needed)

    for order in sorted(permutations(range(3))):
        needed = agree(order, one_tile)
        if needed is None:
            continue
        facts.update((f"{factor_text(f)} = 1", None) for f in needed)
        for k, axis in enumerate(order):
            if axis != k and python[k]:
                facts[f"grid.{'xyz'[k]} is Rust grid.{'xyz'[axis]}"] = None
                words.append(f"axis {'xyz'[k]} of the Python's grid is axis {'xyz'[axis]} of the Rust's")
        return "", ()
    maps = block_maps(rust, python)
    if maps:
        words.append(f"the Python's grid is ({_shown(python)}): its blocks are numbered in another way")
        return "", tuple(maps)
    more = [f for axis in rust for f in axis if all(f not in a for a in python)]
    hint = ""
    if len(more) == 1 and isinstance(more[0].extent, str) and agree((0, 1, 2), {*one_tile, *more}) is not None:
        hint = f"; where there is always one tile, `--assume '{factor_text(more[0])} = 1'` says so"
    return f"the Rust's grid is ({_shown(rust)}), the Python's ({_shown(python)}){hint}", ()


def _agree(one: list[Axis] | None, other: list[Axis] | None, claim: _Claim) -> bool:
    """Whether two outputs have as many tiles along every axis, where facts that are allowed make some of them 1."""
    if one is None or other is None:
        return False
    needed: list[str] = []
    for left, right in zip(_three(one), _three(other), strict=True):
        needed += [f"{factor_text(f)} = 1" for f in (*left, *right) if (f in left) != (f in right)]
    if not all(fact in claim.allowed for fact in needed):
        return False
    claim.facts.update(dict.fromkeys(needed))
    return True


def _counts(parameter: RustParameter, argument: ArrayArgument, fixed: Mapping[str, int]) -> list[Axis] | None:
    """The tiles along each axis of the partition; None where merged axes are cut in other tiles than of 1."""
    extents, rank = argument.extents, len(parameter.tile)
    head = len(extents) - rank + 1
    if head > 1 and parameter.tile[0] != 1:
        return None
    merged: list[tuple[str | int, ...]] = [tuple(extents[:head]), *((e,) for e in extents[head:])]
    return [
        normal(tuple(GridFactor(e, tile) for e in axis), fixed)
        for axis, tile in zip(merged, parameter.tile, strict=True)
    ]


def _shown(axes: Sequence[Axis] | None) -> str:
    kept = list(axes or ())
    while len(kept) > 1 and not kept[-1]:
        kept.pop()
    return ", ".join(map(text_of, kept))

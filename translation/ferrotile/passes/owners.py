"""The search for a form of every output: as the kernel is, on another view or grid, with mapped partitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.passes import ownership
from ferrotile.passes.accesses import find_accesses
from ferrotile.passes.hints import tma_policy
from ferrotile.passes.joined_ids import Join, joined_ids
from ferrotile.passes.mapped import find_mapped
from ferrotile.passes.mapped_rows import mapped_rows
from ferrotile.passes.plan import Form
from ferrotile.passes.regrid import regrid, split_facts
from ferrotile.passes.single_trips import single_trips
from ferrotile.passes.space import Space
from ferrotile.passes.uses import eliminate_dead
from ferrotile.program.ir import Program
from ferrotile.signatures.model import GridFactor, Signature
from ferrotile.translation import Options


class _Launch(Struct, frozen=True):
    """The kernel for a launch with other views or another grid; `ranks` and `split` as in `Regridded`, `join` as in
    `Joined`."""

    program: Program
    signature: Signature
    ranks: Mapping[int, int]
    hypotheses: tuple[str, ...] = ()
    split: tuple[int, int, GridFactor] | None = None
    join: Join | None = None


def with_owners(program: Program, signature: Signature, options: Options) -> tuple[Program, ownership.Ownership]:
    """The program with every array's form, on the launcher's own views and grid where only these make a block an
    owner, or with a loop over the tiles of a mapped output. Without `unsafe`, launch facts may be assumed."""
    safe = options.unsafe == "never"
    plain = ownership.decide(program, signature, find_accesses(program), safe=safe)
    best = _with_rows(program, signature, plain) if safe else (program, plain)
    left = _unowned(best[1], safe)
    if not left:
        return best
    for launch in _regridded(program, signature, ()):
        best, left = _better(best, left, launch, safe)
    if best[0] is not program and (not left or not safe):
        return best
    mapped = _mapped(program, signature, options, plain)
    if mapped is not None or not safe:
        return mapped or best
    for launch in _other_grids(program, signature):
        best, left = _better(best, left, launch, safe)
    return best


_Found = tuple[Program, ownership.Ownership]


def _better(best: _Found, left: int, launch: _Launch, safe: bool) -> tuple[_Found, int]:
    """What the launch makes of the kernel if fewer arrays are without a form, else the best so far."""
    other = eliminate_dead(launch.program)
    owned = ownership.decide(other, launch.signature, find_accesses(other), launch.ranks, safe)
    if safe and not launch.ranks:
        other, owned = _with_rows(other, launch.signature, owned)
    count = _unowned(owned, safe)
    if count >= left:
        return best, left
    joined = () if launch.join is None else launch.join.facts(owned.axes)
    facts = (*launch.hypotheses, *split_facts(launch.split, owned.axes), *joined)
    hypotheses = tuple(dict.fromkeys((*owned.hypotheses, *facts)))
    return (other, replace(owned, hypotheses=hypotheses, races=best[1].races)), count


def _with_rows(program: Program, signature: Signature, owned: ownership.Ownership) -> _Found:
    """Rows of mapped partitions for all arrays that are without a form, if that is possible."""
    if not any(a.form is Form.FULL for a in owned.arrays) or owned.axes != (0, 1, 2):
        return program, owned
    rows = mapped_rows(program, signature, owned.arrays, find_accesses(program))
    if rows is None:
        return program, owned
    arrays = tuple(rows.plans.get(a.value, a) for a in owned.arrays)
    hypotheses = tuple(dict.fromkeys((*owned.hypotheses, *rows.hypotheses)))
    return rows.program, replace(owned, arrays=arrays, hypotheses=hypotheses)


def _unowned(owned: ownership.Ownership, safe: bool) -> int:
    """How many arrays have no form that suits: any but the checked full partition, or a safe one."""
    forms = (Form.FULL, Form.POINTER) if safe else (Form.FULL,)
    return sum(a.form in forms for a in owned.arrays)


def _other_grids(program: Program, signature: Signature) -> Iterator[_Launch]:
    """Launches on a grid that is assumed, which may make blocks owners."""
    once = single_trips(program, signature)
    if once is not None:
        yield _Launch(once.program, once.signature, {}, once.hypotheses)
        yield from _regridded(once.program, once.signature, once.hypotheses)
    joined = joined_ids(program, signature)
    if joined is not None:
        yield _Launch(joined.program, joined.signature, {}, joined.hypotheses, join=joined.join)


def _regridded(program: Program, signature: Signature, before: tuple[str, ...]) -> Iterator[_Launch]:
    changed = regrid(program, signature)
    if changed.program is not program:
        facts = (*before, *changed.hypotheses)
        yield _Launch(changed.program, changed.signature, changed.ranks, facts, changed.split)


def _mapped(program: Program, signature: Signature, options: Options, plain: ownership.Ownership) -> _Found | None:
    """The mapped form of a kernel's one output: where it is as fast and schedules tiles alike, or where `unsafe` is
    not allowed."""
    written = [a for a in plain.arrays if a.form is not Form.READ]
    if len(written) != 1:
        return None
    accesses = find_accesses(program)
    own = [a for a in accesses if a.array == written[0].value]
    found = find_mapped(program, signature, written[0], own, Space(program, signature))
    if found is None:
        return None
    looped = bool(own[0].path)
    if options.unsafe != "never":
        same = found.same and looped
        if not same or not tma_policy(program, accesses, options).allows(own[0]):
            return None
    arrays = tuple(found.plan if a.value == found.plan.value else a for a in plain.arrays)
    return found.program, replace(plain, arrays=arrays)

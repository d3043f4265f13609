"""All passes over a kernel program, in order."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ferrotile.diagnostics.model import Diagnostic
from ferrotile.passes import memory_order, ownership
from ferrotile.passes.accesses import Access, find_accesses
from ferrotile.passes.conditions import drop_known_conditions
from ferrotile.passes.fma import contract
from ferrotile.passes.grouping import simplify_groups
from ferrotile.passes.hints import use_tma
from ferrotile.passes.legalise import legalise
from ferrotile.passes.lift_views import lift_views
from ferrotile.passes.mapped import find_mapped
from ferrotile.passes.plan import ArrayPlan, Form, Plan, error
from ferrotile.passes.regrid import regrid, split_facts
from ferrotile.passes.slices import resolve_slices
from ferrotile.passes.space import Space
from ferrotile.passes.unsafe_operations import unsafe_operations, without_assumptions
from ferrotile.passes.uses import eliminate_dead, operations
from ferrotile.program.ir import Program
from ferrotile.program.types import ArrayType
from ferrotile.signatures.model import Signature
from ferrotile.translation import Options

__all__ = ["Plan", "run_passes"]


def run_passes(program: Program, signature: Signature, options: Options) -> Plan:
    """The program as the target can say it, with every array's form; errors are in `Plan.diagnostics`."""
    program, facts = lift_views(resolve_slices(contract(program)), signature, options.unsafe == "never")
    if options.unsafe == "never":
        program = without_assumptions(program)
    program = simplify_groups(drop_known_conditions(legalise(program)), signature)
    program, owned = _with_owners(program, signature, options)
    accesses = find_accesses(program)
    diagnostics = [*owned.races, *memory_order.notes(owned.arrays, accesses)]
    if options.unsafe == "never":
        for array in owned.arrays:
            if array.form in (Form.FULL, Form.POINTER) or array.ordered:
                span = next(a.operation.span for a in accesses if a.array == array.value and a.store)
                why = array.reason if array.form in (Form.FULL, Form.POINTER) else "it is read and written"
                text = f"`{array.name}` has no form without `unsafe`: {why}. Set `unsafe` to `proved`."
                diagnostics.append(error("FT303", text, span))
        diagnostics += [*_unsafe_reads(program, owned.arrays, accesses), *unsafe_operations(program)]
    diagnostics += _without_axes(program)
    hypotheses = tuple(dict.fromkeys((*owned.hypotheses, *facts)))
    return Plan(program, signature, options, owned.arrays, owned.axes, hypotheses, tuple(diagnostics))


def _unsafe_reads(program: Program, arrays: Sequence[ArrayPlan], accesses: Sequence[Access]) -> list[Diagnostic]:
    """FT303 for arrays that are only read, but not through views alone."""
    found: list[Diagnostic] = []
    for array in arrays:
        if array.form is not Form.READ:
            continue
        unsafe = next((a for a in accesses if a.array == array.value and a.view is None), None)
        if unsafe is not None:
            text = f"`{array.name}` is read through pointers, which has no form without `unsafe`. Set it to `proved`."
            found.append(error("FT303", text, unsafe.operation.span))
    return found


def _without_axes(program: Program) -> list[Diagnostic]:
    """FT302 for arrays of rank 0."""
    found: dict[int, Diagnostic] = {}
    for operation in operations(program.body):
        for value in operation.operands:
            if isinstance(value.type, ArrayType) and not value.type.rank and value.id not in found:
                text = f"`{value.name}` has no axes, and cutile 0.5 has no such tensors: pass one element as `[1]`."
                found[value.id] = error("FT302", text, operation.span)
    return list(found.values())


def _with_owners(program: Program, signature: Signature, options: Options) -> tuple[Program, ownership.Ownership]:
    """The program with every array's form, on the launcher's own views and grid where only these make a block an
    owner, or with a loop over the tiles of a mapped output."""
    plain = ownership.decide(program, signature, find_accesses(program))
    if not any(a.form is Form.FULL for a in plain.arrays):
        return program, plain
    changed = regrid(program, signature)
    if changed.program is not program:
        other = eliminate_dead(changed.program)
        owned = ownership.decide(other, changed.signature, find_accesses(other), changed.ranks)
        if sum(a.form is Form.FULL for a in owned.arrays) < sum(a.form is Form.FULL for a in plain.arrays):
            facts = (*changed.hypotheses, *split_facts(changed.split, owned.axes))
            return other, replace(owned, hypotheses=(*owned.hypotheses, *facts), races=plain.races)
    return _mapped(program, signature, options, plain) or (program, plain)


def _mapped(
    program: Program, signature: Signature, options: Options, plain: ownership.Ownership
) -> tuple[Program, ownership.Ownership] | None:
    """The mapped form of a kernel's one output: where it is as fast and schedules tiles alike, or where `unsafe` is
    not allowed."""
    written = [a for a in plain.arrays if a.form is not Form.READ]
    if len(written) != 1:
        return None
    own = [a for a in find_accesses(program) if a.array == written[0].value]
    found = find_mapped(program, signature, written[0], own, Space(program, signature))
    if found is None:
        return None
    looped = bool(own[0].path)
    if options.unsafe != "never" and not (found.same and looped and use_tma(own[0], options.target)):
        return None
    arrays = tuple(found.plan if a.value == found.plan.value else a for a in plain.arrays)
    return found.program, replace(plain, arrays=arrays)

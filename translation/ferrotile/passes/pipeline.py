"""All passes over a kernel program, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ferrotile.diagnostics.model import Diagnostic
from ferrotile.passes import memory_order
from ferrotile.passes.accesses import Access, find_accesses
from ferrotile.passes.conditions import drop_known_conditions
from ferrotile.passes.earlier_values import earlier_values
from ferrotile.passes.fma import contract
from ferrotile.passes.grouping import simplify_groups
from ferrotile.passes.legalise import legalise
from ferrotile.passes.lift_views import lift_views
from ferrotile.passes.owners import with_owners
from ferrotile.passes.plan import ArrayPlan, Form, Plan, error
from ferrotile.passes.remainders import floor_remainders
from ferrotile.passes.slices import resolve_slices
from ferrotile.passes.unsafe_operations import unsafe_operations, without_assumptions
from ferrotile.passes.uses import operations
from ferrotile.program.ir import Program
from ferrotile.program.types import ArrayType
from ferrotile.signatures.model import Signature
from ferrotile.translation import Options

__all__ = ["Plan", "run_passes"]


def run_passes(program: Program, signature: Signature, options: Options) -> Plan:
    """The program as the target can say it, with every array's form; errors are in `Plan.diagnostics`."""
    safe = options.unsafe == "never"
    copies: Mapping[int, str] = {}
    extra: tuple[str, ...] = ()
    whole = signature
    if safe:
        earlier = earlier_values(program, signature)
        program, whole, copies, extra = earlier.program, earlier.signature, earlier.copies, earlier.hypotheses
    rows = options.choices.rows is not False
    program, facts = lift_views(resolve_slices(contract(program)), whole, safe, rows)
    if safe:
        program = without_assumptions(program)
    program = simplify_groups(drop_known_conditions(legalise(program)), whole)
    program, owned = with_owners(program, whole, options)
    arrays = tuple(replace(a, before=copies.get(a.value)) for a in owned.arrays)
    owned = replace(owned, arrays=arrays)
    accesses = find_accesses(program)
    diagnostics = [*owned.races, *memory_order.notes(owned.arrays, accesses)]
    if safe:
        for array in owned.arrays:
            if array.form in (Form.FULL, Form.POINTER) or array.ordered:
                span = next(a.operation.span for a in accesses if a.array == array.value and a.store)
                why = array.reason if array.form in (Form.FULL, Form.POINTER) else "it is read and written"
                text = f"`{array.name}` has no form without `unsafe`: {why}. Set `unsafe` to `proved`."
                diagnostics.append(error("FT303", text, span))
        diagnostics += [*_unsafe_reads(program, owned.arrays, accesses), *unsafe_operations(program)]
    diagnostics += _without_axes(program)
    divided = (f"{extent} % {tile} = 0" for extent, tile in signature.multiples)
    hypotheses = tuple(dict.fromkeys((*owned.hypotheses, *facts, *extra, *divided)))
    return Plan(floor_remainders(program), signature, options, owned.arrays, owned.axes, hypotheses, tuple(diagnostics))


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

"""Extents of tensor parameters that the signature fixes: `&Tensor<E, { [-1, 64] }>`.

The type then says what every launch has, cutile checks it there, and the assembler leaves out what it need not compare:
on sm_90 rows of a known length took down to two thirds of the instructions of those of any length.

Only axes behind all others whose extent is a run-time word, or asked for: cutile 0.5 numbers `shape()` and the
divisors that a launcher finds by the run-time ones alone. Only arrays that are nothing but viewed: helpers of elements
take tensors of any extents.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from ferrotile.passes.plan import ArrayPlan, Form, Plan
from ferrotile.passes.uses import operations
from ferrotile.program.types import Shape, Size
from ferrotile.signatures.model import ArrayArgument, ConstantArgument

RUN_TIME = Size(-1)
_FORMS = (Form.READ, Form.FULL, Form.POINTER)


def static_extents(plan: Plan) -> Mapping[int, Shape]:
    """The extents of each array that is a tensor parameter and has some that are fixed, by the array's value;
    `RUN_TIME` for the others."""
    constants = {
        a.name: a.value
        for a in plan.signature.arguments
        if isinstance(a, ConstantArgument) and isinstance(a.value, int) and not isinstance(a.value, bool)
    }
    generic = {int(c.value) for c in plan.program.constants if not c.pinned}
    names = {p.value.id: p.name for p in plan.program.parameters}
    extents = {a.name: a.extents for a in plan.signature.arguments if isinstance(a, ArrayArgument)}
    used_whole: set[int] = set()
    asked: dict[int, int] = {}
    for o in operations(plan.program.body):
        if o.opcode == "extent":
            of, axis = o.operands[0].id, int(str(o.attribute("axis")))
            asked[of] = max(asked.get(of, 0), axis + 1)
        elif o.opcode != "make_view":
            used_whole.update(v.id for v in o.operands)
    found: dict[int, Shape] = {}
    for array in plan.arrays:
        own = extents.get(names.get(array.value, ""), ())
        if not _may(array) or array.value in used_whole or len(own) != array.rank:
            continue
        sizes = tuple(_size(extent, constants, generic) for extent in own)
        first = max((axis + 1 for axis, size in enumerate(sizes) if size is RUN_TIME), default=0)
        first = max(first, asked.get(array.value, 0))
        if first < array.rank:
            found[array.value] = (*[RUN_TIME] * first, *sizes[first:])
    return found


def _may(array: ArrayPlan) -> bool:
    return array.form in _FORMS and (array.tokens or not array.ordered) and array.before is None


def _size(extent: str | int, constants: Mapping[str, int], generic: Set[int]) -> Size:
    """`generic`: values of const generics. A number that is one of them may be it, and another one elsewhere."""
    if isinstance(extent, int):
        return Size(extent) if extent > 0 and extent not in generic else RUN_TIME
    value = constants.get(extent, 0)
    return Size(value, extent) if value > 0 else RUN_TIME

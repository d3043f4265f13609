"""All passes over a kernel program, in order."""

from __future__ import annotations

from ferrotile.passes import memory_order, ownership
from ferrotile.passes.accesses import find_accesses
from ferrotile.passes.fma import contract
from ferrotile.passes.legalise import legalise
from ferrotile.passes.plan import Form, Plan, error
from ferrotile.passes.uses import eliminate_dead
from ferrotile.program.ir import Program
from ferrotile.signatures.model import Signature
from ferrotile.translation import Options

__all__ = ["Plan", "run_passes"]


def run_passes(program: Program, signature: Signature, options: Options) -> Plan:
    """The program as the target can say it, with every array's form; errors are in `Plan.diagnostics`."""
    program = legalise(contract(eliminate_dead(program)))
    accesses = find_accesses(program)
    owned = ownership.decide(program, signature, accesses)
    diagnostics = list(memory_order.notes(owned.arrays, accesses))
    if options.unsafe == "never":
        for array in owned.arrays:
            if array.form in (Form.FULL, Form.POINTER) or array.ordered:
                span = next(a.operation.span for a in accesses if a.array == array.value and a.store)
                why = array.reason if array.form in (Form.FULL, Form.POINTER) else "it is read and written"
                text = f"`{array.name}` has no form without `unsafe`: {why}. Set `unsafe` to `proved`."
                diagnostics.append(error("FT303", text, span))
    return Plan(program, signature, options, owned.arrays, owned.axes, owned.hypotheses, tuple(diagnostics))

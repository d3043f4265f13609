"""Rung `proved`: the Tile IR of both sides is the same program, under the hypotheses that the verdict lists."""

from __future__ import annotations

from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature
from ferrotile.translation import Entry as RustEntry

from ferrotile_runner.rungs.subject import RungFailure, RungSkipped, Subject
from ferrotile_runner.session import Session

from ferrotile_runner.tileir.hypotheses import Array, ParameterMap, Scalar


def proved(session: Session, subject: Subject) -> str:
    """Lists the hypotheses that the proof used. Raises RungFailure with the first difference."""
    signature, rust = subject.kernel.signature, subject.kernel.entry
    if signature is None or rust is None:
        raise RungSkipped("not translated")
    original, translation = session.python_entry(subject), session.rust_entry(subject)
    from ferrotile_runner.tileir.equivalence import prove

    proof = prove(original, translation, parameter_map(signature, rust), rust.hypotheses)
    if not proof.equal:
        raise RungFailure("FT504", f"not proved equal: {proof.difference}", subject.kernel.name_span)
    return "\n".join(proof.hypotheses)


def parameter_map(signature: Signature, rust: RustEntry) -> ParameterMap:
    """Arguments that have words, in Python order. An extent that a constant names is that constant's value."""
    of_rust = {p.name: p for p in rust.parameters}
    values = {
        a.name: a.value
        for a in signature.arguments
        if isinstance(a, ConstantArgument) and isinstance(a.value, int) and not isinstance(a.value, bool)
    }
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
                parameters.append(Array(name, extents, dtype.name, mutable, merged))
            case ScalarArgument(name=name):
                parameters.append(Scalar(name))
            case ConstantArgument():
                pass
    return ParameterMap(tuple(parameters))


def _merged(extents: tuple[str | int, ...], count: int) -> tuple[str | int, ...]:
    """The leading `count + 1` extents as one."""
    first = extents[: count + 1]
    product = " * ".join(map(str, first))
    return (product, *extents[count + 1 :])

"""Lowers one kernel of a source text, verifies it and prints it."""

from __future__ import annotations

from ferrotile.frontends.cutile.discover import find_kernels
from ferrotile.frontends.cutile.lower import Lowered, lower_kernel
from ferrotile.program.dtypes import BY_NAME
from ferrotile.program.printer import print_program
from ferrotile.program.verifier import verify
from ferrotile.signatures.model import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    ScalarArgument,
    Signature,
    Source,
)
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module

HEAD = "import math\nimport cuda.tile as ct\n"


def _argument(name: str, text: str | int | float | bool) -> Argument:
    """`f32[2]` is an array of rank 2, `f32` a scalar, anything else a constant's value."""
    if not isinstance(text, str):
        return ConstantArgument(name, text, Source.DIRECTIVE)
    element, bracket, rank = text.partition("[")
    if bracket:
        extents = tuple(f"{name}{k}" for k in range(int(rank.rstrip("]"))))
        return ArrayArgument(name, BY_NAME[element], extents, Source.DIRECTIVE)
    return ScalarArgument(name, BY_NAME[element], Source.DIRECTIVE)


def lower(source: str, **arguments: str | int | float | bool) -> Lowered:
    """Lowers the only kernel of `source`; its parameters are described by `arguments`, in order."""
    module = parse_module(Document(HEAD + source))
    (kernel,) = find_kernels(module)
    signature = Signature(kernel.name, tuple(_argument(n, a) for n, a in arguments.items()))
    lowered = lower_kernel(module, kernel, signature)
    if lowered.program is not None:
        assert verify(lowered.program) == ()
    return lowered


def text_of(source: str, **arguments: str | int | float | bool) -> list[str]:
    """The printed program's lines, without indentation."""
    lowered = lower(source, **arguments)
    assert lowered.program is not None, lowered.diagnostics
    return [line.strip() for line in print_program(lowered.program).splitlines()]


def problems(source: str, **arguments: str | int | float | bool) -> list[tuple[str, str]]:
    """Code and source text of each diagnostic."""
    lowered = lower(source, **arguments)
    assert lowered.program is None
    data = (HEAD + source).encode()
    return [(d.code, data[d.span.start : d.span.end].decode()) for d in lowered.diagnostics]

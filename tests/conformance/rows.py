"""Conformance rows: whole little files, each with one kernel and what must become of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
Reference = Callable[..., Array]
"""From the input arrays, widened (floats to f64, integers to Python's own), to the exact result."""

PROVED = "proved"
SIMULATED = "simulated"
ASSEMBLED = "assembled"
TYPE_CHECKED = "type-checked"


@dataclass(frozen=True, slots=True)
class Row:
    """`expect` is the rung that must be reached (proved also means simulated where the simulator can run it), or the
    code of the diagnostic that must be given, at the source text `at`. `references` gives the exact value of an
    element-wise output. `target` is the architecture to assemble for, `unsafe` the translator's setting."""

    name: str
    source: str
    expect: str
    at: str = ""
    references: Mapping[str, Reference] = field(default_factory=dict)
    target: str = "sm_90"
    unsafe: str = "proved"

    @property
    def refused(self) -> bool:
        return self.expect.startswith("FT")


def body(text: str, indent: int = 4) -> str:
    """Lines of a kernel's body, indented."""
    return "".join(f"{' ' * indent}{line}\n" if line else "\n" for line in text.strip("\n").split("\n"))


def file_of(directive: str, parameters: str, text: str, before: str = "") -> str:
    """A file with one kernel called `row`."""
    return (
        f"import operator\n\nimport cuda.tile as ct\n\n{before}"
        f"# ferrotile: {directive}\n@ct.kernel\ndef row({parameters}):\n{body(text)}"
    )


@dataclass(frozen=True, slots=True)
class Result:
    """One output of an element-wise kernel: an expression over the tiles, its element type, its exact value."""

    expression: str
    dtype: str
    reference: Reference | None = None


def elementwise(
    name: str,
    inputs: Mapping[str, str],
    results: list[Result],
    expect: str = PROVED,
    before: str = "",
    lines: str = "",
    target: str = "sm_90",
) -> Row:
    """A kernel over rank-1 tiles: tile `a` is loaded from array `a_`, and result k is stored in `z<k>`, so that no
    operation can hide another."""
    arrays = {f"{k}_": d for k, d in inputs.items()} | {f"z{k}": r.dtype for k, r in enumerate(results)}
    directive = ", ".join(f"{k}: {d}[N]" for k, d in arrays.items()) + ", T=16, grid=(N/T)"
    text = "i = ct.bid(0)\n" + "".join(f"{k} = ct.load({k}_, (i,), (T,))\n" for k in inputs) + lines
    text += "".join(f"ct.store(z{k}, (i,), {r.expression})\n" for k, r in enumerate(results))
    source = file_of(directive, ", ".join([*arrays, "T: ct.Constant[int]"]), text, before)
    references = {f"z{k}": r.reference for k, r in enumerate(results) if r.reference is not None}
    return Row(name, source, expect, "", references, target)


def refused(name: str, inputs: Mapping[str, str], statement: str, code: str, at: str, lines: str = "") -> Row:
    """A kernel whose one statement is refused with `code` at the text `at`."""
    directive = ", ".join(f"{k}_: {d}[N]" for k, d in inputs.items()) + ", T=16, grid=(N/T)"
    text = "i = ct.bid(0)\n" + "".join(f"{k} = ct.load({k}_, (i,), (T,))\n" for k in inputs) + lines + statement
    parameters = ", ".join([*(f"{k}_" for k in inputs), "T: ct.Constant[int]"])
    return Row(name, file_of(directive, parameters, text), code, at)


def tiled(
    name: str,
    inputs: Mapping[str, tuple[str, str]],
    outputs: Mapping[str, tuple[str, str, str]],
    expect: str = PROVED,
    before: str = "",
    lines: str = "",
    target: str = "sm_90",
) -> Row:
    """One block over whole small arrays. `inputs`: tile name to element type and shape (`4, 8`); `outputs`: array name
    to element type, shape and the expression stored there."""
    declared = {f"{k}_": f"{d}[{s}]" for k, (d, s) in inputs.items()}
    declared |= {k: f"{d}[{s}]" for k, (d, s, _) in outputs.items()}
    directive = ", ".join(f"{k}: {d}" for k, d in declared.items()) + ", grid=(1)"
    text = ""
    for k, (_, shape) in inputs.items():
        text += f"{k} = ct.load({k}_, ({_zeros(shape)},), ({shape},))\n"
    text += lines
    for k, (_, shape, expression) in outputs.items():
        text += f"ct.store({k}, ({_zeros(shape)},), {expression})\n"
    return Row(name, file_of(directive, ", ".join(declared), text, before), expect, target=target)


def _zeros(shape: str) -> str:
    return ", ".join("0" for _ in shape.split(","))

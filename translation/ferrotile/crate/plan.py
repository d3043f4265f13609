"""One kernel's host function, planned: what stands for each extent, what is checked, how the kernel is launched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from msgspec import Struct

from ferrotile.comments import comments_of
from ferrotile.crate.bounds import Reach, reach_of
from ferrotile.crate.constants import Claims, Template, template
from ferrotile.crate.model import PythonFile
from ferrotile.frontends.cutile.discover import find_kernels
from ferrotile.frontends.cutile.lower import lower_kernel
from ferrotile.passes import naming
from ferrotile.program.dtypes import DTypeVariableError
from ferrotile.rust.emit import Parts
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ConstantValue, ScalarArgument, Signature
from ferrotile.syntax.module import FunctionSource
from ferrotile.translate import translate_program
from ferrotile.translation import Entry, KernelTranslation, SourceMap, UnsafeCount


class Generic(Struct, frozen=True):
    """A generic parameter of the entry. `constant`: the kernel's own name of it; None for a type, and for a number that
    is ferrotile's. `value`: what the entry was translated with."""

    name: str
    value: str
    type: bool = False
    constant: str | None = None


class Planned(Struct, frozen=True):
    """A translated kernel and all that its host function rests on. `config`: open constants that are arguments;
    `bound`: open constants that are an extent; `fixed`: constants that stay what they were at the launch."""

    kernel: KernelTranslation
    signature: Signature
    entry: Entry
    parts: Parts
    source: FunctionSource | None
    generics: tuple[Generic, ...]
    template: Template
    reach: Reach
    config: tuple[str, ...]
    bound: tuple[str, ...]
    fixed: Mapping[str, ConstantValue]

    @property
    def arrays(self) -> tuple[ArrayArgument, ...]:
        return tuple(a for a in self.signature.arguments if isinstance(a, ArrayArgument))

    @property
    def scalars(self) -> tuple[ScalarArgument, ...]:
        return tuple(a for a in self.signature.arguments if isinstance(a, ScalarArgument))

    @property
    def written(self) -> frozenset[str]:
        return frozenset(o.name for o in self.kernel.outputs)

    @property
    def candidates(self) -> tuple[tuple[int, ...], ...]:
        """Values of `config` that the Python's tuner chooses from, the default first; empty where there is no choice.
        Those that differ in a constant that stays as it was are left out."""
        found = {tuple(self.value(c) for c in self.config): None}
        for values in map(dict, self.signature.tuned):
            if all(values.get(n) == v for n, v in self.fixed.items()):
                found[tuple(values[c] for c in self.config)] = None
        whole = [tuple(v for v in one if type(v) is int and 0 < v < 1 << 31) for one in found]
        kept = tuple(one for one in whole if len(one) == len(self.config))
        return kept if len(kept) > 1 else ()

    def value(self, constant: str) -> ConstantValue:
        """A constant's value at the launch."""
        return _value(self.signature, constant)


_HINTS = re.compile(r"optimization_hints = \((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\),?\s*")
"""They are chosen by the sizes of tiles, and the same program with others."""
_WHOLE = re.compile(r": &Tensor<|\.shape\(\)|\.partition\(shape!\[[^\]]*\]\)(?:;|\.load\()")
_VIEW = re.compile(r"\.load\(| = ")


def only_checked(parts: Parts, array: str) -> bool:
    """Whether a kernel's Rust accesses `array` by `.load` of a partition alone, which cutile checks: in its proof, at
    the launch or on the GPU."""
    text = "\n".join(line for line in parts.body if not line.lstrip().startswith("//"))
    if "unchecked_accesses" in text:
        return False
    views = re.findall(rf"\blet (\w+) =\s+{array}\.partition\(shape!\[[^\]]*\]\);", text)
    if len(views) != len(re.findall(rf"\b{array}\.partition\(shape!\[[^\]]*\]\);", text)):
        return False

    def fits(found: re.Match[str], allowed: re.Pattern[str]) -> bool:
        counted = text[: found.start()].endswith("num_tiles(&")
        return counted or allowed.match(text, found.end()) is not None

    return all(fits(found, _WHOLE) for found in re.finditer(rf"\b{array}\b", text)) and all(
        fits(found, _VIEW) for view in set(views) for found in re.finditer(rf"\b{view}\b", text)
    )


def _value(signature: Signature, constant: str) -> ConstantValue:
    return next(a.value for a in signature.arguments if isinstance(a, ConstantArgument) and a.name == constant)


def plan_kernel(file: PythonFile, kernel: KernelTranslation, parts: Parts) -> Planned:
    """The plan of a kernel that is translated."""
    signature, entry, program = kernel.signature, kernel.entry, kernel.program
    assert signature is not None and entry is not None and program is not None
    source = next(
        (f for f in find_kernels(file.module) if f.name == kernel.name and f.name_span == kernel.name_span), None
    )
    owned = frozenset(o.name for o in kernel.outputs if o.form in ("owned", "owned-row", "mapped"))
    written = {o.name for o in kernel.outputs}
    arrays = [a.name for a in signature.arguments if isinstance(a, ArrayArgument)]
    rust = {p.name: p.rust or p.name for p in entry.parameters}
    checked = frozenset(
        n for n in arrays if n not in written and (file.options.checks == "keep" or only_checked(parts, rust.get(n, n)))
    )
    reach = reach_of(program, signature, owned, checked)
    names = {naming.constant(c.name): c.name for c in program.constants}
    generics = _generics(parts, entry, names)
    candidates = [g.constant for g in generics if g.constant is not None and g.value not in ("true", "false")]
    # What a grid is made of stays: a constant that counts blocks is not told from a number.
    counted = {f.extent for axis in signature.grid or () for f in axis if isinstance(f.extent, int)}
    candidates = [c for c in candidates if _value(signature, c) not in counted]
    claims = _claims(parts, entry, signature, reach)
    told = template(signature, claims, candidates, partial(_probe, file, source, owned, checked))
    extents = {e for a in signature.arguments if isinstance(a, ArrayArgument) for e in a.extents}
    bound = tuple(c for c in told.open if c in extents)
    config = tuple(c for c in told.open if c not in extents)
    constants = [a for a in signature.arguments if isinstance(a, ConstantArgument)]
    fixed = {a.name: a.value for a in constants if a.name not in told.open}
    return Planned(kernel, signature, entry, parts, source, generics, told, reach, config, bound, fixed)


def _generics(parts: Parts, entry: Entry, constants: Mapping[str, str]) -> tuple[Generic, ...]:
    """The entry's generic parameters, as its text declares them."""
    text = "\n".join(line for line in parts.body if not line.lstrip().startswith("//"))
    found = re.search(rf"fn {re.escape(entry.name)}\s*(?:<(.*?)>)?\s*\(", text, re.DOTALL)
    declared = [] if found is None or found[1] is None else [d.strip() for d in found[1].split(",") if d.strip()]
    made: list[Generic] = []
    for text_, value in zip(declared, entry.generics, strict=True):
        name = re.sub(r"^const ", "", text_).partition(":")[0]
        is_type = not text_.startswith("const ")
        made.append(Generic(name, value, is_type, None if is_type else constants.get(name)))
    return tuple(made)


def _probe(
    file: PythonFile,
    source: FunctionSource | None,
    owned: frozenset[str],
    checked: frozenset[str],
    signature: Signature,
) -> Claims | None:
    """The translation for other constants."""
    if source is None:
        return None
    empty = KernelTranslation(
        source.name, "", source.span, source.name_span, signature, None, None, None, (), UnsafeCount(), SourceMap(), ()
    )
    try:
        lowered = lower_kernel(file.module, source, signature, {})
        if lowered.program is None:
            return None
        comments = comments_of(file.document, file.module, source, lowered.program)
        kernel, text = translate_program(lowered.program, signature, file.options, comments, empty)
    except DTypeVariableError:
        return None
    if text is None or kernel.entry is None:
        return None
    reach = reach_of(lowered.program, signature, owned, checked)
    return _claims(text.parts, kernel.entry, signature, reach)


def _claims(parts: Parts, entry: Entry, signature: Signature, reach: Reach) -> Claims:
    facts = (*entry.hypotheses, *reach.facts)
    body = _HINTS.sub("", "\n".join(parts.body))
    text = (body, *(line for helper in parts.helpers for line in helper.lines))
    return Claims(text, entry, signature.grid, facts, (*reach.outside, *reach.limits))

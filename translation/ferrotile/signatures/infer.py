"""The signatures of a kernel, merged by strength: directive, annotation, launch sites, usage, assumption."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.program.dtypes import BOOL, F32, I32, DType
from ferrotile.signatures import assume
from ferrotile.signatures.alternatives import alternatives
from ferrotile.signatures.annotations import Annotation, Role, read_annotation
from ferrotile.signatures.checks import check_directive
from ferrotile.signatures.directive import Directive, has_directive, read_directive
from ferrotile.signatures.findings import Findings
from ferrotile.signatures.grids import factors, launched_grid
from ferrotile.signatures.launch import Launch, Launches, collect_launches
from ferrotile.signatures.model import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    ScalarArgument,
    Signature,
    Site,
    Source,
)
from ferrotile.signatures.selection import select
from ferrotile.signatures.symbols import Symbols
from ferrotile.signatures.tensors import extent
from ferrotile.signatures.tuned import Tuned, divided_by
from ferrotile.signatures.typecheck import read_typecheck
from ferrotile.signatures.usage import Usage, Use, constant_value, read_usage
from ferrotile.signatures.values import (
    UNKNOWN,
    Constant,
    ElementType,
    Int,
    Known,
    Ratio,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from ferrotile.syntax.module import FunctionSource, Module, parameters_of
from ferrotile.syntax.span import Span


class SignatureResult(Struct, frozen=True):
    """At least one signature for every kernel whose parameters have a form at all. `example_extents` gives the extents
    of a launch site for symbols, to run the kernel with."""

    signatures: tuple[Signature, ...]
    diagnostics: tuple[Diagnostic, ...]
    example_extents: Mapping[str, int]


_SITES = 24
"""Launches of one kernel that are looked at."""

_ALTERNATIVES = 5
"""Other assumptions that are tried for a signature."""

Accept = Callable[[Signature], bool]


def infer_signatures(
    module: Module, kernel: FunctionSource, launches: Launches | None = None, accept: Accept | None = None
) -> SignatureResult:
    """All distinct signatures of `kernel`, up to a bound. For several kernels pass `collect_launches(module)`. `accept`
    tells whether the kernel is valid under a signature: where it is not, other assumptions are tried."""
    found = collect_launches(module) if launches is None else launches
    return _Inference(module, kernel, found).infer(accept)


class _Inference:
    def __init__(self, module: Module, kernel: FunctionSource, launches: Launches) -> None:
        self._module = module
        self._kernel = kernel
        self._launches = launches
        arguments = kernel.node.args
        self._parameters = parameters_of(kernel.node)
        self._defaults: dict[str, ast.expr] = dict(
            zip(reversed([p.arg for p in self._parameters]), reversed(arguments.defaults), strict=False)
        )
        self._annotations = {p.arg: read_annotation(module, p.annotation) for p in self._parameters}
        self._usage: Usage = read_usage(module, kernel.node)
        comments = module.document.comments_above(kernel.span.start)
        binding = module.binding_of(kernel)
        if binding is not None:
            nearer = module.document.comments_above(binding.span.start)
            comments = nearer if has_directive(nearer) else comments
        written = read_directive(comments)
        self._directive: Directive = written.joined(read_typecheck(module, kernel))
        self._findings = Findings(module, kernel)
        self._examples: dict[str, int] = {}
        self._reasons: dict[str, tuple[DType, str]] = {}

    def _accepted(self, signature: Signature, accept: Accept | None) -> Signature:
        """`signature`, or where the kernel is not valid under it one with other assumptions under which it is."""
        if accept is None or not any(a.source is Source.ASSUMED for a in signature.arguments) or accept(signature):
            return signature
        others = islice(alternatives(signature), _ALTERNATIVES)
        return next((a for a in others if accept(a)), signature)

    def _structural(self, constant: ConstantArgument) -> bool:
        """Whether the kernel chooses its code by the constant's value."""
        use = self._usage.of(constant.name)
        return use.condition or bool(use.compared) or use.none or use.unrolled

    def _why(self, argument: Argument) -> str:
        dtype, why = self._reasons.get(argument.name, (None, ""))
        changed = isinstance(argument, ArrayArgument) and dtype is not None and not dtype.identical(argument.dtype)
        return "since the kernel is not valid with another one" if changed else why

    def infer(self, accept: Accept | None = None) -> SignatureResult:
        names = tuple(p.arg for p in self._parameters)
        constant = frozenset(n for n, a in self._annotations.items() if a.role is Role.CONSTANT)
        told = list(self._directive.diagnostics)
        told.extend(check_directive(self._directive, self._kernel.name, names, constant, self._usage))
        mine = [s for s in self._launches.sites if s.kernel == self._kernel.name]
        sites = [s for s in mine if s.arguments is not None and len(s.arguments) == len(self._parameters)]
        wide = [p for p in self._parameters if self._annotations[p.arg].wide]
        for p in wide:
            message = (
                f"`{p.arg}` has 64-bit extents and strides, which cutile 0.5 does not have: where none is above "
                "2147483647, drop the annotation"
            )
            told.append(diagnostic("FT302", message, self._module.span_of(p)))
        if wide:
            return SignatureResult((), tuple(told), MappingProxyType({}))
        listed = {n for n, a in self._annotations.items() if a.listed}
        uses = {p.arg: self._usage.of(p.arg) for p in self._parameters}
        lists = [p for p in self._parameters if p.arg in listed or (uses[p.arg].listed and not uses[p.arg].array)]
        if lists and not constant.issuperset(p.arg for p in lists):
            for p in lists:
                message = f"`{p.arg}` is a list of arrays, which has no translation yet: give each array a parameter"
                told.append(diagnostic("FT301", message, self._module.span_of(p)))
            return SignatureResult((), tuple(told), MappingProxyType({}))
        sites = [s for s in sites if not self._contradicted(s)] or sites
        candidates = [self._signature(site) for site in sites[:_SITES]] or [self._signature(None)]
        selected, left_out = select(candidates, self._structural)
        chosen = [self._accepted(s, accept) for s in selected]
        for signature in chosen:
            for argument in signature.arguments:
                self._findings.argument(argument, self._why(argument))
        told.extend(self._findings.told())
        if all(s.grid is None for s in chosen):
            message = f"the grid of `{self._kernel.name}` is not known: add `grid=(...)` to a directive"
            told.append(diagnostic("FT106", message, self._kernel.name_span))
        configs = max((s.configs for s in sites), default=0)
        if left_out or configs:
            told.append(diagnostic("FT107", _others(left_out, configs), self._kernel.name_span))
        return SignatureResult(tuple(chosen), tuple(told), MappingProxyType(self._examples))

    def _contradicted(self, site: Launch) -> bool:
        """Whether a launch passes an array of another rank than the kernel indexes: a path that is never taken."""
        for parameter, value in zip(self._parameters, site.arguments or (), strict=False):
            rank = self._usage.rank(parameter.arg)
            if not isinstance(value, Tensor) or value.rank is None or rank is None:
                continue
            if value.rank != rank and parameter.arg not in self._usage.conflicts:
                return True
        return False

    def _signature(self, site: Launch | None) -> Signature:
        passed: dict[str, Value] = {}
        equal: dict[str, str] = {}
        if site is not None and site.arguments is not None:
            passed = {p.arg: v for p, v in zip(self._parameters, site.arguments, strict=True)}
            equal = dict(site.equal)
        names = {p.arg for p in self._parameters}
        constant = [n for n, a in self._annotations.items() if a.role is Role.CONSTANT]
        symbols = Symbols(self._launches.names, self._launches.values, names, passed, equal, constant)
        for name, declared in self._directive.declared.items():
            symbols.declare(declared.extents or (), passed.get(name))
        constants = self._constants(passed)
        known = [v.dtype for v in passed.values() if isinstance(v, Tensor) and v.dtype is not None]
        known += [d.dtype for d in self._directive.declared.values() if d.extents is not None]
        arguments: list[Argument] = []
        for parameter in self._parameters:
            name = parameter.arg
            value = passed.get(name, UNKNOWN)
            arguments.append(constants.get(name) or self._argument(parameter, value, symbols, constants, known))
        for symbol, example in symbols.examples.items():
            self._examples.setdefault(symbol, example)
        whole = _with_extents(arguments, passed, symbols)
        values: dict[str, Constant] = {name: c.value for name, c in constants.items()}
        values |= {n: v for n, (v, _) in self._directive.constants.items()}
        made = Signature(self._kernel.name, whole)
        if self._directive.grid is not None:
            grid = factors(self._directive.grid, values, whole)
            named = tuple(tuple(_constant_name(t.tile, values) for t in axis) for axis in self._directive.grid)
            source = Source.DIRECTIVE if grid is not None else None
            return replace(made, grid=grid, grid_source=source, divided=() if grid is None else named)
        if site is None:
            return made
        tuned = self._tuned(site)
        made = replace(made, tuned=tuple(dict.fromkeys(t for t, _ in tuned)))
        launched = launched_grid(site.grid, symbols, values, whole)
        made = replace(made, site=Site(site.span, site.module, site.line))
        if launched is None:
            return made
        grids = [(launched_grid(grid, symbols, {**values, **dict(t)}, whole), t) for t, grid in tuned]
        multiples, divided = launched.multiples, divided_by(launched, values, grids)
        return replace(made, grid=launched.factors, grid_source=Source.LAUNCH, multiples=multiples, divided=divided)

    def _tuned(self, site: Launch) -> list[tuple[Tuned, Value]]:
        """The constants and the grid in the other configurations of a tuner."""
        found: list[tuple[Tuned, Value]] = []
        for items, grid in site.others:
            if len(items) == len(self._parameters):
                passed = {p.arg: v for p, v in zip(self._parameters, items, strict=True)}
                constants = self._constants(passed)
                if all(c.source is not Source.ASSUMED for c in constants.values()):
                    found.append((tuple((n, c.value) for n, c in constants.items()), grid))
        return found

    # Constants

    def _constants(self, passed: Mapping[str, Value]) -> dict[str, ConstantArgument]:
        result: dict[str, ConstantArgument] = {}
        used = {v.value for v in passed.values() if isinstance(v, Int)}
        free = iter([r for r in assume.REPRESENTATIVES if r not in used])
        for parameter in self._parameters:
            name, span = parameter.arg, self._module.span_of(parameter)
            given = self._directive.constants.get(name)
            annotation = self._annotations[name]
            if given is not None:
                result[name] = ConstantArgument(name, given[0], Source.DIRECTIVE, given[1])
            elif annotation.role is Role.CONSTANT:
                result[name] = self._constant(name, span, passed.get(name), annotation, free)
        tiles = {n: c.value for n, c in result.items() if self._usage.of(n).tile and type(c.value) is int}
        assumed = {n: value for n, value in tiles.items() if result[n].source is Source.ASSUMED}
        for name, size in assume.fitting(assumed, (v for n, v in tiles.items() if n not in assumed)).items():
            result[name] = replace(result[name], value=size)
        return result

    def _constant(
        self, name: str, span: Span, value: Value | None, annotation: Annotation, free: Iterator[int]
    ) -> ConstantArgument:
        launched = known_constant(value)
        if launched is not None and not (launched[0] is None and annotation.python is not None):
            return ConstantArgument(name, launched[0], Source.LAUNCH, span)
        default = self._defaults.get(name)
        literal = None if default is None else constant_value(self._module, default)
        if literal is not None:
            return ConstantArgument(name, literal[0], Source.ANNOTATION, span)
        assumed = assume.constant(self._usage.of(name), annotation, value, free)
        return ConstantArgument(name, assumed, Source.ASSUMED, span)

    # Arrays and scalars

    def _argument(
        self,
        parameter: ast.arg,
        value: Value,
        symbols: Symbols,
        constants: Mapping[str, ConstantArgument],
        known: list[DType],
    ) -> Argument:
        name, span = parameter.arg, self._module.span_of(parameter)
        declared = self._directive.declared.get(name)
        annotation, use = self._annotations[name], self._usage.of(name)
        if declared is not None:
            if declared.extents is None:
                return ScalarArgument(name, declared.dtype, Source.DIRECTIVE, declared.span)
            extents = tuple(_constant_extent(e, constants) for e in declared.extents)
            return ArrayArgument(name, declared.dtype, extents, Source.DIRECTIVE, declared.span)
        if annotation.role is Role.SCALAR and annotation.dtype is not None:
            return ScalarArgument(name, annotation.dtype, Source.ANNOTATION, span)
        if isinstance(value, Tensor) or use.array or annotation.role is Role.ARRAY:
            return self._array(name, span, value if isinstance(value, Tensor) else Tensor(), symbols, use, known)
        match self._defaults.get(name):
            case ast.Constant(value=bool() | int() | float() as default) if isinstance(value, Unknown):
                kind = BOOL if isinstance(default, bool) else I32 if isinstance(default, int) else F32
                return ScalarArgument(name, kind, Source.ANNOTATION, span)
            case _:
                pass
        dtype, launched = assume.scalar(use, value)
        return ScalarArgument(name, dtype, Source.LAUNCH if launched else Source.ASSUMED, span)

    def _array(
        self, name: str, span: Span, tensor: Tensor, symbols: Symbols, use: Use, known: list[DType]
    ) -> ArrayArgument:
        rank, rank_source = tensor.rank, Source.LAUNCH
        if rank is None:
            rank, rank_source = use.rank, Source.USAGE
        if rank is None:
            rank, rank_source = max(use.at_least, 1), Source.ASSUMED
        extents = tuple(
            symbols.of(_dim(tensor, axis, rank), self._usage.extent_names.get((name, axis))) for axis in range(rank)
        )
        dtype = tensor.dtype
        if dtype is None:
            dtype, why = assume.element_type(use, tensor, known)
            self._reasons[name] = dtype, why
        source = Source.LAUNCH if tensor.dtype is not None else Source.ASSUMED
        return ArrayArgument(name, dtype, extents, source, span, rank_source)


def _constant_name(tile: str | int, constants: Mapping[str, Constant]) -> str | None:
    return tile if isinstance(tile, str) and tile in constants else None


def _with_extents(arguments: list[Argument], passed: Mapping[str, Value], symbols: Symbols) -> tuple[Argument, ...]:
    """Run-time integers that are an array's extent at the launch say so."""
    extents = {e for a in arguments if isinstance(a, ArrayArgument) for e in a.extents if isinstance(e, str)}
    made: list[Argument] = []
    for argument in arguments:
        value = passed.get(argument.name)
        if isinstance(argument, ScalarArgument) and argument.dtype.identical(I32) and isinstance(value, Int):
            symbol = symbols.named(value)
            argument = replace(argument, extent=symbol) if symbol in extents else argument
        made.append(argument)
    return tuple(made)


def _dim(tensor: Tensor, axis: int, rank: int) -> Int:
    """An extent, the same for a tensor that is passed twice; one that host code counted from the end is found too."""
    if axis not in tensor.dims and tensor.rank is None and axis - rank in tensor.dims:
        return tensor.dims[axis - rank]
    return extent(tensor, Int(axis))


def known_constant(value: Value | None) -> tuple[Constant] | None:
    """The value of a constant at a launch, wrapped; None where it is not known."""
    match value:
        case Int(value=int(number)):
            return (number,)
        case Known(value=known):
            return (known,)
        case Ratio(top=Int(value=int(a)), bottom=Int(value=int(b))) if b:
            return (a / b,)
        case ElementType(dtype=DType() as dtype):
            return (dtype,)
        case Sequence(items=items):
            inner = [known_constant(i) for i in items]
            return (tuple(i[0] for i in inner if i is not None),) if None not in inner else None
        case _:
            return None


def _constant_extent(extent: str | int, constants: Mapping[str, ConstantArgument]) -> str | int:
    constant = constants.get(extent) if isinstance(extent, str) else None
    if constant is not None and isinstance(constant.value, int) and not isinstance(constant.value, bool):
        return constant.value if constant.source is Source.DIRECTIVE else extent
    return extent


def _others(left_out: list[Signature], configs: int) -> str:
    parts = []
    if left_out:
        lines = ", ".join(dict.fromkeys(p for s in left_out if (p := _place(s))))
        told = "1 more launch signature is" if len(left_out) == 1 else f"{len(left_out)} more launch signatures are"
        parts.append(f"{told} not translated{f' ({lines})' if lines else ''}")
    if configs:
        parts.append(f"a tuner may take {configs} other configurations; the first is translated")
    return "; ".join(parts)


def _place(signature: Signature) -> str:
    site = signature.site
    return f"{site.module}:{site.line}" if site is not None and site.module else ""

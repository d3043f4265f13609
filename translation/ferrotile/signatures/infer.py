"""The signatures of a kernel, merged by strength: directive, annotation, launch sites, usage."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic, Fix
from ferrotile.program.dtypes import BOOL, F32, I32, DType
from ferrotile.signatures.annotations import Annotation, Role, read_annotation
from ferrotile.signatures.directive import Directive, read_directive
from ferrotile.signatures.launch import Launch, Launches, collect_launches
from ferrotile.signatures.model import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    GridFactor,
    ScalarArgument,
    Signature,
    Source,
)
from ferrotile.signatures.symbols import Symbols
from ferrotile.signatures.usage import Usage, read_usage
from ferrotile.signatures.values import (
    Constant,
    ElementType,
    FloatValue,
    Grid,
    Int,
    Known,
    Ratio,
    Sequence,
    Shape,
    Tensor,
    Term,
    Value,
)
from ferrotile.syntax.module import FunctionSource, Module
from ferrotile.syntax.span import NOWHERE, Span

_REPRESENTATIVES = (64, 32, 16, 128, 8, 256, 4, 2)
"""Values assumed for tile sizes that nothing gives: distinct, so that a mix-up of two shows."""


@dataclass(frozen=True, slots=True)
class SignatureResult:
    """`signatures` is empty where an argument stays unknown. `example_extents` gives the extents of a launch
    site for symbols, to run the kernel with."""

    signatures: tuple[Signature, ...]
    diagnostics: tuple[Diagnostic, ...]
    example_extents: Mapping[str, int]


def infer_signatures(
    module: Module, kernel: FunctionSource, launches: Launches | None = None
) -> SignatureResult:
    """All distinct signatures of `kernel`. For several kernels pass `collect_launches(module)`."""
    found = collect_launches(module) if launches is None else launches
    return _Inference(module, kernel, found).infer()


class _Inference:
    def __init__(self, module: Module, kernel: FunctionSource, launches: Launches) -> None:
        self._module = module
        self._kernel = kernel
        self._names = launches.names
        arguments = kernel.node.args
        self._parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        defaults = dict(
            zip(reversed([p.arg for p in self._parameters]), reversed(arguments.defaults), strict=False)
        )
        self._defaults: dict[str, ast.expr] = defaults
        self._directive: Directive = read_directive(module.document.comments_above(kernel.span.start))
        self._usage: Usage = read_usage(module, kernel.node)
        count = len(self._parameters)
        mine = [s for s in launches.sites if s.kernel == kernel.name]
        self._sites = [s for s in mine if s.arguments is not None and len(s.arguments) == count]
        self._values = launches.values
        self._found: list[Diagnostic] = [*self._directive.diagnostics]
        self._missing: dict[str, tuple[str, str, Span]] = {}
        self._guesses: dict[str, str] = {}
        self._examples: dict[str, int] = {}

    def infer(self) -> SignatureResult:
        self._check_directive()
        signatures: list[Signature] = []
        sites: list[Launch | None] = [*self._sites]
        for site in sites or [None]:
            signature = self._signature(site)
            if signature is not None and not any(_same(signature, s) for s in signatures):
                signatures.append(signature)
        if signatures:
            # What one launch site leaves open is no finding where another tells it; what was assumed is.
            assumed = {a.name for s in signatures for a in s.arguments if a.source is Source.ASSUMED}
            self._missing = {k: m for k, m in self._missing.items() if k in assumed}
        fix = self._fix() if self._missing else None
        for code, message, span in self._missing.values():
            self._found.append(diagnostic(code, message, span, fix=fix))
        if signatures and all(s.grid is None for s in signatures):
            message = f"the grid of `{self._kernel.name}` is not known: add `grid=(...)` to a directive"
            self._found.append(diagnostic("FT106", message, self._kernel.name_span))
        return SignatureResult(tuple(signatures), tuple(self._found), MappingProxyType(self._examples))

    def _check_directive(self) -> None:
        names = {p.arg for p in self._parameters}
        symbols = {
            e for d in self._directive.declared.values() for e in d.extents or () if isinstance(e, str)
        }
        for name, declared in self._directive.declared.items():
            if name not in names:
                self._found.append(
                    diagnostic(
                        "FT104",
                        f"directive: `{name}` is no parameter of `{self._kernel.name}`",
                        declared.span,
                    )
                )
            elif (
                (rank := self._usage.rank.get(name)) is not None
                and declared.extents is not None
                and len(declared.extents) != rank
            ):
                axes = len(declared.extents)
                message = f"directive gives `{name}` {axes} axes; the kernel indexes it with {rank}"
                self._found.append(diagnostic("FT105", message, declared.span))
            elif self._annotation(name).role is Role.CONSTANT:
                message = f"`{name}` is annotated as a constant: write `{name}=VALUE`"
                self._found.append(diagnostic("FT105", message, declared.span))
        for name, (_, span) in self._directive.constants.items():
            if name not in names and name not in symbols:
                self._found.append(
                    diagnostic("FT104", f"directive: `{name}` is no parameter of `{self._kernel.name}`", span)
                )

    def _annotation(self, name: str) -> Annotation:
        parameter = next((p for p in self._parameters if p.arg == name), None)
        return read_annotation(self._module, None if parameter is None else parameter.annotation)

    def _signature(self, site: Launch | None) -> Signature | None:
        passed: dict[str, Value] = {}
        if site is not None and site.arguments is not None:
            passed = {p.arg: v for p, v in zip(self._parameters, site.arguments, strict=True)}
        symbols = Symbols(self._names, self._values, {p.arg for p in self._parameters}, passed)
        for name, declared in self._directive.declared.items():
            symbols.declare(declared.extents or (), passed.get(name))
        constants = self._constants(passed)
        arguments: list[Argument | None] = []
        for parameter in self._parameters:
            if parameter.arg in constants:
                arguments.append(constants[parameter.arg])
            else:
                arguments.append(self._argument(parameter, passed.get(parameter.arg), symbols, constants))
        if any(a is None for a in arguments):
            return None
        known = tuple(a for a in arguments if a is not None)
        for symbol, value in symbols.examples.items():
            self._examples.setdefault(symbol, value)
        return Signature(self._kernel.name, known, self._grid(site, symbols, constants, known))

    # Constants

    def _constants(self, passed: Mapping[str, Value]) -> dict[str, ConstantArgument | None]:
        result: dict[str, ConstantArgument | None] = {}
        used = {v.value for v in passed.values() if isinstance(v, Int)}
        free = iter([r for r in _REPRESENTATIVES if r not in used])
        for parameter in self._parameters:
            name, span = parameter.arg, self._module.span_of(parameter)
            given = self._directive.constants.get(name)
            annotation = read_annotation(self._module, parameter.annotation)
            if given is not None:
                result[name] = ConstantArgument(name, given[0], Source.DIRECTIVE, given[1])
            elif annotation.role is Role.CONSTANT:
                result[name] = self._constant(name, span, passed.get(name), annotation, free)
        return result

    def _constant(
        self, name: str, span: Span, value: Value | None, annotation: Annotation, free: Iterator[int]
    ) -> ConstantArgument | None:
        match value:
            case Int(value=int(number)):
                return ConstantArgument(name, number, Source.LAUNCH, span)
            case Known(value=known):
                return ConstantArgument(name, known, Source.LAUNCH, span)
            case Ratio(top=Int(value=int(a)), bottom=Int(value=int(b))) if b:
                return ConstantArgument(name, a / b, Source.LAUNCH, span)
            case _:
                pass
        default = self._defaults.get(name)
        if isinstance(default, ast.Constant) and isinstance(default.value, int | float | str | bool | None):
            return ConstantArgument(name, default.value, Source.ANNOTATION, span)
        if name in self._usage.tile_sizes and annotation.python in (None, "int"):
            assumed = next(free, None)
            if assumed is not None:
                self._guesses[name] = f"{name}={assumed}"
                return ConstantArgument(name, assumed, Source.ASSUMED, span)
        self._guesses[name] = (
            f"{name}={ {'bool': 'False', 'float': '1.0'}.get(annotation.python or '', '1') }"
        )
        self._miss(
            name, "FT103", f"the value of constant `{name}` is not known: give it in a directive", span
        )
        return None

    # Arrays and scalars

    def _argument(
        self,
        parameter: ast.arg,
        value: Value | None,
        symbols: Symbols,
        constants: Mapping[str, ConstantArgument | None],
    ) -> Argument | None:
        name, span = parameter.arg, self._module.span_of(parameter)
        declared = self._directive.declared.get(name)
        annotation = read_annotation(self._module, parameter.annotation)
        if declared is not None:
            if declared.extents is None:
                return ScalarArgument(name, declared.dtype, Source.DIRECTIVE, declared.span)
            extents = tuple(_constant_extent(e, constants) for e in declared.extents)
            return ArrayArgument(name, declared.dtype, extents, Source.DIRECTIVE, declared.span)
        if annotation.role is Role.SCALAR and annotation.dtype is not None:
            return ScalarArgument(name, annotation.dtype, Source.ANNOTATION, span)
        if isinstance(value, Tensor) or name in self._usage.arrays or annotation.role is Role.ARRAY:
            return self._array(name, span, value if isinstance(value, Tensor) else Tensor(), symbols)
        scalar = _scalar_type(value)
        if scalar is not None:
            return ScalarArgument(name, scalar, Source.LAUNCH, span)
        default = self._defaults.get(name)
        if isinstance(default, ast.Constant) and isinstance(default.value, bool | int | float):
            kind = BOOL if isinstance(default.value, bool) else I32 if isinstance(default.value, int) else F32
            return ScalarArgument(name, kind, Source.ANNOTATION, span)
        self._guesses[name] = f"{name}: f32"
        self._miss(name, "FT101", f"the type of `{name}` is not known: give it in a directive", span)
        return None

    def _array(self, name: str, span: Span, tensor: Tensor, symbols: Symbols) -> ArrayArgument | None:
        rank = tensor.rank if tensor.rank is not None else self._usage.rank.get(name)
        if rank is None:
            rank = self._usage.at_least.get(name)
        if rank is None:
            self._guesses[name] = f"{name}: {tensor.dtype or 'f32'}[N]"
            self._miss(
                name, "FT102", f"the rank of `{name}` is not known: give its extents in a directive", span
            )
            return None
        extents = tuple(
            symbols.of(tensor.dims.get(axis), self._usage.extent_names.get((name, axis)))
            for axis in range(rank)
        )
        self._guesses[name] = f"{name}: {tensor.dtype or 'f32'}[{', '.join(map(str, extents))}]"
        launched = tensor.dtype is not None
        if not launched:
            message = f"the element type of `{name}` is not known: give it in a directive; f32 is assumed"
            self._miss(name, "FT101", message, span)
        dtype = tensor.dtype if tensor.dtype is not None else F32
        return ArrayArgument(name, dtype, extents, Source.LAUNCH if launched else Source.ASSUMED, span)

    # Grid

    def _grid(
        self,
        site: Launch | None,
        symbols: Symbols,
        constants: Mapping[str, ConstantArgument | None],
        arguments: tuple[Argument, ...],
    ) -> tuple[tuple[GridFactor, ...], ...] | None:
        extents = {e for a in arguments if isinstance(a, ArrayArgument) for e in a.extents}
        values = {name: c.value for name, c in constants.items() if c is not None}
        values |= {n: v for n, (v, _) in self._directive.constants.items()}
        if self._directive.grid is not None:
            return _factors(self._directive.grid, extents, values)
        if site is None:
            return None
        axes = site.grid.items if isinstance(site.grid, Sequence) else (site.grid,)
        grid: list[tuple[Term, ...]] = []
        for axis in axes:
            terms = axis.as_terms() if isinstance(axis, Int) else None
            if terms is None:
                return None
            resolved = [symbols.term(t, values) for t in terms]
            if any(t is None for t in resolved):
                return None
            grid.append(tuple(t for t in resolved if t is not None and t != Term(1, 1)))
        while grid and not grid[-1]:
            grid.pop()
        return _factors(tuple(grid), extents, values)

    # Findings

    def _miss(self, name: str, code: str, message: str, span: Span) -> None:
        self._missing.setdefault(name, (code, message, self._kernel.name_span if span == NOWHERE else span))

    def _fix(self) -> Fix:
        entries = ", ".join(self._guesses[n] for n in self._missing if n in self._guesses)
        at = self._kernel.span.start
        lines = self._module.document.lines
        start = lines.line_start(lines.line_of(at))
        indent = self._module.document.data[start:at].decode("utf-8", "replace")
        text = f"# ferrotile: {entries}\n{indent if not indent.strip() else ''}"
        return Fix("Say it in a `# ferrotile:` directive", Span(at, at), text)


def _constant_extent(extent: str | int, constants: Mapping[str, ConstantArgument | None]) -> str | int:
    constant = constants.get(extent) if isinstance(extent, str) else None
    if constant is not None and isinstance(constant.value, int) and not isinstance(constant.value, bool):
        return constant.value if constant.source is Source.DIRECTIVE else extent
    return extent


def _scalar_type(value: Value | None) -> DType | None:
    match value:
        case Int():
            return I32
        case Known(value=bool()):
            return BOOL
        case Known(value=float()) | FloatValue() | Ratio():
            return F32
        case ElementType() | Shape() | None:
            return None
        case _:
            return None


def _factors(
    grid: Grid, extents: set[str | int], constants: Mapping[str, Constant]
) -> tuple[tuple[GridFactor, ...], ...] | None:
    """Grid terms as factors; None where a term names what is no extent and no known constant."""
    axes: list[tuple[GridFactor, ...]] = []
    for axis in grid:
        factors: list[GridFactor] = []
        for term in axis:
            extent: Constant = term.extent
            tile: Constant = term.tile
            if isinstance(extent, str) and extent not in extents:
                extent = constants.get(extent)
            if isinstance(tile, str):
                tile = constants.get(tile)
            if not isinstance(extent, str | int) or not isinstance(tile, int) or tile < 1:
                return None
            factors.append(GridFactor(extent, tile))
        axes.append(tuple(factors))
    return tuple(axes)


def _same(a: Signature, b: Signature) -> bool:
    """Equal but for the places that the arguments come from."""

    def plain(signature: Signature) -> tuple[object, ...]:
        parts: list[object] = [signature.grid]
        for argument in signature.arguments:
            match argument:
                case ArrayArgument(name=name, dtype=dtype, extents=extents):
                    parts.append((name, dtype, extents))
                case ScalarArgument(name=name, dtype=dtype):
                    parts.append((name, dtype))
                case ConstantArgument(name=name, value=value):
                    parts.append((name, type(value), value))
        return tuple(parts)

    return plain(a) == plain(b)

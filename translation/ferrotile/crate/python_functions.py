"""The functions for Python of a crate's kernels, as Rust and as a stub: each calls a host function."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ferrotile.crate.host_text import HALVES, FunctionNames
from ferrotile.crate.model import Refused
from ferrotile.crate.modules import Kernel, RustModule
from ferrotile.crate.names import Names
from ferrotile.crate.plan import Planned
from ferrotile.crate.writing import docs, header, put, struct_value, unsafe_call
from ferrotile.program.dtypes import DType
from ferrotile.signatures.model import ArrayArgument, ScalarArgument

ELEMENTS: Mapping[str, str] = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e8m0fnu": "float8_e8m0fnu",
}  # fmt: skip
"""What Python calls the element types that DLPack has."""
GENERIC = "float16, bfloat16 or float32"
_APART = 2
"""Element types that are chosen apart; of more, all are one, since the compiler makes each combination."""
_LOCAL = ("py", "stream", "call", "gpu", "config", "grid")
_SCALARS = {"f32": "float", "f64": "float", "f16": "float", "bf16": "float", "bool": "bool"}


class PythonFunction(Struct, frozen=True):
    """One kernel's function. `types`: half types that its Rust imports; `generic`: whether it looks at an element type
    first; `shown`: the call, for people."""

    module: str
    name: str
    rust: tuple[str, ...]
    stub: tuple[str, ...]
    types: frozenset[str]
    generic: bool
    shown: str


class _Argument(Struct, frozen=True):
    """`name`: in Python and in the function; `default`: of a constant."""

    name: str
    rust: str
    stub: str
    default: str | None = None


def python_functions(
    crate: str, modules: Sequence[RustModule]
) -> tuple[tuple[PythonFunction, ...], tuple[Refused, ...]]:
    """A function for each kernel with host functions, and the kernels that have none, with the reason. `crate`: as code
    says it."""
    scope = Names(keyword.kwlist)
    made: list[PythonFunction] = []
    refused: list[Refused] = []
    for module in modules:
        for kernel in module.kernels:
            if kernel.host is None:
                continue
            planned = kernel.planned
            strange = [a for a in planned.arrays if a.dtype.variable is None and a.dtype.name not in ELEMENTS]
            if strange:
                reason = f"DLPack has no elements of the type {strange[0].dtype}, which `{strange[0].name}` has"
                refused.append(Refused(module.name, planned.entry.name, reason))
                continue
            plain = kernel.host.names.plain
            made.append(_Function(crate, module, kernel, scope.take(plain, f"{module.name}_{plain}")).made())
    return tuple(made), tuple(refused)


class _Function:
    def __init__(self, crate: str, module: RustModule, kernel: Kernel, name: str) -> None:
        assert kernel.host is not None
        self.module, self.name = module, name
        self.path = f"{crate}::{module.name}"
        self.planned: Planned = kernel.planned
        self.names: FunctionNames = kernel.host.names
        self.launch = kernel.host.launch
        self.types: set[str] = set()
        scope = Names((*_LOCAL, *keyword.kwlist))
        self.local = {name: scope.take(name) for name in self._passed()}
        self.constants = {c: scope.take(c) for c in self.planned.config}

    def _passed(self) -> list[str]:
        names = {a.name for a in self.planned.arrays} | {a.name for a in self._scalars()}
        return [a.name for a in self.planned.signature.arguments if a.name in names]

    def _scalars(self) -> tuple[ScalarArgument, ...]:
        return tuple(a for a in self.planned.scalars if a.extent is None)

    def _arguments(self) -> list[_Argument]:
        """In the order of the Python kernel; then, by name alone, constants and the grid."""
        made: list[_Argument] = []
        for argument in self.planned.signature.arguments:
            name = self.local.get(argument.name, "")
            if isinstance(argument, ArrayArgument):
                made.append(_Argument(name, "&Bound<'_, PyAny>", "_Tensor"))
            elif isinstance(argument, ScalarArgument) and argument.extent is None:
                kind = argument.dtype.name
                made.append(_Argument(name, "f32" if kind in HALVES else kind, _SCALARS.get(kind, "int")))
        return made

    def _named(self) -> list[_Argument]:
        made = [
            _Argument(name, "i32", "int", str(self.planned.value(constant)))
            for constant, name in self.constants.items()
        ]
        if self.launch.grid_argument:
            made.insert(0, _Argument("grid", "(u32, u32, u32)", "tuple[int, int, int]"))
        return [*made, _Argument("stream", "Option<&Bound<'_, PyAny>>", "_Stream | None", "None")]

    def made(self) -> PythonFunction:
        arguments, named = self._arguments(), self._named()
        given = [a.name + (f" = {a.default}" if a.default else "") for a in named]
        signature = ", ".join([*(a.name for a in arguments), "*", *given])
        lines = [line.lstrip() for line in docs(self._about(), 4)]
        lines += ["#[pyfunction]", f"#[pyo3(signature = ({signature}))]"]
        parameters = ["py: Python<'_>", *(f"{a.name}: {a.rust}" for a in (*arguments, *named))]
        lines += ["#[allow(clippy::too_many_arguments)]"] if len(parameters) > 7 else []
        lines += header(f"fn {self.name}", parameters, " -> PyResult<()>", 4)
        rust = (*(f"    {line}".rstrip() for line in lines), *self._body(), "    }")
        stub = self._stub(arguments, named)
        shown = f"{self.name}({', '.join([*(a.name for a in arguments), *(f'{a.name}=...' for a in named)])})"
        return PythonFunction(
            self.module.name, self.name, rust, stub, frozenset(self.types), bool(self._variables()), shown
        )

    def _stub(self, arguments: Sequence[_Argument], named: Sequence[_Argument]) -> tuple[str, ...]:
        each = [f"{a.name}: {a.stub}" for a in arguments]
        each += ["*", *(f"{a.name}: {a.stub}" + (f" = {a.default}" if a.default else "") for a in named)]
        about = self._about().split("\n")
        text = [f"    {line}".rstrip() for line in ['"""' + about[0], *about[1:], '"""']]
        return (f"def {self.name}(", *(f"    {one}," for one in each), ") -> None:", *text)

    # Documentation

    def _about(self) -> str:
        planned, path = self.planned, self.module.file.path
        source = planned.source
        written = "" if source is None else ast.get_docstring(source.node) or ""
        first = written.split("\n\n")[0].replace("\n", " ").replace("\\", "").replace('"""', "'''").strip()
        outputs = " and ".join(f"`{self.local[a.name]}`" for a in planned.arrays if a.name in planned.written)
        first = first or f"The kernel `{planned.kernel.name}` of {path}."
        text = [f"{first}{'' if first.endswith('.') else '.'} Writes {outputs}."]
        text.append("\n".join(self._shape(a) for a in planned.arrays))
        if len(self._variables()) > _APART:
            text.append("All tensors of several element types have the same one.")
        fixed = [f"`{n}` = {v}" for n, v in planned.fixed.items() if v is not None]
        text += [f"Fixed as at the launch in Python: {', '.join(fixed)}."] if fixed else []
        if self.launch.promises:
            text.append("Not checked, as in the Python:")
            text.append("\n".join(f"- {p}" for p in self.launch.promises))
        return "\n\n".join(text)

    def _shape(self, array: ArrayArgument) -> str:
        kind = ELEMENTS.get(array.dtype.name, "") if array.dtype.variable is None else GENERIC
        return f"- `{self.local[array.name]}`: {kind}, [{', '.join(map(str, array.extents))}]"

    # The body

    def _variables(self) -> list[str]:
        return [g.name for g in self.planned.generics if g.type]

    def _dtype(self, dtype: DType) -> str:
        if dtype.variable is not None:
            return dtype.variable
        if dtype.name in HALVES:
            self.types.add(dtype.name)
        elif dtype.name.startswith("f8"):
            return f"cutile::cuda_core::{dtype.name}"
        return dtype.name

    def _body(self) -> list[str]:
        lines = [f'        let mut call = Call::new("{self.planned.entry.name}", stream)?;']
        variables = self._variables()
        first = {v: next(a for a in self.planned.arrays if a.dtype.variable == v) for v in variables}
        if variables:
            self.types |= set(HALVES)
        depth = 8
        alone, alike = (variables, []) if len(variables) <= _APART else (variables[:1], variables[1:])
        for variable in alone:
            name = self.local[first[variable].name]
            lines.append(f'{" " * depth}let element = call.given("{name}", {name})?;')
            lines.append(f"{' ' * depth}with_float! {{ {variable} = element => {{")
            depth += 4
        lines += [f"{' ' * depth}type {variable} = {alone[0]};" for variable in alike]
        lines += self._launch(depth)
        for _ in alone:
            depth -= 4
            lines.append(f"{' ' * depth}}}}}")
        return lines

    def _launch(self, depth: int) -> list[str]:
        planned, lines, space = self.planned, list[str](), " " * depth
        for array in planned.arrays:
            name, how = self.local[array.name], "write" if array.name in planned.written else "read"
            put(lines, depth, f"let {name} = ", f"call.{how}::<{self._dtype(array.dtype)}>", (f'"{name}"', name), "?;")
        lines.append(f"{space}let gpu = call.gpu()?;")
        passed: list[str] = []
        for argument in planned.signature.arguments:
            name = self.local.get(argument.name, "")
            if isinstance(argument, ArrayArgument):
                mutable = "mut " if argument.name in planned.written else ""
                lines.append(f"{space}let {mutable}{name} = gpu.tensor({name});")
                passed.append(f"&{mutable}{name}")
            elif isinstance(argument, ScalarArgument) and argument.extent is None:
                half = argument.dtype.name in HALVES
                passed.append(f"{self._dtype(argument.dtype)}::from_f32({name})" if half else name)
        if self.constants:
            fields = {Names().take(c): name for c, name in self.constants.items()}
            each = [f if f == name else f"{f}: {name}" for f, name in fields.items()]
            struct_value(lines, depth, f"let config = {self.path}::{self.names.config}", each, ";")
            passed.append("config")
        passed += ["grid"] if self.launch.grid_argument else []
        name = f"{self.path}::{self.names.op}"
        if self.launch.promises:
            lines.append(f"{space}// SAFETY: what this asks for, the caller promises as with the Python kernel.")
            unsafe_call(lines, depth, "let op = ", name, passed, ";")
        else:
            put(lines, depth, "let op = ", name, passed)
        lines.append(f"{space}gpu.launch(py, op)")
        return lines

"""The host functions of one kernel as Rust: one that makes its outputs, one that writes given ones, a lazy one."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from msgspec import Struct

from ferrotile.crate.host_model import Bind, Check, Host, Let, scalar_arguments
from ferrotile.crate.names import Names
from ferrotile.crate.plan import Generic, Planned
from ferrotile.crate.writing import (
    STRUCT_WIDTH,
    bracketed,
    call_parts,
    docs,
    header,
    put,
    struct_value,
    unsafe_call,
)
from ferrotile.program.dtypes import DType
from ferrotile.rust.layout import CALL_WIDTH
from ferrotile.rust.targets.cutile_0_5 import OPT_LEVEL
from ferrotile.signatures.model import ArrayArgument

HALVES = ("f16", "bf16")
OF_CUDA_CORE = ("tf32", "f8e4m3fn", "f8e5m2", "f8e8m0fnu")
MADE = frozenset(("f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"))
"""Element types that `cutile::api::zeros` makes."""


class FunctionNames(Struct, frozen=True):
    """What the functions of a kernel are called."""

    plain: str
    into: str
    op: str
    config: str


class HostText(Struct, frozen=True):
    """Rust items, and what they need: element types to import, methods and types of the launch module."""

    names: FunctionNames
    lines: tuple[str, ...]
    types: frozenset[str]
    uses: frozenset[str]
    makes: tuple[str, ...]
    """Arrays that `plain` makes and gives back; empty: there is no such function."""
    launch: Host


class _Text:
    def __init__(self, host: Host, names: FunctionNames, link: str) -> None:
        self.host, self.names, self.link = host, names, link
        self.planned: Planned = host.planned
        self.types: set[str] = set()
        self.unsafe = "unsafe " if host.promises else ""
        arrays = {a.name: a for a in self.planned.arrays}
        made = host.made if all(str(arrays[n].dtype) in MADE or arrays[n].dtype.variable for n in host.made) else {}
        pure = {n for n in self.planned.written if n not in self.planned.reach.read}
        self.makes = tuple(a.name for a in self.planned.arrays if a.name in made) if set(made) == pure else ()

    # Types

    def dtype(self, dtype: DType) -> str:
        if dtype.variable is not None:
            return dtype.variable
        name = dtype.name
        if name in HALVES or name in OF_CUDA_CORE:
            self.types.add(name)
        return name

    def variables(self) -> list[str]:
        return [g.name for g in self.planned.generics if g.type]

    def generic(self, *lifetimes: str) -> str:
        inside = [*lifetimes, *(f"{v}: Float" for v in self.variables())]
        return f"<{', '.join(inside)}>" if inside else ""

    def array(self, array: ArrayArgument, lifetime: str = "") -> str:
        mutable = "mut " if array.name in self.planned.written else ""
        name = self.host.names[array.name]
        return f"{name}: &{lifetime}{mutable}Tensor<{self.dtype(array.dtype)}>"

    def parameters(self, lifetime: str = "", without: Sequence[str] = ()) -> list[str]:
        made = []
        scalars = {a.name: a for a in scalar_arguments(self.planned)}
        arrays = {a.name: a for a in self.planned.arrays}
        for argument in self.planned.signature.arguments:
            if argument.name in arrays and argument.name not in without:
                made.append(self.array(arrays[argument.name], lifetime))
            elif argument.name in scalars:
                made.append(f"{self.host.names[argument.name]}: {self.dtype(scalars[argument.name].dtype)}")
        if self.planned.config:
            made.append(f"config: {self.names.config}")
        if self.host.grid_argument:
            made.append("grid: (u32, u32, u32)")
        return made

    def passed(self, reference: Sequence[str] = ()) -> list[str]:
        scalars = {a.name for a in scalar_arguments(self.planned)}
        arrays = {a.name for a in self.planned.arrays}
        made = []
        for argument in self.planned.signature.arguments:
            name = self.host.names.get(argument.name, "")
            if argument.name in arrays:
                made.append(f"&mut {name}" if argument.name in reference else name)
            elif argument.name in scalars:
                made.append(name)
        return [*made, *(["config"] if self.planned.config else []), *(["grid"] if self.host.grid_argument else [])]

    # Documentation

    def about(self, what: str) -> list[str]:
        planned = self.planned
        source = planned.source
        written = "" if source is None else ast.get_docstring(source.node) or ""
        first = written.split("\n\n")[0].replace("\n", " ").strip()
        python = "" if source is None else ast.unparse(source.node.args)
        text = f"{first or f'The kernel `{planned.kernel.name}`'}{'' if first.endswith('.') else '.'} {what}\n\n"
        text += f"Python: `{planned.kernel.name}({python})`, {self.link}.\n\n"
        for argument in planned.arrays:
            extents = ", ".join(map(str, argument.extents))
            text += f"- `{self.host.names[argument.name]}: {argument.dtype}[{extents}]`\n"
        fixed = [f"`{n}` = {v}" for n, v in planned.fixed.items() if v is not None]
        if fixed:
            text += f"\nFixed as at the launch in Python: {', '.join(fixed)}.\n"
        if planned.signature.grid is None:
            text += (
                "\nThe Python's grid is not known: pass it.\n"
                if self.host.grid_argument
                else "\nThe Python's grid is not known: this launches one block a tile.\n"
            )
        text += "\n# Errors\n\nWhere an argument does not fit the kernel; the message says which and why.\n"
        if self.host.promises:
            text += "\n# Safety\n\nThe caller promises that\n\n"
            text += "".join(f"- {p}\n" for p in self.host.promises)
            if any("lies inside" in p for p in self.host.promises):
                text += "\nAn export with `--checks keep` checks the indices of tiles in the kernel.\n"
        return docs(text.rstrip("\n"))

    def allow(self, parameters: Sequence[str]) -> list[str]:
        return ["#[allow(clippy::too_many_arguments)]"] if len(parameters) > 7 else []

    # Functions

    def config(self) -> list[str]:
        if not self.planned.config:
            return []
        fields = [(Names().take(c), c, self.planned.value(c)) for c in self.planned.config]
        lines = docs(f"Constants of [`{self.names.into}`]; the default is what the Python is launched with.")
        lines += ["#[derive(Clone, Copy, Debug, PartialEq, Eq)]", f"pub struct {self.names.config} {{"]
        for name, constant, _ in fields:
            lines += [f"    /// `{constant}`.", f"    pub {name}: i32,"]
        lines += ["}", "", f"impl Default for {self.names.config} {{", "    fn default() -> Self {"]
        struct_value(lines, 8, "Self", [f"{name}: {value}" for name, _, value in fields])
        return [*lines, "    }", "}", "", *self._candidates([name for name, _, _ in fields])]

    def _candidates(self, names: Sequence[str]) -> list[str]:
        """What the Python's tuner chooses from."""
        found = self.planned.candidates
        if not found:
            return []
        each = [", ".join(f"{n}: {v}" for n, v in zip(names, one, strict=True)) for one in found]
        about = "What the Python's tuner chooses from, the default first. The GPU and the sizes tell which is fastest."
        lines = [f"impl {self.names.config} {{", *docs(about, 4)]
        head = f"pub const CANDIDATES: [Self; {len(found)}] = "
        if all(len(one) <= STRUCT_WIDTH for one in each):
            bracketed(lines, 4, head, [f"Self {{ {one} }}" for one in each], ";")
        else:
            lines.append(f"    {head}[")
            for one in each:
                struct_value(lines, 8, "Self", one.split(", "), ",")
            lines.append("    ];")
        return [*lines, "}", ""]

    def plain(self) -> list[str]:
        if not self.makes:
            return []
        planned, host = self.planned, self.host
        arrays = {a.name: a for a in planned.arrays}
        types = [f"Tensor<{self.dtype(arrays[n].dtype)}>" for n in self.makes]
        result = types[0] if len(types) == 1 else f"({', '.join(types)})"
        parameters = self.parameters(without=self.makes)
        made = " and ".join(f"`{host.names[n]}`" for n in self.makes)
        lines = self.about(f"Makes {made}: 0 where the kernel writes nothing.")
        lines += self.allow(parameters)
        lines += ["#[allow(clippy::type_complexity)]"] if len(self.makes) > 2 else []
        head = f"pub {self.unsafe}fn {self.names.plain}{self.generic()}"
        lines += header(head, parameters, f" -> Result<{result}, Error>")
        needed = {e for n in self.makes for e in host.made[n] if not e.isdigit()}
        bindings = self._bindings(needed)
        if bindings:
            lines += [f'    let launch = Launch("{planned.entry.name}");', *bindings]
        for name in self.makes:
            extents = [self._extent(e) for e in host.made[name]]
            kind = self.dtype(arrays[name].dtype)
            rust = host.names[name]
            shape = f"[{', '.join(extents)}]"
            whole = f"    let mut {rust} = api::zeros::<{kind}>(&{shape}).sync()?;"
            if len(whole) - len(f"    let mut {rust} = ;") <= 60:
                lines.append(whole)
            else:
                bracketed(lines, 4, "let shape = ", extents, ";")
                lines.append(f"    let mut {rust} = api::zeros::<{kind}>(&shape).sync()?;")
        self._call(lines, "", self.names.into, self.passed(self.makes), "?;")
        given = [host.names[n] for n in self.makes]
        shown = given[0] if len(given) == 1 else f"({', '.join(given)})"
        return [*lines, f"    Ok({shown})", "}", ""]

    def _bindings(self, needed: set[str]) -> list[str]:
        """The extents that the outputs have, from the arguments that have them."""
        left = {e for e in needed if e not in self.planned.config and e not in self.planned.fixed}
        lines: list[str] = []
        for array in self.planned.arrays:
            if array.name in self.makes or not left & {e for e in array.extents if isinstance(e, str)}:
                continue
            rust = self.host.names[array.name]
            parts = []
            for extent in array.extents:
                if isinstance(extent, str) and extent in left:
                    parts.append(self.host.variables[extent])
                    left.discard(extent)
                else:
                    parts.append("_")
            lines.append(f'    let [{", ".join(parts)}] = launch.tensor("{rust}", {rust})?;')
        return lines

    def _extent(self, extent: str) -> str:
        if extent.isdigit():
            return extent
        if extent in self.planned.config:
            return f"config.{Names().take(extent)} as usize"
        if extent in self.planned.fixed:
            return str(self.planned.fixed[extent])
        return f"{self.host.variables[extent]} as usize"

    def _call(self, lines: list[str], prefix: str, name: str, arguments: Sequence[str], suffix: str) -> None:
        """A call of another function of this kernel, with what it asks for promised on."""
        if not self.unsafe:
            put(lines, 4, prefix, name, arguments, suffix)
            return
        lines.append("    // SAFETY: the caller promises what this function asks for.")
        unsafe_call(lines, 4, prefix, name, arguments, suffix)

    def into(self) -> list[str]:
        parameters = self.parameters()
        written = " and ".join(f"`{self.host.names[a.name]}`" for a in self.planned.arrays if self._is_written(a))
        lines = self.about(f"Writes {written}, and waits until that is done.")
        lines += self.allow(parameters)
        head = f"pub {self.unsafe}fn {self.names.into}{self.generic()}"
        lines += header(head, parameters, " -> Result<(), Error>")
        self._call(lines, "let op = ", self.names.op, self.passed(), "?;")
        return [*lines, "    Ok(op.sync()?)", "}", ""]

    def _is_written(self, array: ArrayArgument) -> bool:
        return array.name in self.planned.written

    def op(self) -> list[str]:
        planned, host = self.planned, self.host
        parameters = self.parameters("'a ")
        kept = ", ".join(["'a", *self.variables()])
        lines = docs(
            f"As [`{self.names.into}`]: checks at once, and launches when the operation that it returns is awaited, "
            "`.sync()`ed or put on a stream with `.sync_on(..)`."
            + ("\n\n# Errors\n\nWhere an argument does not fit the kernel; the message says which and why.")
            + (f"\n\n# Safety\n\nAs for [`{self.names.into}`]." if self.unsafe else "")
        )
        lines += self.allow(parameters)
        head = f"pub {self.unsafe}fn {self.names.op}{self.generic(chr(39) + 'a')}"
        lines += header(head, parameters, f" -> Result<impl DeviceOp<Output = ()> + use<{kept}>, Error>")
        body: list[str] = [f'    let launch = Launch("{planned.entry.name}");']
        for step in host.steps:
            match step:
                case Check(method=method, arguments=arguments):
                    put(body, 4, "", f"launch.{method}", arguments, "?;")
                case Bind(array=array, names=names):
                    put(body, 4, f"let [{', '.join(names)}] = ", "launch.tensor", (f'"{array}"', array), "?;")
                case Let(name=name, value=value):
                    called = call_parts(value)
                    if called is None:
                        body.append(f"    let {name} = {value};")
                    else:
                        put(body, 4, f"let {name} = ", *called)
        if host.grid is not None:
            grid = list(host.grid)
            if len(", ".join(grid)) <= 50:
                body.append(f"    let blocks = launch.grid([{', '.join(grid)}])?;")
            else:
                bracketed(body, 4, "let blocks = launch.grid(", grid, ")?;")
        return [*lines, *_used([*body, *self._launched()]), "}", ""]

    def _launched(self) -> list[str]:
        """The kernel's operation; copies of what it writes are made on its stream first."""
        planned, host = self.planned, self.host
        body = [f"    let {let.name} = {let.value};" for let in host.prepared]
        put(body, 4, "let op = ", f"kernels::{planned.entry.name}", host.passed)
        if planned.generics:
            bracketed(body, 4, "let generics = vec!", [self._generic_value(g) for g in planned.generics], ";")
            body.append("    let op = op.generics(generics);")
        if host.grid is not None:
            body.append("    let op = op.grid(blocks);")
        level = self._opt_level()
        if level is not None:
            body.append(f"    let options = CompileOptions::default().opt_level({level});")
            body.append("    let op = op.compile_options(options);")
        if not host.copies:
            return [*body, "    Ok(op.map(|_| ()))"]
        made = [f"{of}.dup()" for of in host.copies.values()]
        copied = list(host.copies)
        zipped = f"zip!({', '.join(made)})"
        lines = [f"    let copies = {made[0] if len(made) == 1 else zipped};"]
        if len(made) > 1 and len(zipped) > CALL_WIDTH:
            lines = ["    let copies = zip!(", *(f"        {one}," for one in made), "    );"]
        names = copied[0] if len(copied) == 1 else f"({', '.join(copied)})"
        inside = [f"    {line}" for line in body]
        return [*lines, f"    Ok(copies.then(move |{names}| {{", *inside, "        op.map(|_| ())", "    }))"]

    def _opt_level(self) -> int | None:
        program = self.planned.kernel.program
        hints = () if program is None else program.hints
        found = [h.value for h in hints if h.name == "opt_level" and h.target is None and h.value != OPT_LEVEL]
        return found[-1] if found else None

    def _generic_value(self, generic: Generic) -> str:
        if generic.type:
            return f"{generic.name}::DTYPE.as_str().into()"
        if generic.constant is not None and generic.constant in self.planned.template.open:
            return f"{self.host.variables[generic.constant]}.to_string()"
        return f'"{generic.value}".into()'


def _used(lines: list[str]) -> list[str]:
    """The lines, with `_` for extents that nothing reads."""

    def words(rest: Sequence[str]) -> set[str]:
        return {w for line in rest for w in re.findall(r"\b\w+\b", re.sub(r'"[^"]*"', '""', line))}

    made: list[str] = []
    for number, line in enumerate(lines):
        found = re.match(r"    let \[([\w, ]+)\] = launch", line)
        if found:
            later = words(lines[number + 1 :])
            names = [n if n in later else "_" for n in found[1].split(", ")]
            line = line.replace(f"[{found[1]}]", f"[{', '.join(names)}]", 1)
        made.append(line)
    return made


def host_text(host: Host, names: FunctionNames, link: str) -> HostText:
    """All functions of a kernel."""
    text = _Text(host, names, link)
    lines = [*text.config(), *text.plain(), *text.into(), *text.op()]
    return HostText(names, tuple(lines), frozenset(text.types), _uses(lines), text.makes, host)


_USES = re.compile(r"\blaunch\.(\w+)\(|\b(tiles)\(|\b(Written|Merged|Float|CompileOptions)\b")


def _uses(lines: Sequence[str]) -> frozenset[str]:
    """What the functions take from the launch module, and other names to import."""
    code = [line for line in lines if not line.startswith("///")]
    return frozenset(name for line in code for found in _USES.findall(line) for name in found if name)

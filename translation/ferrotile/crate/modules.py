"""The Rust modules of a crate: one a Python file, one of the device functions that several of them share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.crate.attribution import heading
from ferrotile.crate.host import host_of
from ferrotile.crate.host_model import CannotLaunch
from ferrotile.crate.host_text import HALVES, OF_CUDA_CORE, FunctionNames, HostText, host_text
from ferrotile.crate.inlined import inlined_from
from ferrotile.crate.model import PythonFile, Refused
from ferrotile.crate.names import Names, camel, snake
from ferrotile.crate.plan import Planned, plan_kernel
from ferrotile.crate.writing import docs, imported
from ferrotile.rust.emit import Parts, broken_head, render_file
from ferrotile.rust.safety import Helper
from ferrotile.translation import KernelTranslation

SHARED = "device"
_RESERVED = ("launch", SHARED, "lib", "main", "common", "compiles")


class Kernel(Struct, frozen=True):
    """A kernel of a module; `host` is None where it has no host functions."""

    planned: Planned
    host: HostText | None


class RustModule(Struct, frozen=True):
    """A module of the crate, before its text."""

    name: str
    file: PythonFile
    kernels: tuple[Kernel, ...]

    @property
    def inlined(self) -> tuple[tuple[str, str], ...]:
        """Path and text of other files whose functions are inlined in the kernels."""
        sources = [k.planned.source.node for k in self.kernels if k.planned.source is not None]
        names = inlined_from(self.file.module, sources)
        return tuple(self.file.others[name] for name in names if name in self.file.others)


def modules_of(files: Sequence[PythonFile]) -> tuple[tuple[RustModule, ...], tuple[Refused, ...]]:
    """A module for each file with a kernel that is translated, and the kernels that have no host function."""
    scope = Names(_RESERVED)
    made: list[RustModule] = []
    refused: list[Refused] = []
    for file in files:
        if not any(p is not None for p in file.parts):
            continue
        folder = file.path.replace("\\", "/").rpartition("/")[0].rpartition("/")[2]
        name = scope.take(file.stem, f"{folder}_{file.stem}" if folder else None)
        functions = Names()
        kernels: list[Kernel] = []
        for kernel, parts in _variants(file):
            planned = plan_kernel(file, kernel, parts)
            names = _function_names(functions, planned.entry.name)
            link = f"[{file.path}:{_line(file, planned)}]({file.link}#L{_line(file, planned)})"
            try:
                kernels.append(Kernel(planned, host_text(host_of(planned), names, link)))
            except CannotLaunch as reason:
                refused.append(Refused(name, planned.entry.name, str(reason)))
                kernels.append(Kernel(planned, None))
        made.append(RustModule(name, file, tuple(kernels)))
    return tuple(made), tuple(refused)


def _variants(file: PythonFile) -> list[tuple[KernelTranslation, Parts]]:
    """Kernels that are translated, each text once; of those with one name the later ones are numbered."""
    found: dict[str, list[Parts]] = {}
    made: list[tuple[KernelTranslation, Parts]] = []
    for kernel, parts in zip(file.kernels, file.parts, strict=True):
        if parts is None or kernel.entry is None:
            continue
        before = found.setdefault(parts.name, [])
        if any(p.body == parts.body for p in before):
            continue
        before.append(parts)
        if len(before) > 1:
            name = f"{parts.name}_{len(before)}"
            parts = _renamed(parts, name)
            kernel = replace(kernel, entry=replace(kernel.entry, name=name))
        made.append((kernel, parts))
    return made


def _renamed(parts: Parts, name: str) -> Parts:
    old = re.escape(parts.name)
    head = re.compile(rf"^    fn {old}\b|^    // {old}:")
    lines = (head.sub(lambda m: m[0].replace(parts.name, name), line) for line in parts.body)
    return Parts(name, parts.helpers, tuple(part for line in lines for part in broken_head(line)))


def _function_names(scope: Names, entry: str) -> FunctionNames:
    plain = scope.take(entry)
    return FunctionNames(plain, scope.take(f"{plain}_into"), scope.take(f"{plain}_op"), f"{camel(plain)}Config")


def _line(file: PythonFile, planned: Planned) -> int:
    return file.document.lines.line_of(planned.kernel.name_span.start) + 1


def shared_helpers(modules: Sequence[RustModule]) -> tuple[Helper, ...]:
    """Device functions that several modules need, word for word; of one name the one that most need, with those that
    they call."""
    counts: Counter[Helper] = Counter()
    calls: dict[Helper, set[Helper]] = {}
    for module in modules:
        needed = [k.planned.parts.helpers for k in module.kernels]
        counts.update({h for helpers in needed for h in helpers})
        for helpers in needed:
            for helper in helpers:
                words = _words(helper.lines)
                calls.setdefault(helper, set()).update(h for h in helpers if h is not helper and h.name in words)
    chosen: dict[str, Helper] = {}
    for helper, count in sorted(counts.items(), key=lambda one: (-one[1], one[0].lines)):
        if count > 1:
            chosen.setdefault(helper.name, helper)
    while lone := [h for h in chosen.values() if any(chosen.get(c.name) != c for c in calls[h])]:
        for helper in lone:
            del chosen[helper.name]
    return tuple(chosen[name] for name in sorted(chosen))


def _words(lines: Sequence[str]) -> set[str]:
    return {word for line in lines if not line.lstrip().startswith("//") for word in re.findall(r"\w+", line)}


def shared_text(helpers: Sequence[Helper]) -> str:
    """`device.rs`."""
    public = [Helper(h.name, _public(h), h.unsafe) for h in helpers]
    body = render_file("helpers", [Parts("", tuple(public), ())], "pub ")
    return f"//! Device functions that several modules share.\n\n{body}".replace("\n\n}", "\n}")


def _public(helper: Helper) -> tuple[str, ...]:
    """The lines of a helper that other modules see."""
    head = re.compile(rf"    (?=(?:unsafe )?fn {re.escape(helper.name)}\b)")
    return tuple(part for line in helper.lines for part in broken_head(head.sub("    pub ", line, count=1)))


def module_text(module: RustModule, shared: Sequence[Helper], crate: str) -> str:
    """The text of a module's file."""
    file, hosts = module.file, [k.host for k in module.kernels if k.host is not None]
    uses = {u for h in hosts for u in h.uses}
    types = {t for h in hosts for t in h.types}
    imports: list[str] = []
    if hosts:
        wanted = ["Launch", *(n for n in ("Merged", "Written", "Float") if n in uses)]
        wanted = [*(["tiles"] if "tiles" in uses else []), *sorted(wanted)]
        imports += imported("crate::launch", wanted)
    if halves := sorted(types & set(HALVES)):
        imports += imported("cutile::half", halves)
    if others := sorted(types & set(OF_CUDA_CORE)):
        imports += imported("cutile::cuda_core", others)
    if "CompileOptions" in uses:
        imports.append("use cutile::tile_kernel::CompileOptions;")
    if hosts:
        imports.append("use cutile::prelude::*;")
    needed = {h for k in module.kernels for h in k.planned.parts.helpers}
    own = [line for h in needed if h not in shared for line in h.lines]
    words = _words([*own, *(line for k in module.kernels for line in k.planned.parts.body)])
    from_shared = [h for h in shared if h in needed]
    names = sorted(h.name for h in from_shared if h.name in words)
    used = imported(f"crate::{SHARED}::helpers", names, 4) if names else []
    kernels = render_file("kernels", [k.planned.parts for k in module.kernels], "pub ", used, from_shared)
    head = docs(_about(file), mark="//!")
    allowed = _allowed(module)
    lines = [*head, "", *allowed, *([""] if allowed else []), *sorted(imports), *([""] if imports else [])]
    said = heading(file.document.text, module.inlined)
    text = (f"{said}\n" if said else "") + "\n".join(lines) + "\n" + kernels
    items = [line for h in hosts for line in h.lines]
    while items and not items[-1]:
        items.pop()
    return text + ("\n" + "\n".join(items) + "\n" if items else "")


_NAMES = "names are those of the Python"
_KEPT = "what the Python has is kept"
_REASONS = {
    "non_snake_case": _NAMES,
    "non_upper_case_globals": _NAMES,
    "unreachable_code": _KEPT,
    "unused_assignments": _KEPT,
    "unused_variables": _KEPT,
}
_ATTRIBUTE_WIDTH = 70
"""rustfmt's."""


def _allowed(module: RustModule) -> list[str]:
    """Attributes for what rustc would warn of in the kernels, with the reason. They are the file's, since
    `#[cutile::module]` drops those of the module and of functions."""
    lints = sorted({lint for kernel in module.kernels for lint in _lints(kernel.planned.parts)})
    lines: list[str] = []
    for reason in dict.fromkeys(_REASONS[lint] for lint in lints):
        inside = [*(lint for lint in lints if _REASONS[lint] == reason), f'reason = "{reason}"']
        if len(", ".join(inside)) <= _ATTRIBUTE_WIDTH:
            lines.append(f"#![allow({', '.join(inside)})]")
        else:
            lines += ["#![allow(", *(f"    {one}," for one in inside[:-1]), f"    {inside[-1]}", ")]"]
    return lines


_BOUND = re.compile(r"\b(\w+): (?!ElementType|PointerTo|ordering::|scope::)[&*\w]|\blet (?:mut )?(\w+)\b")
_UNSEEN = re.compile(r"cuda_tile_(?:assert|print)|\bunreachable!\(\)|\{\}\s*\Z")
"""Macros whose arguments rustc does not see, and functions without a body."""
_LEAVES = re.compile(r"\b(?:break|continue|return);\n\s*[^\s}]")
_ASSIGNED = re.compile(r"^ *(?:let mut )?(\w+)(?:: [^=;]+)? = ", re.MULTILINE)


def _lints(parts: Parts) -> set[str]:
    """What rustc may warn of in a kernel and its helpers."""
    return {lint for lines in (parts.body, *(h.lines for h in parts.helpers)) for lint in lints_of(lines)}


def lints_of(lines: Sequence[str]) -> set[str]:
    """Of one function."""
    text = "\n".join(line for line in lines if not line.lstrip().startswith("//"))
    functions = set(re.findall(r"\bfn (\w+)", text))
    bound = {name for found in _BOUND.findall(text) for name in found if name}
    bound |= {name for found in re.findall(r"\blet \(([^)]*)\)", text) for name in re.findall(r"\w+", found)}
    constants = set(re.findall(r"\bconst (\w+):", text))
    lints: set[str] = set()
    values = bound - constants - {"mut", "_"}
    if any(len(re.findall(rf"\b{name}\b", text)) == 1 for name in values) or _UNSEEN.search(text):
        lints.add("unused_variables")
    last = {found[1]: text.find(";\n", found.end()) for found in _ASSIGNED.finditer(text)}
    replaced = re.search(r"\b(?:loop|while)\b", text) is not None
    # The first value, where another comes next; the last one, where nothing reads it.
    for name in last:
        found = re.search(rf"\blet mut {name}\b[^;]*;.*?\b{name}\b( = [^;]*)?", text, re.DOTALL)
        replaced |= found is not None and bool(found[1]) and re.search(rf"\b{name}\b", found[1]) is None
    if replaced or any(re.search(rf"\b{name}\b", text[end:]) is None for name, end in last.items()):
        lints.add("unused_assignments")
    if _LEAVES.search(text):
        lints.add("unreachable_code")
    # The macro puts `__cutile_user_impl_` before an entry's name.
    if any(re.search(r"[A-Z]|[^_]__", name) for name in values) or any(re.search(r"[A-Z]|__|^_", f) for f in functions):
        lints.add("non_snake_case")
    if any(re.search(r"[a-z]", name) for name in constants):
        lints.add("non_upper_case_globals")
    return lints


def _about(file: PythonFile) -> str:
    return f"Kernels of [{file.path}]({file.link})."


def crate_name(text: str) -> str:
    """A package's name: `my-kernels`."""
    return snake(text).replace("_", "-")

"""`examples/launch.rs`: a `main` that launches one kernel of the crate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ferrotile.crate.facts import Count, Equal, Multiple, read_fact
from ferrotile.crate.host_text import HALVES, MADE
from ferrotile.crate.modules import Kernel, RustModule
from ferrotile.crate.writing import imported, put
from ferrotile.signatures.model import ConstantArgument

_EXTENT = 1000
_TYPES = frozenset(("f16", "bf16", "f32", "i32"))


def example(crate: str, modules: Sequence[RustModule]) -> Mapping[str, str | bytes]:
    """The first kernel that makes its output, is safe and takes arrays that `ones` makes; nothing where there is
    none."""
    found = [(m, k) for m in modules for k in m.kernels]
    for module, kernel in sorted(found, key=lambda one: len(one[1].planned.arrays)):
        text = _launch(crate, module, kernel)
        if text is not None:
            return {"examples/launch.rs": text}
    return {}


def _launch(crate: str, module: RustModule, kernel: Kernel) -> str | None:
    planned, host = kernel.planned, kernel.host
    if host is None or len(host.makes) != 1 or planned.signature.grid is None or planned.kernel.unsafe.assumed:
        return None
    if any(g.type for g in planned.generics) or any(a.extent is None for a in planned.scalars):
        return None
    if f"pub fn {host.names.plain}(" not in "\n".join(host.lines):
        return None
    given = [a for a in planned.arrays if a.name not in host.makes]
    made = next(a for a in planned.arrays if a.name in host.makes)
    if not given or any(a.dtype.name not in _TYPES or a.name in planned.written for a in given):
        return None
    sizes = _sizes(kernel)
    lines: list[str] = []
    passed: list[str] = []
    types: set[str] = {made.dtype.name} & set(HALVES) if made.dtype.name in MADE else set()
    for number, array in enumerate(given):
        types |= {array.dtype.name} & set(HALVES)
        shape = ", ".join(str(sizes.get(e, _EXTENT) if isinstance(e, str) else e) for e in array.extents)
        lines.append(f"    let a{number} = api::ones::<{array.dtype.name}>(&[{shape}]).sync()?;")
        passed.append(f"&a{number}")
    if planned.config:
        passed.append(f"{host.names.config}::default()")
    put(lines, 4, "let made = ", host.names.plain, passed, "?;")
    lines.append(f"    let elements: Vec<{made.dtype.name}> = made.to_host_vec().sync()?;")
    name = f"{crate.replace('-', '_')}::{module.name}"
    wanted = sorted([host.names.plain, *([host.names.config] if planned.config else [])], key=_first_lower)
    uses = [*imported(name, wanted), "use cutile::prelude::*;"]
    if types:
        uses += imported("cutile::half", sorted(types))
    head = [f"//! Launches `{module.name}::{host.names.plain}`; needs an NVIDIA GPU.", "", *sorted(uses), ""]
    lines.append("    let first = elements[0];")
    lines.append('    println!("{} elements, the first is {first:?}", elements.len());')
    return "\n".join([*head, "fn main() -> Result<(), Error> {", *lines, "    Ok(())", "}"]) + "\n"


def _first_lower(name: str) -> tuple[bool, str]:
    """rustfmt puts functions before types."""
    return name[:1].isupper(), name


def _sizes(kernel: Kernel) -> dict[str, int]:
    """Extents that satisfy the launch facts about single extents."""
    planned = kernel.planned
    sizes = {
        a.name: a.value
        for a in planned.signature.arguments
        if isinstance(a, ConstantArgument) and type(a.value) is int and a.name not in planned.config
    }
    values = {c: planned.value(c) for c in planned.config}

    def number(atom: str | int) -> int:
        found = values.get(atom, _EXTENT) if isinstance(atom, str) else atom
        return found if isinstance(found, int) else _EXTENT

    for fact in map(read_fact, planned.template.facts):
        match fact:
            case Multiple(extent=str(extent), of=of):
                sizes.setdefault(extent, number(of))
            case Equal(left=(Count(extent=str(extent), tile=1),), right=(Count(extent=int(size), tile=1),)):
                sizes[extent] = size
            case Equal(left=(Count(extent=str(extent), tile=tile),), right=(Count(extent=int(count), tile=1),)):
                sizes.setdefault(extent, min(_EXTENT, number(tile) * count))
            case _:
                pass
    return sizes

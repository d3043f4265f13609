"""The author's entry hints as cutile's entry attribute: `#[cutile::entry(optimization_hints = (...))]`."""

from __future__ import annotations

from collections.abc import Sequence

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.program.ir import EntryHint
from ferrotile.rust.layout import WIDTH
from ferrotile.rust.targets.cutile_0_5 import ENTRY_HINTS, OPT_LEVEL, WORKER_WARPS


def _trouble(hint: EntryHint) -> str | None:
    """Why a hint cannot be in the attribute."""
    where = f" for {hint.target}" if hint.target is not None else ""
    match hint.name:
        case "opt_level" if hint.value == OPT_LEVEL:
            return None
        case "opt_level":
            launch = f"`CompileOptions::default().opt_level({hint.value})`"
            return f"`opt_level={hint.value}`{where} belongs to the launch in cuTile Rust: {launch}"
        case "num_worker_warps" if hint.value not in WORKER_WARPS:
            return f"`num_worker_warps={hint.value}`{where} needs a newer assembler: left out"
    return None


def notes(hints: Sequence[EntryHint]) -> tuple[Diagnostic, ...]:
    """FT405 for every hint that the attribute does not carry."""
    return tuple(diagnostic("FT405", text, h.span) for h in hints if (text := _trouble(h)) is not None)


def attribute(hints: Sequence[EntryHint], indent: int) -> list[str]:
    """The attribute of the entry, one line or, where that is too wide, one line a target."""
    targets: dict[str, list[str]] = {}
    for hint in sorted(hints, key=lambda h: (h.target is not None, h.target or "")):
        if hint.name in ENTRY_HINTS and _trouble(hint) is None:
            targets.setdefault(hint.target or "default", []).append(f"{ENTRY_HINTS[hint.name]} = {hint.value}")
    if not targets:
        return [" " * indent + "#[cutile::entry()]"]
    items = [f"{target} = ({', '.join(values)},)," for target, values in targets.items()]
    one = " " * indent + f"#[cutile::entry(optimization_hints = ({' '.join(items)}))]"
    if len(one) <= WIDTH:
        return [one]
    lines = ["#[cutile::entry(optimization_hints = (", *(f"    {item}" for item in items), "))]"]
    return [" " * indent + line for line in lines]

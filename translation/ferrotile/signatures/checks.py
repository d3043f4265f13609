"""Whether a directive fits the kernel that it stands above."""

from __future__ import annotations

from collections.abc import Iterator

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.signatures.directive import Directive
from ferrotile.signatures.usage import Usage


def check_directive(
    directive: Directive, kernel: str, names: tuple[str, ...], constants: frozenset[str], usage: Usage
) -> Iterator[Diagnostic]:
    """FT104 for what is no parameter, FT105 for what the kernel contradicts."""
    symbols = {e for d in directive.declared.values() for e in d.extents or () if isinstance(e, str)}
    for name, declared in directive.declared.items():
        rank = usage.rank(name)
        if name not in names:
            yield diagnostic("FT104", f"directive: `{name}` is no parameter of `{kernel}`", declared.span)
        elif rank is not None and declared.extents is not None and len(declared.extents) != rank:
            axes = len(declared.extents)
            message = f"directive gives `{name}` {axes} axes; the kernel indexes it with {rank}"
            yield diagnostic("FT105", message, declared.span)
        elif name in constants:
            message = f"`{name}` is annotated as a constant: write `{name}=VALUE`"
            yield diagnostic("FT105", message, declared.span)
    for name, (_, span) in directive.constants.items():
        if name not in names and name not in symbols:
            yield diagnostic("FT104", f"directive: `{name}` is no parameter of `{kernel}`", span)

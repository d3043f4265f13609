"""Fewer lines in lists of problems: what one fix mends is one warning, at the first of its places; the others are hints
there, and stand below the warning as related information."""

from __future__ import annotations

from collections.abc import Sequence

from ferrotile.diagnostics.model import Diagnostic, Fix, Severity
from msgspec.structs import replace


def grouped(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The same diagnostics in the same order, with the severities that an editor shows them with."""
    groups: dict[Fix, list[Diagnostic]] = {}
    for one in found:
        if one.fix is not None and one.severity is Severity.WARNING:
            groups.setdefault(one.fix, []).append(one)
    shown = []
    for one in found:
        group = [] if one.fix is None else groups.get(one.fix, [])
        if len(group) < 2 or one.severity is not Severity.WARNING:
            shown.append(one)
        elif one is group[0]:
            shown.append(_first(one, group[1:]))
        else:
            shown.append(replace(one, severity=Severity.HINT))
    return shown


def _first(one: Diagnostic, others: Sequence[Diagnostic]) -> Diagnostic:
    count = f"{len(others)} more of this signature {'is' if len(others) == 1 else 'are'} assumed"
    related = tuple((other.span, other.message) for other in others)
    return replace(one, message=f"{one.message} ({count})", related=(*one.related, *related))

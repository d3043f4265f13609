"""Hints that would make the Python itself faster: FT404."""

from __future__ import annotations

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic, Fix
from ferrotile.passes.accesses import Access, find_accesses
from ferrotile.passes.hints import shared_line, tma_policy
from ferrotile.program.ir import Program
from ferrotile.syntax.document import Document
from ferrotile.syntax.span import Span
from ferrotile.translation import Options

_KEYWORD = "allow_tma=False"
_PADDINGS = (None, "zero")
"""With any other padding cuTile Python's assembler does not use TMA."""


def advice(document: Document, program: Program, options: Options) -> tuple[Diagnostic, ...]:
    """FT404 for every tile access of the Python that goes through TMA where that is measured to be slow on the target,
    and about which the author says nothing. `program`: as it was lowered."""
    accesses = find_accesses(program)
    policy = tma_policy(program, accesses, options)
    found: dict[Span, Diagnostic] = {}
    for access in accesses:
        view = access.view
        if view is None or not policy.slow(access) or not (access.store or view.padding in _PADDINGS):
            continue
        span = access.operation.span
        if access.operation.attribute("allow_tma") is None and policy.chosen(access) is None:
            found.setdefault(span, _told(document, span, access, options))
    return tuple(found.values())


def _told(document: Document, span: Span, access: Access, options: Options) -> Diagnostic:
    what = "a vector that every block loads" if shared_line(access) else "a tile of one row"
    verb = "stored" if access.store else "loaded"
    text = f"{what} is {verb} through TMA, which is slow on {options.target}: say `{_KEYWORD}`."
    if options.unsafe != "never" or not access.store:  # the safe store goes through TMA
        text += " The Rust does without it."
    return diagnostic("FT404", text[0].upper() + text[1:], span, fix=_fix(document.data, span))


def _fix(data: bytes, span: Span) -> Fix | None:
    """The keyword before the call's last parenthesis; None where the span is not that of a call."""
    call = data[span.start : span.end]
    if not call.endswith(b")"):
        return None
    end = len(call[:-1].rstrip())
    if b"#" in call[call.rfind(b"\n", 0, end) + 1 : end]:
        return None  # a comment stands behind the last argument
    comma = "" if call[:end].endswith((b",", b"(")) else ","
    at = span.start + end
    return Fix(f"Add `{_KEYWORD}`", Span(at, at), f"{comma} {_KEYWORD}")

"""A diagnostic: what is wrong, where, and what to do."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from ferrotile.syntax.span import Span


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


class Fix(Struct, frozen=True):
    """A text edit that mends the cause: replace `span` by `text`."""

    title: str
    span: Span
    text: str


class Diagnostic(Struct, frozen=True):
    """`code` is a key of `catalogue.CATALOGUE` (FT###); `message` says what is wrong here and what to do next."""

    code: str
    severity: Severity
    message: str
    span: Span
    related: tuple[tuple[Span, str], ...] = ()
    fix: Fix | None = None

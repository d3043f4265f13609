"""Why Rust of another origin cannot be verified."""

from __future__ import annotations


class CandidateError(Exception):
    """In plain words, with the line of the Rust text (from 1), where there is one to blame."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.message, self.line = message, line


class NoEntry(CandidateError):
    """The Rust has no entry of the name that was asked for."""

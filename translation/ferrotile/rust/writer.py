"""Lines of Rust under construction, with the Python span of each."""

from __future__ import annotations

from msgspec import Struct, field

from ferrotile.syntax.span import NOWHERE, Span

STEP = 4


class Writer(Struct):
    """Collects lines at an indentation; `span` is the Python that the next lines come from."""

    indent: int = 0
    span: Span = NOWHERE
    lines: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    def line(self, text: str) -> None:
        """One line at the current indentation."""
        self.lines.append(" " * self.indent + text if text else "")
        self.spans.append(self.span)

    def deeper(self) -> None:
        self.indent += STEP

    def back(self) -> None:
        self.indent -= STEP

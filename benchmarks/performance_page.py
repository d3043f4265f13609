"""docs/performance.md: tables and budgets of a benchmark, between the marks of its section."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"


class Page:
    """One section in the making."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._tables: list[str] = []
        self._budgets: list[tuple[str, ...]] = []
        self._notes: list[str] = []

    def table(self, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table; prints it, too, since a whole run takes minutes."""
        self._tables.append(f"**{title}**\n\n{_table(head, rows)}")
        print(self._tables[-1], end="\n\n", flush=True)

    def budget(self, what: str, measured: float, limit: float, unit: str) -> None:
        """Add what was measured, and what is allowed."""
        kept = "kept" if measured <= limit else "**not kept**"
        number = f"{measured:.0f}" if float(measured).is_integer() else f"{measured:.1f}"
        self._budgets.append((what, f"{number} {unit}".strip(), f"{limit:g} {unit}".strip(), kept))
        print("budget:", *self._budgets[-1], sep=" | ", end="\n\n", flush=True)

    def note(self, text: str) -> None:
        """Add a line below the tables."""
        self._notes.append(text)

    @property
    def text(self) -> str:
        """The section."""
        budgets = [_table(("budget", "measured", "allowed", ""), self._budgets)] if self._budgets else []
        return "\n\n".join([self._subject, *budgets, *self._tables, *self._notes])

    def show(self) -> None:
        """Print the section."""
        print(self.text)

    def write(self, section: str, title: str) -> None:
        """Put the section between `<!-- SECTION -->` and `<!-- /SECTION -->` of the page, or at its end."""
        page = PAGE.read_text(encoding="utf-8")
        start, end = f"<!-- {section} -->", f"<!-- /{section} -->"
        if start not in page:
            page += f"\n## {title}\n\n{start}\n{end}\n"
        before, _, rest = page.partition(start)
        _, _, after = rest.partition(end)
        PAGE.write_text(f"{before}{start}\n{self.text}\n{end}{after}", encoding="utf-8")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    line = "|" + "|".join("---" if n == 0 else "---:" for n in range(len(head))) + "|"
    return "\n".join([f"| {' | '.join(head)} |", line, *(f"| {' | '.join(row)} |" for row in rows)])

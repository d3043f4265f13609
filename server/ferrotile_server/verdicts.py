"""What a verification said about one kernel, and its one-line form."""

from __future__ import annotations

from ferrotile.diagnostics.model import Diagnostic
from msgspec import Struct
from msgspec.structs import replace

RUNGS = ("translated", "type-checked", "assembled", "proved", "simulated", "matched")
"""The ladder, lowest first."""
DEFAULT_RUNGS = RUNGS[:-1]
"""Those that need no GPU: a kernel runs on one only where somebody asks for that."""

SHOWN = ("proved", "matched", "simulated", "assembled", "type-checked")
"""In which order a verdict names what was reached: what says most first."""

BAD = frozenset({"failed", "timeout", "crashed"})


class RungOutcome(Struct, frozen=True):
    """`status`: passed, failed, skipped, timeout or crashed."""

    rung: str
    status: str
    detail: str = ""
    ms: float = 0.0
    expected: str = ""
    actual: str = ""
    """An element that differs, as the original and the translation have it."""
    ratio: float | None = None
    """The Rust's time over the Python's, where both ran on a GPU."""


class Verdict(Struct, frozen=True):
    """Outcomes of all entries of the kernel whose state `digest` names."""

    kernel: str
    digest: bytes
    outcomes: tuple[RungOutcome, ...]
    findings: tuple[Diagnostic, ...] = ()
    """What failed rungs found in the Python; spans count from the kernel's first byte, so that they move with it."""
    at: float = 0.0
    """When, in seconds since 1970."""

    @property
    def failures(self) -> tuple[RungOutcome, ...]:
        return tuple(o for o in self.outcomes if o.status in BAD)

    @property
    def passed(self) -> tuple[str, ...]:
        """Rungs that every entry which tried them reached, what says most first; `translated` left out."""
        bad = {o.rung for o in self.outcomes if o.status != "passed"}
        good = {o.rung for o in self.outcomes if o.status == "passed"} - bad
        return tuple(r for r in SHOWN if r in good)

    @property
    def line(self) -> str:
        """The verdict in one line, failures first."""
        if self.failures:
            return ", ".join(f"{o.rung} {o.status}" for o in self.failures)
        return ", ".join(f"{r}{self._time(r)}" for r in self.passed) or "nothing above `translated` was reached"

    def _time(self, rung: str) -> str:
        """How long the Rust takes: the slowest entry's ratio."""
        ratios = [o.ratio for o in self.outcomes if o.rung == rung and o.ratio is not None]
        return f" in {max(ratios):.2f} of the Python's time" if ratios else ""

    def after(self, before: Verdict | None) -> Verdict:
        """This verdict, with what `before` says of rungs that were not tried now; for the same state of the kernel."""
        if before is None or before.digest != self.digest:
            return self
        tried = {o.rung for o in self.outcomes}
        kept = tuple(o for o in before.outcomes if o.rung not in tried)
        found = before.findings if any(o.status in BAD for o in kept) else ()
        return replace(self, outcomes=(*self.outcomes, *kept), findings=tuple(dict.fromkeys((*self.findings, *found))))

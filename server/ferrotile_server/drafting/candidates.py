"""The way from a proposed text to the real ladder: the check of Rust that ferrotile did not write, which compiles
candidates where they can read, write and reach nothing."""

from __future__ import annotations

from threading import Event

from ferrotile.translation import KernelTranslation, Origin
from ferrotile_runner.candidate_error import CandidateError
from msgspec.structs import replace

from ferrotile_server.application import Analysis, Application, Candidate
from ferrotile_server.drafting.judgement import Judgement, Ladder, NoLadder
from ferrotile_server.drafting.ladder import judged
from ferrotile_server.drafting.model import Say

NEEDED = frozenset({"cuda-tile", "tileiras", "tileirdisasm", "ferrotile-host"})
"""What a candidate is judged with; types are also checked where `cargo` is."""
CANCELLED = Judgement("", failure="cancelled")


def ladder_of(application: Application, analysis: Analysis, kernel: KernelTranslation) -> Ladder:
    """The ladder for candidates of a kernel. Raises `NoLadder` where this machine cannot climb it, before any model is
    asked."""
    _require_tools()

    def climb(rust: str, say: Say, stop: Event) -> Judgement:
        made = Candidate(rust, origin=Origin.AI)
        if stop.is_set():
            return CANCELLED
        try:
            report, _ = application.verify_candidate(analysis, kernel, made, progress=say, cancel=stop)
        except CandidateError as error:
            text = f"the candidate is not taken: {error}"
            return Judgement("", failure=text, feedback=text + _shown(rust, error.line))
        except ValueError:
            if stop.is_set():  # then there is no report
                return CANCELLED
            raise
        found = judged(report, rust)
        broken = [result.detail for result in report.rungs.values() if result.broken]
        if broken and not found.verified and not report.failed:
            raise NoLadder(f"the candidate cannot be judged here: {broken[0]}")
        if analysis.options.unsafe == "never" and found.unsafe:
            text = f"the project allows no `unsafe`, and the candidate has {found.unsafe} blocks of it"
            return replace(found, verified="", failure=text, feedback=text)
        return found

    return climb


def _shown(rust: str, line: int | None) -> str:
    lines = rust.split("\n")
    return "" if line is None or not 0 < line <= len(lines) else f"\nRust line {line}: `{lines[line - 1].strip()}`"


def _require_tools() -> None:
    """Raises `NoLadder` where what a candidate needs is not there."""
    from ferrotile_runner.toolchain import locate

    lacking = [name for name in locate().missing if name in NEEDED]
    if lacking:
        raise NoLadder(f"no candidate can be judged here without {', '.join(lacking)}; see `ferrotile doctor`")

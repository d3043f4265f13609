"""Rung `assembled`: cuTile Rust's compiler lowers the entry to Tile IR, and `tileiras` assembles it for the
target."""

from __future__ import annotations

from ferrotile_runner.host import HostError
from ferrotile_runner.rungs.subject import Subject, ToolMissing
from ferrotile_runner.session import INSTALL, Session


def assembled(session: Session, subject: Subject) -> str:
    """Says the target, the cubin's size and what became of the bounds checks. Raises RungFailure."""
    compiled = session.compile_rust(subject)
    if session.toolchain.tileiras is None:
        raise ToolMissing(f"tileiras is not installed: {INSTALL}")
    try:
        cubin = session.host().assemble(compiled.bytecode, compiled.target, cancel=subject.cancel)
    except HostError as error:
        raise subject.rust_failure("FT503", error.message, error.line, error.column) from error
    counts = compiled.check_counts
    checks = f"bounds checks: {counts.discharged} proved, {counts.hoisted} at launch, {counts.in_place} kept"
    why = f" ({subject.target} has no `{compiled.needs}`)" if compiled.needs else ""
    return f"{compiled.target}{why}, {len(cubin) // 1024} KiB; {checks}"

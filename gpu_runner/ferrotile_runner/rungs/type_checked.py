"""Rung `type-checked`: rustc accepts the emitted text against the real `cutile` crate."""

from __future__ import annotations

from ferrotile_runner.rungs.subject import RungSkipped, Subject
from ferrotile_runner.session import Session


def type_checked(session: Session, subject: Subject) -> str:
    """Raises RungFailure for rustc's first error, at the Python that made its line."""
    if subject.kernel.rust is None:
        raise RungSkipped("not translated")
    errors = session.rustc_errors(subject.kernel.rust, subject.cancel)
    if errors:
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        code = f"{first.code}: " if first.code else ""
        raise subject.rust_failure("FT501", f"{code}{first.message}{more}", first.line, first.column - 1)
    return ""

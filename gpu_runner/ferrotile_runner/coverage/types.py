"""rustc's verdict on many texts at once, and on each when together they give none."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from ferrotile_runner.process import Ending, ProcessError
from ferrotile_runner.report import RungStatus
from ferrotile_runner.rungs.subject import ToolMissing
from ferrotile_runner.session import Session
from ferrotile_runner.typecheck import RustDiagnostic

Verdict = tuple[RustDiagnostic, ...] | tuple[RungStatus, str]
"""rustc's errors, or why there is no verdict."""


def check_types(session: Session, texts: Sequence[str], cancel: threading.Event) -> Mapping[str, Verdict]:
    """One run of `cargo` for all texts; where it fails without a word about any of them, one for each half, so that
    a text that takes the compiler down is found. Raises `ToolMissing`."""
    try:
        session.check_types(texts, cancel)
        return {text: session.rustc_errors(text, cancel) for text in texts}
    except ToolMissing:
        raise
    except ProcessError as error:
        if cancel.is_set() or error.ending is not Ending.CRASHED or len(texts) < 2:
            status = RungStatus.TIMEOUT if error.ending is Ending.TIMEOUT else RungStatus.CRASHED
            return dict.fromkeys(texts, (status, str(error)))
        middle = len(texts) // 2
        halves = (texts[:middle], texts[middle:])
        return {text: verdict for half in halves for text, verdict in check_types(session, half, cancel).items()}

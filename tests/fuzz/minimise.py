"""Makes a kernel that shows a fault as short as it gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Shows = Callable[[str], bool]
TRIES = 400
"""How often a shorter text is tried."""


def minimise(text: str, shows: Shows, tries: int = TRIES) -> str:
    """The text without every line that the fault does not need: statements go with what is indented under them,
    larger runs first, until nothing more can go. `shows` says whether a text still has the fault and is asked at most
    `tries` times; the result has it."""
    lines = text.splitlines()
    left = tries
    size = max(1, len(lines) // 2)
    while size:
        start = 0
        changed = False
        while start < len(lines):
            shorter = _without(lines, start, size)
            if len(shorter) < len(lines) and any(s.strip() for s in shorter):
                if not left:
                    return "\n".join(lines) + "\n"
                left -= 1
                if shows("\n".join(shorter) + "\n"):
                    lines, changed = shorter, True
                    continue
            start += 1
        if not changed or size > 1:
            size //= 2
    return "\n".join(lines) + "\n"


def _without(lines: Sequence[str], start: int, size: int) -> list[str]:
    """The lines without `size` statements from line `start` on, and without what is indented under the last."""
    end = min(start + size, len(lines))
    depth = _depth(lines[end - 1])
    while end < len(lines) and _depth(lines[end]) > depth:
        end += 1
    return [*lines[:start], *lines[end:]]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())

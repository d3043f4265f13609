"""Requirements of Cargo, as far as two of them can be compared with certainty."""

from __future__ import annotations

import re

_Version = tuple[int, int, int]
_PLAIN = re.compile(r"\s*(\^|~|=)?\s*(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[\w.-]+)?(\+[\w.-]+)?\s*$")


def agree(theirs: str, needed: str) -> bool | None:
    """Whether one version can satisfy both requirements, as Cargo picks it: the newest of a series. None where that is
    not plain to see (ranges, wildcards, several parts)."""
    there, wanted = _PLAIN.match(theirs), _PLAIN.match(needed)
    if there is None or wanted is None:
        return None
    (low, below), (other_low, other_below) = _bounds(there), _bounds(wanted)
    return max(low, other_low) < min(below, other_below)


def _bounds(match: re.Match[str]) -> tuple[_Version, _Version]:
    """The versions of a requirement: from the first on, below the second."""
    parts = [int(part) for part in match.group(2, 3, 4) if part is not None]
    major, minor, patch = (*parts, 0, 0)[:3]
    low = (major, minor, patch)
    match match.group(1):
        case "=" if len(parts) == 3:
            return low, (major, minor, patch + 1)
        case "~" | "=" if len(parts) > 1:
            return low, (major, minor + 1, 0)
        case "~" | "=":
            return low, (major + 1, 0, 0)
    if major or len(parts) == 1:
        return low, (major + 1, 0, 0)
    if minor or len(parts) == 2:
        return low, (0, minor + 1, 0)
    return low, (0, 0, patch + 1)

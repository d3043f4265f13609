"""Architectures, and what a compiler's refusal says about them."""

from __future__ import annotations

import re

_NEEDS = re.compile(r"^(?P<what>\S+(?: using \S+)?) requires (?P<target>sm_\d+) or newer")


def needed_target(message: str, target: str) -> tuple[str, str] | None:
    """The architecture that a refusal for `target` asks for, and what needs it: `cuda_tile.mmaf_scaled requires
    sm_100 or newer` gives `("sm_100", "cuda_tile.mmaf_scaled")`. None where the refusal is about something else."""
    found = _NEEDS.match(message)
    if found is None or _number(found["target"]) <= _number(target):
        return None
    return found["target"], found["what"]


def _number(target: str) -> int:
    digits = re.search(r"\d+", target)
    return int(digits[0]) if digits else 0

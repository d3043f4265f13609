"""How long a simulation and each of its launches may take, and when one has no end."""

from __future__ import annotations

import time

from msgspec import Struct

LEAST_SECONDS = 1.0
"""What a tentative launch may take."""
ENDLESS = 50
"""So many times the original's time is no slowness of the translation."""
MORE_SECONDS = (2.0, 6.0)
"""What a translation gets once more that had too little of the processor to tell."""
SHORT = 0.01
"""Seconds that an original takes at least, for that."""


def is_endless(translation: float, original: float) -> bool:
    """Whether a translation whose time was up had no end to come: from the seconds of the processor that either side
    took for one launch."""
    return translation > ENDLESS * max(original, SHORT)


class Clock(Struct):
    """When a launch must have ended, and all of them."""

    started: float
    deadline: float
    launch: float

    @classmethod
    def of(cls, seconds: float) -> Clock:
        now = time.monotonic()
        return cls(now, now + seconds, now + seconds)

    def next(self, tentative: bool) -> None:
        """A tentative launch, whose values may be the ends of loops, takes no longer than all before it."""
        now = time.monotonic()
        self.launch = min(self.deadline, now + max(now - self.started, LEAST_SECONDS)) if tentative else self.deadline

    def left(self) -> float:
        return self.launch - time.monotonic()

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.deadline

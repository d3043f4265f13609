"""Which way a condition goes that host code alone cannot tell: every path is read from its start, one at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


class Raised(Exception):
    """The path ends in a `raise`, or in an assertion that does not hold."""


class Stop(Exception):
    """The step budget is used up."""


class Decisions:
    """The choices of one path. Equal questions (by key) get equal answers."""

    __slots__ = ("_known", "_prefix", "made")

    def __init__(self, prefix: tuple[bool, ...] = ()) -> None:
        self._prefix = prefix
        self._known: dict[str, bool] = {}
        self.made: list[bool] = []

    def choose(self, likely: bool, key: str | None = None) -> bool:
        """The answer on this path; `likely` where the path is free to choose."""
        negated = key is not None and key.startswith("not ")
        plain = key[4:] if key is not None and negated else key
        if plain is not None and plain in self._known:
            return self._known[plain] is not negated
        at = len(self.made)
        answer = self._prefix[at] if at < len(self._prefix) else likely
        self.made.append(answer)
        if plain is not None:
            self._known[plain] = answer is not negated
        return answer

    def know(self, key: str, answer: bool) -> None:
        """Say an answer that the path has settled otherwise."""
        if key.startswith("not "):
            key, answer = key[4:], not answer
        self._known.setdefault(key, answer)


def explore(read: Callable[[Decisions], None], limit: int) -> None:
    """Calls `read` for up to `limit` paths: the likeliest first, then those that differ from it in one choice, ..."""
    waiting: deque[tuple[bool, ...]] = deque([()])
    for _ in range(limit):
        if not waiting:
            return
        prefix = waiting.popleft()
        decisions = Decisions(prefix)
        read(decisions)
        for at in range(len(prefix), len(decisions.made)):
            waiting.append((*decisions.made[:at], not decisions.made[at]))

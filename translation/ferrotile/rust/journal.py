"""Dicts that can be taken back to an earlier state.

While a kernel is emitted, what it has found out so far is in dicts: the locals of values, the names of views and
helpers. Where emission goes back a few statements (`resuming.py` says when and why), these must again be what they
were. Copying them at every statement would be slow, so each `d[key] = value` notes in one log what was there before;
going back undoes the log from its end, as a text editor's undo does. A mark is a length of the log:

    mark = journal.mark()
    names["a"] = 2
    journal.back_to(mark)  # `names` is as it was
"""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Tracked(dict[K, V]):
    """A dict whose changes are noted. They go through `[]=` alone (no `update`, `pop`, `setdefault`), and no value is
    None, which stands for a key that was not there."""

    def __init__(self, log: list[tuple[dict[K, V], K, V | None]]) -> None:
        super().__init__()
        self._log = log

    def __setitem__(self, key: K, value: V) -> None:
        self._log.append((self, key, self.get(key)))
        super().__setitem__(key, value)


class Journal:
    """The changes of all tracked dicts of one emission, in order."""

    def __init__(self) -> None:
        self._log: list[tuple[dict[object, object], object, object]] = []
        self._gone: list[object] = []
        """What was taken back. It is kept because others hold variables by their `id`, which Python may give to a new
        object once the old one is gone."""

    def dict(self) -> Tracked[K, V]:
        """An empty dict whose changes are noted here."""
        return Tracked(self._log)  # type: ignore[arg-type]

    def mark(self) -> int:
        """The state now, for `back_to`."""
        return len(self._log)

    def back_to(self, mark: int) -> None:
        """Takes back what has changed since `mark`."""
        log = self._log
        while len(log) > mark:
            changed, key, before = log.pop()
            self._gone.append(changed[key])
            if before is None:
                del changed[key]
            else:
                dict.__setitem__(changed, key, before)

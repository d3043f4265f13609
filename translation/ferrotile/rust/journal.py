"""What is written while a kernel is emitted can be taken back to an earlier state."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Tracked(dict[K, V]):
    """A dict whose changes are noted. They go through `[]=` alone; no value is None."""

    def __init__(self, log: list[tuple[dict[K, V], K, V | None]]) -> None:
        super().__init__()
        self._log = log

    def __setitem__(self, key: K, value: V) -> None:
        self._log.append((self, key, self.get(key)))
        super().__setitem__(key, value)


class Journal:
    """The changes of all tracked dicts, in order."""

    def __init__(self) -> None:
        self._log: list[tuple[dict[object, object], object, object]] = []
        self._gone: list[object] = []
        """What was taken back: kept, so that nothing else gets its `id`."""

    def dict(self) -> Tracked[K, V]:
        """An empty dict."""
        return Tracked(self._log)  # type: ignore[arg-type]

    def mark(self) -> int:
        """The state now, for `back_to`."""
        return len(self._log)

    def back_to(self, mark: int) -> None:
        """Takes back what has changed since."""
        log = self._log
        while len(log) > mark:
            changed, key, before = log.pop()
            self._gone.append(changed[key])
            if before is None:
                del changed[key]
            else:
                dict.__setitem__(changed, key, before)

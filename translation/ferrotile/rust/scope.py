"""The names of a kernel's locals: which are taken where."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

from msgspec import Struct

from ferrotile.passes import naming

FOREVER = 1 << 40
"""A position after every statement."""


Last = int | Callable[[], int]
"""A last position; a function where another choice of locals moves it."""


class Variable(Struct):
    """A Rust local."""

    name: str
    mutable: bool = False


class Scope:
    """Names in use."""

    def __init__(self, reserved: Container[str], hints: set[str]) -> None:
        self._reserved = reserved
        self._until: dict[str, int] = {}
        """The last position at which a variable of this name is needed."""
        self._hints = frozenset(hints)
        self._kept: list[tuple[str, Last, int | None]] = []
        """Each name as it was taken: for how long, and until when it had been taken before."""

    def is_free(self, name: str, position: int) -> bool:
        """Whether a variable declared after `position` may have this very name."""
        return naming.local(name, _Taken(self._until, position, self._reserved)) == name

    def declare(self, wish: str, position: int, last: Last, mutable: bool = False) -> Variable:
        """A variable called like the wish, which may shadow one that is not needed after `position`."""
        name = naming.local(wish, _Taken(self._until, position, self._reserved))
        self._keep(name, last)
        return Variable(name, mutable)

    def passing(self, wish: str, position: int) -> str:
        """A name for what the statement at `position` alone reads; never one of the author's, nor one that the
        statement, of which more is to be written, reads as well."""
        name = naming.local(wish, _Either(_Taken(self._until, position - 1, self._reserved), self._hints))
        self._keep(name, position + 1)
        return name

    def temporary(self, wish: str) -> str:
        """A name that nothing uses."""
        name = naming.local(wish, _Either(_Either(self._hints, self._until), self._reserved))
        self._keep(name, FOREVER)
        return name

    def hold(self, variable: Variable, last: Last) -> None:
        """Says that a variable is needed until `last`, too."""
        self._keep(variable.name, last)

    def mark(self) -> int:
        """The state now, for `back_to`."""
        return len(self._kept)

    def back_to(self, mark: int, names: Container[str]) -> None:
        """Takes back what was declared since, and asks again how long the variables of these names are needed."""
        while len(self._kept) > mark:
            name, _, before = self._kept.pop()
            if before is None:
                del self._until[name]
            else:
                self._until[name] = before
        again: dict[str, int] = {}
        for k, (name, last, _) in enumerate(self._kept):
            if name in names:
                before = again.get(name)
                until = last if isinstance(last, int) else last()
                again[name] = until if before is None else max(until, before)
                self._kept[k] = (name, last, before)
        self._until.update(again)

    def _keep(self, name: str, last: Last) -> None:
        until = last if isinstance(last, int) else last()
        before = self._until.get(name)
        self._until[name] = until if before is None else max(until, before)
        self._kept.append((name, last, before))


class _Taken:
    """The names of variables that are needed after a position, and those that no variable may have."""

    def __init__(self, until: Mapping[str, int], position: int, reserved: Container[str]) -> None:
        self._until, self._position, self._reserved = until, position, reserved

    def __contains__(self, name: object) -> bool:
        until = self._until.get(name) if isinstance(name, str) else None
        return (until is not None and until > self._position) or name in self._reserved


class _Either:
    def __init__(self, first: Container[str], second: Container[str]) -> None:
        self._first, self._second = first, second

    def __contains__(self, name: object) -> bool:
        return name in self._first or name in self._second

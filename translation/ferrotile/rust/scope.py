"""The names of a kernel's locals: which are taken where."""

from __future__ import annotations

from collections.abc import Container, Mapping

from msgspec import Struct, field

from ferrotile.passes import naming

FOREVER = 1 << 40
"""A position after every statement."""


class Variable(Struct):
    """A Rust local. `last` is the last position that needs it; `first` where it was declared."""

    name: str
    last: int
    mutable: bool = False
    values: list[int] = field(default_factory=list)


class Scope:
    """Names in use."""

    def __init__(self, reserved: Container[str], hints: set[str]) -> None:
        self._reserved = reserved
        self._until: dict[str, int] = {}
        """The last position at which a variable of this name is needed."""
        self._used: set[str] = set(hints)
        self._hints = frozenset(hints)

    def is_free(self, name: str, position: int) -> bool:
        """Whether a variable declared after `position` may have this very name."""
        return naming.local(name, _Taken(self._until, position, self._reserved)) == name

    def declare(self, wish: str, position: int, last: int, mutable: bool = False) -> Variable:
        """A variable called like the wish, which may shadow one that is not needed after `position`."""
        name = naming.local(wish, _Taken(self._until, position, self._reserved))
        self._keep(name, last)
        return Variable(name, last, mutable)

    def passing(self, wish: str, position: int) -> str:
        """A name for what the statement at `position` alone reads; never one of the author's, nor one that the
        statement, of which more is to be written, reads as well."""
        name = naming.local(wish, _Either(_Taken(self._until, position - 1, self._reserved), self._hints))
        self._keep(name, position + 1)
        return name

    def temporary(self, wish: str) -> str:
        """A name that nothing uses."""
        name = naming.local(wish, _Either(self._used, self._reserved))
        self._keep(name, FOREVER)
        return name

    def hold(self, variable: Variable, last: int) -> None:
        """Says that a variable is needed until `last`, too."""
        variable.last = max(variable.last, last)
        self._keep(variable.name, last)

    def _keep(self, name: str, last: int) -> None:
        self._until[name] = max(last, self._until.get(name, last))
        self._used.add(name)


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

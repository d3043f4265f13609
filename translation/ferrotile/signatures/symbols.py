"""Names for extents: one symbol an identity, the author's own name where there is one."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ferrotile.signatures.tensors import identity
from ferrotile.signatures.values import Constant, Int, Tensor, Term, Value


class Symbols:
    """Gives each identity of one launch its symbol. A parameter's name is given only to an extent that is
    passed for that parameter, since an extent named like a constant means the constant."""

    def __init__(
        self,
        names: Mapping[str, str],
        values: Mapping[str, int],
        parameters: set[str],
        passed: Mapping[str, Value],
        equal: Mapping[str, str] | None = None,
        constants: Collection[str] = (),
    ) -> None:
        self._equal = {} if equal is None else equal
        self.examples: dict[str, int] = {}
        self._names = names
        self._parameters = parameters
        idents = {n: identity(v) for n, v in passed.items() if isinstance(v, Int)}
        self._passed = {n: self._canonical(ident) for n, ident in idents.items() if ident is not None}
        self._constants = {self._passed[n]: n for n in reversed(list(passed)) if n in constants and n in self._passed}
        self._values = values
        self._symbols: dict[str, str | int] = {}
        self._taken: set[str] = set()
        self._next = 0

    def declare(self, extents: tuple[str | int, ...], value: Value | None) -> None:
        """A directive's extents: their names are taken, and name the launch's extents of that array."""
        for axis, extent in enumerate(extents):
            if isinstance(extent, str):
                self._taken.add(extent)
            if isinstance(value, Tensor) and (dim := value.dims.get(axis)) is not None and dim.ident is not None:
                self._symbols.setdefault(self._canonical(dim.ident), extent)
                if isinstance(extent, str) and dim.value is not None:
                    self.examples.setdefault(extent, dim.value)

    def of(self, dim: Int | None, hint: str | None) -> str | int:
        """The symbol of one extent; `hint` is the kernel's own name for it."""
        own = dim.ident if dim is not None else None
        ident = None if own is None else self._canonical(own)
        if ident is not None and ident in self._symbols:
            return self._symbols[ident]
        named = None if ident is None or own is None else self._names.get(ident, self._names.get(own))
        if ident is not None and own is not None:
            named = self._constants.get(ident, named)
        symbol = self._unique(named or hint, ident)
        if ident is not None:
            self._symbols[ident] = symbol
        if dim is not None and dim.value is not None:
            self.examples[symbol] = dim.value
        return symbol

    def named(self, dim: Int) -> str | None:
        """The symbol that an extent with this identity has been given; None for another integer."""
        found = None if dim.ident is None else self._symbols.get(self._canonical(dim.ident))
        return found if isinstance(found, str) else None

    def known(self, ident: str) -> bool:
        """Whether an extent has this identity."""
        return self._canonical(ident) in self._symbols

    def term(self, term: Term, constants: Mapping[str, Constant]) -> Term | None:
        """A grid term of identities in symbols and values; None where one is neither an extent nor known."""
        extent: str | int | None = term.extent
        if isinstance(extent, str):
            extent = self._canonical(extent)
            extent = self._symbols.get(extent, self._known(extent, constants))
        tile: str | int | None = term.tile
        if isinstance(tile, str):
            known = self._known(self._canonical(tile), constants)
            tile = self._values.get(tile) if known is None else known
        return None if extent is None or tile is None else Term(extent, tile, term.whole)

    def constant(self, tile: str | int) -> str | None:
        """The constant parameter that a launch passes this number for, by its identity."""
        ident = None if isinstance(tile, int) else self._canonical(tile)
        return None if ident is None else self._constants.get(ident)

    def _canonical(self, ident: str) -> str:
        return self._equal.get(ident, ident)

    def _known(self, ident: str, constants: Mapping[str, Constant]) -> int | None:
        for name, passed in self._passed.items():
            value = constants.get(name)
            if passed == ident and isinstance(value, int):
                return value
        return None

    def _unique(self, name: str | None, ident: str | None) -> str:
        if name is not None and name in self._parameters and self._passed.get(name) != ident:
            name = f"{name}_extent"
        if name is not None and name not in self._taken:
            self._taken.add(name)
            return name
        number = 2
        while True:
            if name is None:
                candidate = f"D{self._next}"
                self._next += 1
            else:
                candidate = f"{name}{number}"
                number += 1
            if candidate not in self._taken and candidate not in self._parameters:
                self._taken.add(candidate)
                return candidate

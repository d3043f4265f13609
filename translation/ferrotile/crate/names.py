"""Names in the host code of a crate."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ferrotile.passes.naming import KEYWORDS

_TAKEN = frozenset(("launch", "generics", "api", "kernels", "op", "std", "core", "main", "test", "lib", "mod"))


def snake(text: str) -> str:
    """A Rust name for values and functions: `blockSize` and `TILE_M` as `block_size` and `tile_m`."""
    apart = text if text.isupper() else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    words: list[str] = re.findall(r"[A-Za-z0-9]+", apart)
    name = "_".join(words).lower()
    return name if name[:1].isalpha() else f"n{name}"


def camel(text: str) -> str:
    """A Rust name for a type."""
    return "".join(word[:1].upper() + word[1:] for word in snake(text).split("_"))


class Names:
    """Free names of one scope."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*_TAKEN, *taken}

    def take(self, wish: str, otherwise: str | None = None) -> str:
        """The wish in snake case; `otherwise` where that is taken; else with a number."""
        wishes = [snake(wish)] if otherwise is None else [snake(wish), snake(otherwise)]
        for name in wishes:
            if name not in self._taken and name not in KEYWORDS:
                self._taken.add(name)
                return name
        base, number = snake(otherwise or wish), 2
        while f"{base}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{base}_{number}")
        return f"{base}_{number}"

"""Values that need locals of their own because the statement that they are inlined in is too wide or too tall."""

from __future__ import annotations

from collections.abc import Container, Set
from operator import itemgetter

from ferrotile.program.ir import Operation
from ferrotile.rust.layout import CALL_WIDTH, WIDTH, Code
from ferrotile.rust.values import Values

_TALL = 2
"""Lines that a statement may have before its operands get names."""
_NAME = 8
"""The length of a name, more or less."""
_LENGTH = itemgetter(1)


class TooWide(Exception):
    """Statements that rustfmt would break inside; `values` should get locals of their own."""

    def __init__(self, values: Set[int]) -> None:
        super().__init__(values)
        self.values = values


class Crowding:
    """Collects these values while statements are laid out; `forced` ones have locals already."""

    def __init__(self, values: Values, forced: Container[int]) -> None:
        self._values, self._forced = values, forced
        self.found: set[int] = set()
        """Values that must have locals."""
        self.left: set[int] = set()
        """Those among them for which the whole text has to be made anew."""

    def tall(self, prefix: str, code: Code, suffix: str, indent: int, height: int) -> None:
        """Looks for operands whose locals make a statement of this height, themselves counted, lower."""
        if height > _TALL and not suffix.endswith("{"):
            self.found |= self._better_named(prefix, code, suffix, indent, height)

    def wide(self, prefix: str, code: Code, suffix: str, indent: int) -> None:
        """Chooses an operand of a statement that fits on no lines: the shortest whose local is enough, else the
        longest."""
        whole = [p for p in code.parts if p[0] not in self._forced and not self._free(p[0])]
        room = WIDTH - indent - len(prefix) - len(suffix)
        enough = [p for p in whole if len(code.text) - p[1] + _NAME <= room]
        if whole:
            chosen = min(enough, key=_LENGTH) if enough else max(whole, key=lambda p: (p[1], -p[0]))
            self.found.add(chosen[0])

    def _better_named(self, prefix: str, code: Code, suffix: str, indent: int, height: int) -> set[int]:
        units = [c.parts for c in code.arguments] if code.head is not None else [code.parts]
        found = [max((p for p in unit if self._can_name(p, code)), key=_LENGTH, default=None) for unit in units]
        named: set[int] = set()
        length, inside = len(code.text), len(code.text) - len(code.head or "") - 2
        for value, part in sorted((p for p in found if p is not None), key=_LENGTH, reverse=True):
            named.add(value)
            length, inside = length - part + _NAME, inside - part + _NAME
            if inside > CALL_WIDTH and (code.head is not None or code.links):
                continue
            one = indent + len(prefix) + length + len(suffix) <= WIDTH
            two = prefix.endswith("= ") and indent + 4 + length + len(suffix) <= WIDTH
            if (one or two) and len(named) + (1 if one else 2) < height:
                return named
        return set()

    def _can_name(self, part: tuple[int, int], code: Code) -> bool:
        value, length = part
        return _NAME < length < len(code.text) and value not in self._forced and not self._free(value)

    def _free(self, value: int) -> bool:
        source = self._values.defined.get(value)
        return isinstance(source, Operation) and bool(source.results) and self._values.is_free(source.results[0])

"""Hash-consed terms: equal terms are one object, for the life of one proof. No globals.

A term is a node (`op`, `data`, `args`) with the shape and element type of its value. `data` holds what is no
term: attributes, constants (integers as signed numbers, floats as their bits), names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from msgspec import Struct, field

Shape = tuple[int, ...]


class Term:
    """Compared by identity; `number` orders terms by creation, the same for both programs of a proof."""

    __slots__ = ("args", "data", "element", "number", "op", "shape")

    def __init__(
        self, number: int, op: str, data: Hashable, args: tuple[Term, ...], shape: Shape, element: str
    ) -> None:
        self.number, self.op, self.data, self.args = number, op, data, args
        self.shape, self.element = shape, element

    def __repr__(self) -> str:
        return f"t{self.number}:{self.op}"

    def is_op(self, op: str, data: Hashable = None) -> bool:
        return self.op == op and (data is None or self.data == data)


class Store(Struct):
    """All terms of one proof, and the hypotheses and lemmas that its rewriting has used."""

    table: dict[tuple[str, Hashable, tuple[int, ...], Shape, str], Term] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)
    lemmas: dict[str, None] = field(default_factory=dict)
    origins: dict[Term, Term] = field(default_factory=dict)
    """A term that was moved to another shape -> what it was before: for messages only."""
    moved: dict[tuple[int, Shape, tuple[int, ...]], Term] = field(default_factory=dict)
    """Term, shape, axes -> the term in that shape: what `shapes.sink` has made."""
    divisors: dict[Term, Term | None] = field(default_factory=dict)
    """What `Arithmetic.divisor` has found."""

    def forget(self) -> None:
        """Drops the hypotheses and lemmas so far, with all results that rest on some and would not note them again."""
        self.used = {k: None for k in self.used if k.startswith("bid.")}
        self.lemmas.clear()
        self.moved.clear()
        self.divisors.clear()

    def term(
        self, op: str, data: Hashable = (), args: tuple[Term, ...] = (), shape: Shape = (), element: str = "i32"
    ) -> Term:
        """The one term with this node, shape and element type."""
        key = (op, data, tuple(arg.number for arg in args), shape, element)
        found = self.table.get(key)
        if found is None:
            found = Term(len(self.table), op, data, args, shape, element)
            self.table[key] = found
        return found

    def const(self, value: int, shape: Shape = (), element: str = "i32") -> Term:
        """A splat. `value`: a signed integer, 0 or 1 for i1, the bits for floats."""
        return self.term("const", value, (), shape, element)

    def use(self, hypothesis: str) -> bool:
        """Notes that a fact was needed; always true, to be written in a condition's last place."""
        self.used[hypothesis] = None
        return True

    def lemma(self, name: str) -> bool:
        self.lemmas[name] = None
        return True


def value_of(term: Term) -> int | None:
    """The number of an integer or boolean constant, the bits of a float constant; else None."""
    return term.data if term.op == "const" and isinstance(term.data, int) else None


def squeeze(shape: Shape) -> Shape:
    """The axes that hold more than one lane."""
    return tuple(size for size in shape if size != 1)


def subterms(term: Term, seen: set[int] | None = None) -> Iterator[Term]:
    """The term and all below it, each once."""
    seen = set() if seen is None else seen
    stack = [term]
    while stack:
        current = stack.pop()
        if current.number in seen:
            continue
        seen.add(current.number)
        yield current
        stack.extend(current.args)


def is_integer(element: str) -> bool:
    """Whether values of this type are integers other than booleans."""
    return element[:1] == "i" and element != "i1"


def wrap(value: int, element: str) -> int:
    """`value` modulo 2^w, as a signed number."""
    bits = int(element[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value

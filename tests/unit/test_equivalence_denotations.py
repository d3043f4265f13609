"""Random expressions of integers: a rewritten term denotes what the operations compute, lane by lane, in small launches
(so that H6, which rules out no small launch, holds)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from ferrotile_runner.tileir import shapes
from ferrotile_runner.tileir.integers import Arithmetic, Facts
from ferrotile_runner.tileir.polynomials import decode
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Shape, Store, Term, value_of

LANES, LAUNCHES = 8, 6
Value = int | None
"""A signed number, 0 or 1 for i1; None where the operations give none."""
Values = list[Value]
TYPES = ("i8", "i16", "i32", "i64")
KINDS = ("ring", "quotient", "compare") * 2 + ("order", "bits", "shift", "extend", "narrow", "select", "logic")
PREDICATES: dict[str, Callable[[int, int], bool]] = {
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "less_than": lambda x, y: x < y,
    "less_than_or_equal": lambda x, y: x <= y,
    "greater_than": lambda x, y: x > y,
    "greater_than_or_equal": lambda x, y: x >= y,
}


def width(element: str) -> int:
    return int(element[1:])


def wrapped(value: int, element: str) -> int:
    """Modulo 2^w, with a sign; of i1 the bit."""
    value &= (1 << width(element)) - 1
    return value - (1 << width(element)) if width(element) > 1 and value >> (width(element) - 1) else value


def number(value: int, element: str, signed: bool) -> int:
    """The number that the bits are, with a sign or without."""
    if element == "i1":
        return -value if signed else value
    return value if signed else value & ((1 << width(element)) - 1)


def quotient(op: str, data: str, x: int, y: int, element: str) -> Value:
    if y == 0 or (y == -1 and x == -(1 << (width(element) - 1)) and "unsigned" not in data):
        return None
    truncated = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    if op == "remi":
        return wrapped(x - truncated * y, element)
    found = x // y if "negative_inf" in data else -(-x // y) if "positive_inf" in data else truncated
    return wrapped(found, element)


def computed(op: str, data: str, args: Sequence[Value], elements: Sequence[str], element: str) -> Value:
    """One lane of an operation, from its definition."""
    if element == "i1" and op in {"andi", "ori"} and (op == "ori") in args:
        return int(op == "ori")
    if op == "select":
        return None if args[0] is None else args[1] if args[0] else args[2]
    known = [arg for arg in args if arg is not None]
    if len(known) != len(args):
        return None
    a, b, signed = known[0], known[-1], "unsigned" not in data
    x, y = number(a, elements[0], signed), number(b, elements[-1], signed)
    match op:
        case "addi" | "subi" | "muli":
            return wrapped(a + b if op == "addi" else a - b if op == "subi" else a * b, element)
        case "negi" | "absi":
            return wrapped(-a if op == "negi" else abs(a), element)
        case "divi" | "remi":
            return quotient(op, data, x, y, element)
        case "mini" | "maxi":
            return (a if x <= y else b) if op == "mini" else (a if x >= y else b)
        case "cmpi":
            return int(PREDICATES[data.split()[0]](x, y))
        case "andi" | "ori" | "xori":
            return wrapped(a & b if op == "andi" else a | b if op == "ori" else a ^ b, element)
        case "mulhii":
            return wrapped(number(a, element, False) * number(b, element, False) >> width(element), element)
        case "shli" | "shri":
            inside = 0 <= b < width(element)
            return wrapped(a << b if op == "shli" else x >> b, element) if inside else None
        case "exti":
            return wrapped(x, element)
        case "trunci":
            kept = "wrap" not in data or x == number(wrapped(a, element), element, "no_signed_wrap" in data)
            return wrapped(a, element) if kept else None
    raise AssertionError(op)


class Denotation:
    """What terms stand for, given what the leaves hold."""

    def __init__(self, leaves: dict[Term, Values]) -> None:
        self.known = dict(leaves)
        self.size = len(next(iter(leaves.values())))

    def of(self, term: Term) -> Values:
        if term not in self.known:
            self.known[term] = self.made(term)
        return self.known[term]

    def made(self, term: Term) -> Values:
        known = value_of(term)
        if known is not None:
            return [known] * self.size
        if term.op == "map":
            return self.of(term.args[0])
        rows = list(zip(*map(self.of, term.args), strict=True))
        if term.op == "poly":
            return [self.total(term, row) for row in rows]
        if term.op in {"div", "cdiv"}:
            return [self.counted(term.op, row) for row in rows]
        data = term.data if isinstance(term.data, str) else ""
        elements = [arg.element for arg in term.args]
        return [self.folded(term.op, data, row, elements, term.element) for row in rows]

    def folded(self, op: str, data: str, row: Sequence[Value], elements: Sequence[str], element: str) -> Value:
        """Conjunctions and disjunctions have any number of operands."""
        while op in {"andi", "ori"} and len(row) > 2:
            row = (computed(op, data, row[:2], elements[:2], element), *row[2:])
        return computed(op, data, row, elements, element)

    def total(self, term: Term, row: Sequence[Value]) -> Value:
        place, found = {atom: k for k, atom in enumerate(term.args)}, 0
        for product, factor in decode(term).items():
            for atom in product:
                value = row[place[atom]]
                if value is None:
                    return None
                factor *= value
            found += factor
        return wrapped(found, term.element)

    def counted(self, op: str, row: Sequence[Value]) -> Value:
        """`div` and `cdiv` are of numbers that are not negative: anything else shows a wrong rule."""
        a, b = row
        if a is None or not b or a < 0 or b < 0:
            return None
        return a // b if op == "div" else -(-a // b)


def extremes(element: str) -> list[int]:
    half = 1 << (width(element) - 1)
    return [0, 1, -1, 2, 3, -2, 5, 7, -half, half - 1, 1 - half, half - 2, half >> 1]


class Expressions:
    """Terms with their values, to be combined further."""

    def __init__(self, seed: int, shape: Shape) -> None:
        self.random, self.shape = random.Random(seed), shape
        facts = Facts(no_overflow=True, positive_extents=True)
        self.store = Store()
        self.rewriter = Rewriter(self.store, Arithmetic(self.store, facts))
        self.leaves: dict[Term, Values] = {}
        self.pools: dict[str, list[tuple[Term, Values]]] = {element: [] for element in (*TYPES, "i1")}
        self.words()
        for element in (*TYPES, "i1"):
            self.tiles(element)
        self.first = {element: len(pool) for element, pool in self.pools.items()}

    def word(self, term: Term, low: int, high: int, step: int = 1) -> Term:
        """A scalar of the launch, on every lane."""
        values = [self.random.randrange(low, high + 1, step) for _ in range(LAUNCHES)]
        self.leaves[term] = [value for value in values for _ in range(LANES)]
        self.pools["i32"].append((shapes.splat(self.rewriter, term, self.shape), self.leaves[term]))
        return term

    def words(self) -> None:
        term, const = self.store.term, self.store.const
        for axis in "xyz":
            self.word(term("bid", axis), 0, 2)
        for name in "MN":
            self.word(term("param", ("dim", name)), 1, 2)
        self.word(term("param", ("stride", "s")), 0, 2)
        self.word(term("iv", 1, (const(0), const(12), const(4))), 0, 8, 4)

    def tiles(self, element: str) -> None:
        pool, store = self.pools[element], self.store
        numbers = [0, 1] if element == "i1" else extremes(element)
        for place in range(2):
            tile = store.term("load", ("x", place), (), self.shape, element)
            self.leaves[tile] = [self.lane(numbers, element) for _ in range(LAUNCHES * LANES)]
            pool.append((tile, self.leaves[tile]))
        if self.shape and element != "i1":
            lanes = store.term("iota", (), (), self.shape, element)
            self.leaves[lanes] = [*range(LANES)] * LAUNCHES
            pool.append((lanes, self.leaves[lanes]))
        for known in numbers if element == "i1" else [*numbers, 4, 8, 12, 16, 64, 1 << 16, 1 << 20]:
            pool.append(self.constant(wrapped(known, element), element))

    def lane(self, numbers: Sequence[int], element: str) -> int:
        return (
            self.random.choice(numbers) if self.random.random() < 0.7 else wrapped(self.random.getrandbits(64), element)
        )

    def constant(self, value: int, element: str) -> tuple[Term, Values]:
        return self.store.const(value, self.shape, element), [value] * (LAUNCHES * LANES)

    def pick(self, element: str) -> tuple[Term, Values]:
        pool = self.pools[element]
        return pool[self.random.randrange(len(pool) if self.random.random() < 0.6 else self.first[element])]

    def operation(self) -> tuple[str, str, list[tuple[Term, Values]], str]:
        """Name, attributes, operands, element type."""
        choose = self.random.choice
        element = choose((*TYPES, "i32", "i32"))
        sign = choose(("signed", "signed", "unsigned"))
        match choose(KINDS):
            case "ring":
                op = choose(("addi", "subi", "muli", "muli", "negi", "absi"))
                return op, "", [self.pick(element) for _ in range(1 + (op[0] not in "na" or op == "addi"))], element
            case "quotient":
                rounding = choose(("", " rounding<negative_inf>", " rounding<positive_inf>"))
                op = choose(("divi", "remi"))
                data = sign + (rounding if op == "divi" else "")
                return op, data, [self.pick(element), self.pick(element)], element
            case "order":
                return choose(("mini", "maxi")), sign, [self.pick(element), self.pick(element)], element
            case "compare":
                source = "i1" if self.random.random() < 0.15 else element
                return "cmpi", f"{choose([*PREDICATES])} {sign}", [self.pick(source), self.pick(source)], "i1"
            case "bits":
                op = choose(("andi", "ori", "xori", "mulhii"))
                return op, "", [self.pick(element), self.pick(element)], element
            case "shift":
                op = choose(("shli", "shri"))
                amount = self.constant(self.random.randrange(width(element)), element)
                amount = amount if self.random.random() < 0.7 else self.pick(element)
                return op, sign if op == "shri" else "", [self.pick(element), amount], element
            case "extend":
                source = choose(("i1", "i8", "i16", "i32"))
                wider = choose([kind for kind in TYPES if width(kind) > width(source)])
                return "exti", choose(("signed", "unsigned")), [self.pick(source)], wider
            case "narrow":
                source = choose(TYPES[1:])
                narrower = choose([kind for kind in ("i1", *TYPES) if width(kind) < width(source)])
                return "trunci", choose(("", "", "no_signed_wrap", "no_unsigned_wrap")), [self.pick(source)], narrower
            case "select":
                kind = "i1" if self.random.random() < 0.2 else element
                return "select", "", [self.pick("i1"), self.pick(kind), self.pick(kind)], kind
            case _:
                return choose(("andi", "ori", "xori")), "", [self.pick("i1"), self.pick("i1")], "i1"


def disagreement(seed: int, count: int) -> str:
    """The first operation whose term denotes something else; empty where there is none."""
    expressions = Expressions(seed, (LANES,) if seed % 2 else ())
    denotation = Denotation(expressions.leaves)
    for _ in range(count):
        op, data, operands, element = expressions.operation()
        elements = [term.element for term, _ in operands]
        rows = list(zip(*(values for _, values in operands), strict=True))
        values = [computed(op, data, row, elements, element) for row in rows]
        if all(value is None for value in values):
            continue
        term = expressions.rewriter.make(op, data, tuple(term for term, _ in operands), expressions.shape, element)
        for row, value, found in zip(rows, values, denotation.of(term), strict=True):
            if value is not None and value != found:
                return f"{op} {data} of {elements} {row} is {value}, its term {term} {term.data} gives {found}"
        if len(expressions.pools[element]) < 400:
            expressions.pools[element].append((term, values))
    return ""


@pytest.mark.parametrize("seed", range(6))
def test_terms_denote_what_the_operations_compute(seed: int) -> None:
    assert disagreement(seed, 250) == ""

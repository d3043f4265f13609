"""Integer arithmetic: polynomials modulo 2^w (rule I1), ranges (I4, I5), `cdiv` as compilers spell it.

Adding, subtracting and multiplying polynomials wrap, so the ring identities hold for every value; nothing here is ever
used for floats.
"""

from __future__ import annotations

from msgspec import Struct, field

from ferrotile_runner.tileir import quotients
from ferrotile_runner.tileir.index_arithmetic import Needs, needs
from ferrotile_runner.tileir.polynomials import Polynomial, decode, monomial, times, total, without
from ferrotile_runner.tileir.terms import Shape, Store, Term, value_of, wrap


class Facts(Struct):
    """What may be assumed of the launch, as terms. Filled in by `hypotheses.facts`."""

    no_overflow: bool = False
    positive_extents: bool = False
    below: list[tuple[Term, Term]] = field(default_factory=list)
    """(a, b): 0 <= a < b."""
    equal: dict[Term, Term] = field(default_factory=dict)
    grid: dict[str, tuple[Term, ...]] = field(default_factory=dict)
    """Axis -> its number of blocks, in every way that is known."""
    limits: dict[Term, int] = field(default_factory=dict)
    """Extent -> the largest value that it may have."""
    within: frozenset[str] = frozenset()
    """Arrays of which every access is within the extents, as the Python promises by `check_bounds=False`."""


class Arithmetic(Struct):
    """Integer rules over one store under some facts."""

    store: Store
    facts: Facts
    indices: dict[Term, Needs | None] = field(default_factory=dict)
    """What `needs` has found."""

    def no_overflow(self, term: Term) -> bool:
        """H6, which speaks of index arithmetic alone: a launcher cannot bound what arrays hold. Of loops that run as
        long as an array says, and of scalars, these are hypotheses of their own."""
        found = needs(term, self.indices) if self.facts.no_overflow else None
        return found is not None and all(map(self.store.use, sorted(found)))

    def polynomial(self, term: Term) -> Polynomial:
        """`term` as a polynomial; a term of another kind is a monomial of its own."""
        match term.op:
            case "const":
                return {(): value_of(term) or 0}
            case "poly":
                return decode(term)
            case _:
                return {(term,): 1}

    def polynomial_atoms(self, term: Term) -> set[Term]:
        """The terms that a polynomial is made of."""
        return {atom for product in self.polynomial(term) for atom in product}

    def build(self, polynomial: Polynomial, shape: Shape, element: str) -> Term:
        """The term of a polynomial, in normal form."""
        kept = {m: v for m, c in polynomial.items() if (v := wrap(c, element))}
        kept = self.steps(self.ceilings(kept, shape, element))
        if not kept:
            return self.store.const(0, shape, element)
        if len(kept) == 1:
            ((product, coefficient),) = kept.items()
            if not product:
                return self.store.const(coefficient, shape, element)
            if len(product) == 1 and coefficient == 1:
                return product[0]
        atoms = sorted({atom for m in kept for atom in m}, key=lambda atom: atom.number)
        place = {atom: index for index, atom in enumerate(atoms)}
        data = tuple(sorted((tuple(place[atom] for atom in m), c) for m, c in kept.items()))
        return self.store.term("poly", data, tuple(atoms), shape, element)

    def ceilings(self, p: Polynomial, shape: Shape, element: str) -> Polynomial:
        """`a/c + min(a mod c, 1)` is `cdiv(a, c)` for a >= 0, c > 0."""
        for product, coefficient in list(p.items()):
            if len(product) != 1 or product[0].op != "mini":
                continue
            one, other = sorted(product[0].args, key=lambda term: value_of(term) != 1)
            if value_of(one) != 1 or other.op != "poly":
                continue
            for inner in other.args:
                if inner.op != "div" or p.get((inner,)) != coefficient:
                    continue
                a, c = inner.args
                rest = self.subtract(a, self.multiply(inner, c))
                if rest is other and (value_of(c) or 0) > 0 and self.nonnegative(a):
                    q = {m: v for m, v in p.items() if m not in {product, (inner,)}}
                    ceiling = self.store.term("cdiv", "", (a, c), shape, element)
                    ceiling = self.counted(ceiling)
                    return total(q, self.polynomial(self.scale(ceiling, coefficient)), 1)
        return p

    def counted(self, quotient: Term) -> Term:
        """A number of tiles that a fact gives."""
        known = self.facts.equal.get(quotient)
        if known is None:
            return quotient
        a, b = quotient.args
        self.store.use(f"cdiv({a.data[1] if isinstance(a.data, tuple) else a}, {value_of(b)}) = {value_of(known)}")
        return known

    def steps(self, p: Polynomial) -> Polynomial:
        """`c*(i/n)` is `c/n * i` for a loop's variable i that starts at and goes up in multiples of n (I17)."""
        for product, coefficient in list(p.items()):
            for atom in product:
                inner = atom.args[0] if atom.is_op("exti", "signed") else atom
                n = _divides(inner)
                if n is None or coefficient % n:
                    continue
                variable = inner.args[0]
                if inner is not atom:
                    variable = self.store.term("exti", atom.data, (variable,), atom.shape, atom.element)
                rest = {m: v for m, v in p.items() if m != product}
                return self.steps(total(rest, {monomial(*without(product, atom), variable): coefficient // n}, 1))
        return p

    def scale(self, term: Term, factor: int) -> Term:
        p = {m: c * factor for m, c in self.polynomial(term).items()}
        return self.build(p, term.shape, term.element)

    def add(self, a: Term, b: Term) -> Term:
        return self.build(total(self.polynomial(a), self.polynomial(b), 1), a.shape, a.element)

    def subtract(self, a: Term, b: Term) -> Term:
        return self.build(total(self.polynomial(a), self.polynomial(b), -1), a.shape, a.element)

    def multiply(self, a: Term, b: Term) -> Term:
        return self.build(times(self.polynomial(a), self.polynomial(b)), a.shape, a.element)

    def nonnegative(self, t: Term) -> bool:
        """Whether the value is >= 0 as a signed number. Sums and products only without overflow (H6)."""
        if t.element == "i1":  # true is -1
            return value_of(t) == 0
        match t.op:
            case "const":
                return (value_of(t) or 0) >= 0
            case "bid" | "grid" | "tiles" | "fresh":
                return True
            case "iota":
                return (t.shape[0] - 1).bit_length() < int(t.element[1:])
            case "param":
                return isinstance(t.data, tuple) and t.data[0] in {"dim", "stride"}
            case "iv" | "map":
                return self.nonnegative(t.args[0])
            case "exti" | "remi":  # a remainder has the sign of what is divided
                return t.data == "signed" and self.nonnegative(t.args[0])
            case "div" | "cdiv" | "mini":
                return all(self.nonnegative(arg) or self.positive(arg) for arg in t.args)
            case "maxi":
                return (all if t.data else any)(self.nonnegative(arg) for arg in t.args)
            case "select":
                return all(self.nonnegative(arg) for arg in t.args[1:])
            case "poly":
                return self._nonnegativetotal(t)
            case _:
                return False

    def _nonnegativetotal(self, t: Term) -> bool:
        p = decode(t)
        if all(c > 0 and all(self.nonnegative(atom) for atom in m) for m, c in p.items()):
            return quotients.stays_below(self, p) or self.no_overflow(t)
        if self.positive(t) or quotients.split(self, t, p):
            return True
        return self.divisor(t) is not None

    def divisor(self, t: Term) -> Term | None:
        """b where t is a - b*(a/b), which is in [0, b); `div` has operands that are not negative."""
        if t.op != "poly":
            return None
        if t not in self.store.divisors:
            found = (
                atom.args[1]
                for atom in t.args
                if atom.op == "div" and t is self.subtract(atom.args[0], self.multiply(atom, atom.args[1]))
            )
            self.store.divisors[t] = next(found, None)
        return self.store.divisors[t]

    def positive(self, t: Term) -> bool:
        """`value >= 1`: constants, extents by hypothesis, tile counts, and rule I5."""
        known = value_of(t)
        if known is not None or t.element == "i1":
            return t.element != "i1" and (known or 0) >= 1
        if t.is_op("param") and isinstance(t.data, tuple) and t.data[0] == "dim":
            return self.facts.positive_extents and self.store.use("extents >= 1")
        if t.op == "cdiv":
            return self.positive(t.args[0]) and self.positive(t.args[1])
        if t.op in {"map", "iv"} or (t.op == "exti" and t.data == "signed"):  # a loop's variable only grows
            return self.positive(t.args[0])
        if t.op == "grid":
            return True
        if t.op == "mini":
            return all(self.positive(arg) for arg in t.args)
        return t.op == "poly" and (self._positive_product(t) or quotients.last_group(self, t))

    def _positive_product(self, t: Term) -> bool:
        p = decode(t)
        ((first, coefficient), *others) = p.items()
        return not others and coefficient > 0 and all(map(self.positive, first)) and self.no_overflow(t)

    def upper_bounds(self, x: Term) -> list[Term]:
        """Terms that `x` is known to be below."""
        found = [bound for small, bound in self.facts.below if small is x]
        if found:
            self.store.use("block ids are below the grid's size")
        if x.op == "iv":
            found.append(x.args[1])
        if x.op == "bid" and isinstance(x.data, str) and x.data in self.facts.grid:
            found += self.facts.grid[x.data]
            self.store.use(f"grid.{x.data} as given")
        divisor = self.divisor(x)
        return found if divisor is None else [*found, divisor]

    def maximum(self, t: Term) -> int | None:
        """A number that `t`, known to be >= 0 in all its parts, is not above; None when no bound is known."""
        known = value_of(t)
        if known is not None:
            return known
        if t in self.facts.limits:
            self.store.use(f"{t.data[-1] if isinstance(t.data, tuple) else t} <= {self.facts.limits[t]}")
            return self.facts.limits[t]
        match t.op:
            case "iota":
                return t.shape[0] - 1
            case "bid":
                tops = [top - 1 for bound in self.upper_bounds(t) if (top := value_of(bound)) is not None]
                if tops:
                    self.store.use("block ids are below the grid's size")
                return min(tops, default=None)
            case "map":
                return self.maximum(t.args[0])
            case "exti" if t.data == "signed":
                return self.maximum(t.args[0])
            case "div" | "cdiv":
                top, below = self.maximum(t.args[0]), value_of(t.args[1])
                if top is None or not below or below < 0:
                    return None
                return -(-top // below) if t.op == "cdiv" else top // below
            case "mini" if not t.data:
                tops = [top for top in map(self.maximum, t.args) if top is not None]
                return min(tops) if tops else None
            case "mini" | "maxi":
                both = [self.maximum(arg) for arg in t.args]
                return None if None in both else max(top for top in both if top is not None)
            case "iv":
                top = self.maximum(t.args[1])
                start, end, step = map(value_of, t.args)
                if start is not None and end is not None and step is not None and step > 0 and start < end:
                    return start + (end - start - 1) // step * step
                return None if top is None else top - 1
            case "poly" if (divisor := self.divisor(t)) is not None and value_of(divisor):
                return (value_of(divisor) or 1) - 1
            case "poly":
                total = 0
                for m, c in decode(t).items():
                    factor = c
                    for atom in m:
                        top = self.maximum(atom)
                        if top is None or not self.nonnegative(atom) or c < 0:
                            return None
                        factor *= top
                    total += factor
                return total if abs(total) < 1 << 31 else None
            case _:
                return None

    def starts_from(self, a: Term | None, b: Term) -> bool:
        """a <= b for a loop's variable b, which starts at a, at the greater of a and another number, or at such a
        variable."""
        if a is None or b.op != "iv" or not (value_of(b.args[2]) or 0) > 0:
            return False
        start, low, least = b.args[0], value_of(b.args[0]), value_of(a)
        if low is not None and least is not None:
            return least <= low
        return start is a or (start.is_op("maxi", "") and a in start.args) or self.starts_from(a, start)

    def following(self, t: Term) -> Term | None:
        """t + 1, where it does not wrap."""
        known = value_of(t)
        made = self.add(t, self.store.const(1, t.shape, t.element))
        if known is not None:
            return made if (value_of(made) or 0) == known + 1 else None
        return made if self.no_overflow(made) else None

    def of_variable(self, predicate: str, a: Term, b: Term) -> bool | None:
        """`a < b`, `a <= b` where one of them is a loop's variable, by where the loop starts and ends."""
        if "iv" not in {a.op, b.op} or predicate not in {"less_than", "less_than_or_equal"}:
            return None
        below = predicate == "less_than"
        if b.op == "iv":  # a < b is a + 1 <= b
            least = self.following(a) if below else a
            if self.starts_from(least, b):
                return True
            if least is not None and self.is_below(b, least):
                return False
            return None
        least = b if below else self.following(b)  # not a < b is b <= a
        if self.starts_from(least, a):
            return False
        if least is not None and self.is_below(a, least):
            return True
        return None

    def is_zero_below(self, a: Term, b: Term) -> bool:
        return value_of(a) == 0 and self.positive(b)

    def is_no_more(self, a: Term, b: Term) -> bool:
        """a <= b for sure. Where a < b + 1 holds, b + 1 has not wrapped."""
        known, top = value_of(b), self.maximum(a) if self.nonnegative(a) else None
        if known is not None and top is not None and top <= known:
            return True
        return self.is_below(a, self.add(b, self.store.const(1, b.shape, b.element)))

    def is_below(self, a: Term, b: Term) -> bool:
        """a < b for sure: constants, listed facts, loop variables, remainders."""
        x, y = value_of(a), value_of(b)
        if x is not None and y is not None:
            return x < y
        if any(bound is b or (bound.is_op("mini", "") and b in bound.args) for bound in self.upper_bounds(a)):
            return a.op != "bid" or self.store.use("block ids are below the grid's size")
        if y is not None and any((value_of(bound) or y + 1) <= y for bound in self.upper_bounds(a)):
            return True
        top = None if y is None else self.maximum(a)
        if y is not None and top is not None and top < y:
            return True
        if a.op == "maxi":
            return all(self.is_below(arg, b) or self.is_zero_below(arg, b) for arg in a.args)
        if a.op == "mini":
            return (all if a.data else any)(self.is_below(arg, b) for arg in a.args)
        for least, known in ((1, a), *((0, bound) for bound in self.upper_bounds(a))):
            gap = value_of(self.subtract(b, known)) if b.element == known.element else None
            if gap is not None and gap >= least and self.nonnegative(b):  # b - gap cannot wrap
                return known is a or a.op != "bid" or self.store.use("block ids are below the grid's size")
        return False


def _divides(term: Term) -> int | None:
    """n of `i/n` for a loop's variable i that is always a multiple of n."""
    if term.op != "div" or term.args[0].op != "iv":
        return None
    n = value_of(term.args[1])
    start, step = value_of(term.args[0].args[0]), value_of(term.args[0].args[2])
    if not n or n < 1 or start is None or step is None or start < 0 or step < 1 or start % n or step % n:
        return None
    return n

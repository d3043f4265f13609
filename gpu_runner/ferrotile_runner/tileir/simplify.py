"""Element-wise operations in normal form (rules T3, I2, I3, I6-I8, I10, I11).

Floats are never re-associated, commuted, fused or split: only their conversions of constants are folded.
"""

from __future__ import annotations

from msgspec import Struct, field

from ferrotile_runner.tileir import argmax, branch_facts, combining, conversions, shapes, widths
from ferrotile_runner.tileir.integers import Arithmetic
from ferrotile_runner.tileir.polynomials import decode, monomial, without
from ferrotile_runner.tileir.terms import Shape, Store, Term, is_integer, value_of, wrap

_BINDERS = frozenset({"for", "loop", "reduce", "scan", "effect"})
SWAPPED = {"greater_than": "less_than", "greater_than_or_equal": "less_than_or_equal"}
OPPOSITE = {
    "less_than": "less_than_or_equal",
    "less_than_or_equal": "less_than",
    "equal": "not_equal",
    "not_equal": "equal",
}
"""With the operands of the first two exchanged."""


class Rewriter(Struct):
    """The rules over one store; see `shapes.Rules`."""

    store: Store
    integers: Arithmetic
    clamps: list[branch_facts.Clamp] = field(default_factory=list)
    bounded: set[Term] = field(default_factory=set)
    """Scalar minima that were looked at for `clamps`."""

    def make(self, op: str, data: str, args: tuple[Term, ...], shape: Shape, element: str) -> Term:
        """`data`: the operation's attributes as words, `signed rounding<zero>`."""
        integer = is_integer(element)
        match op:
            case "addi" if integer:
                return self.integers.add(*args)
            case "subi" if integer:
                return self.integers.subtract(*args)
            case "muli" if integer:
                return self.integers.multiply(*args)
            case "negi" if integer:
                return self.integers.scale(args[0], -1)
            case "divi" | "remi":
                return self.division(op, data, args, shape, element)
            case "div" | "cdiv":
                return self.quotient(op, args, shape, element)
            case "mini" | "maxi" if "unsigned" not in data and element != "i1":  # where true is -1
                return self.extremum(op, args, shape, element)
            case "cmpi":
                return self.compare(data, args, shape)
            case "andi" | "ori" if element == "i1":
                return self.connective(op, args, shape)
            case "xori" if element == "i1":
                return self.exclusive(args, shape)
            case "andi" | "ori" | "xori" | "mulhii":
                return self.bitwise(op, data, args, shape, element)
            case "select":
                return self.select(args, shape, element)
            case "exti":
                return widths.extend(self, data, args[0], shape, element)
            case "trunci":
                return widths.truncate(self, data, args[0], shape, element)
            case "itof" | "ftof" | "bitcast":
                return conversions.convert(self, op, data, args[0], shape, element)
            case "cmpf":
                return conversions.compared(self, data, args, shape)
            case _:
                return self.store.term(op, data, args, shape, element)

    # division

    def division(self, op: str, data: str, args: tuple[Term, ...], shape: Shape, element: str) -> Term:
        a, b = args
        x, y = value_of(a), value_of(b)
        unsigned = "unsigned" in data
        overflows = y == -1 and x == -(1 << (int(element[1:]) - 1))
        if x is not None and y and not unsigned and not overflows:
            truncated = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            up, down = "positive_inf" in data, "negative_inf" in data
            value = x - truncated * y if op == "remi" else -(-x // y) if up else x // y if down else truncated
            return self.store.const(wrap(value, element), shape, element)
        if y == 1 and op == "divi":
            return a
        if self.integers.nonnegative(a) and self.integers.nonnegative(b):
            if op == "divi":
                return self.quotient("cdiv" if "positive_inf" in data else "div", args, shape, element)
            q = self.quotient("div", args, shape, element)
            return self.integers.subtract(a, self.integers.multiply(q, b))
        return self.store.term(op, data, args, shape, element)

    def quotient(self, op: str, args: tuple[Term, ...], shape: Shape, element: str) -> Term:
        """a/b rounded down (`div`) or up (`cdiv`), for a >= 0 and b >= 0."""
        a, b = args
        x, y = value_of(a), value_of(b)
        if x is not None and y:
            return self.store.const(-(-x // y) if op == "cdiv" else x // y, shape, element)
        if y == 1:
            return a
        if op == "div" and y and a.op == "poly":  # (y*q + r)/y = q for 0 <= r < y
            p = decode(a)
            rest = self.integers.build({m: c for m, c in p.items() if c % y}, shape, element)
            if len(p) > 1 and self.integers.nonnegative(rest) and self.integers.is_below(rest, b):
                whole = self.integers.build({m: c // y for m, c in p.items() if c % y == 0}, shape, element)
                if whole is not rest and self.integers.nonnegative(whole) and self.integers.no_overflow(a):
                    return whole
            if not shape and p.get(()) == y - 1:  # (n + y - 1)/y
                rest = self.integers.build({m: c for m, c in p.items() if m}, shape, element)
                if self.integers.nonnegative(rest) and self.integers.no_overflow(a):
                    return self.quotient("cdiv", (rest, b), shape, element)
        if op == "div" and y is None and a.op == "poly":  # the same for a divisor that is a term
            p = decode(a)
            multiples = {m: c for m, c in p.items() if m.count(b) == 1}
            rest = self.integers.build({m: c for m, c in p.items() if b not in m}, shape, element)
            whole = self.integers.build({without(m, b): c for m, c in multiples.items()}, shape, element)
            if multiples and all(m.count(b) < 2 for m in p) and self.integers.nonnegative(rest):
                bounded = self.integers.is_below(rest, b) and self.integers.nonnegative(whole)
                if bounded and self.integers.no_overflow(a):
                    return whole
        if op == "div" and self.integers.nonnegative(a) and self.integers.is_below(a, b):
            return self.store.const(0, shape, element)
        made = self.store.term(op, "", args, shape, element)
        return self.integers.counted(made)

    def extremum(self, op: str, args: tuple[Term, ...], shape: Shape, element: str) -> Term:
        x, y = (value_of(arg) for arg in args)
        if x is not None and y is not None:
            return self.store.const((min if op == "mini" else max)(x, y), shape, element)
        if args[0] is args[1]:
            return args[0]
        for known, other in ((args[0], args[1]), (args[1], args[0])):
            limit = value_of(known)
            if limit == 1 and self.integers.positive(other):
                return known if op == "mini" else other
            if limit == 0 and self.integers.nonnegative(other):
                return known if op == "mini" else other
            if limit != 1 and self.integers.is_no_more(other, known):  # min(a mod c, 1) belongs to `cdiv`
                return other if op == "mini" else known
        made = self.store.term(op, "", by_number(args), shape, element)
        if op == "mini" and not shape and made not in self.bounded:
            self.bounded.add(made)
            clamp = branch_facts.clamp_of(self, made)
            self.clamps += [] if clamp is None else [clamp]
        return made

    # comparison

    def compare(self, data: str, args: tuple[Term, ...], shape: Shape) -> Term:
        a, b = args
        predicate, _, rest = data.partition(" ")
        if a.element == "i1" and predicate in {"equal", "not_equal"} and (value_of(a), value_of(b)) != (None, None):
            fixed, other = (a, b) if value_of(a) is not None else (b, a)
            same = (value_of(fixed) == 1) == (predicate == "equal")
            return other if same else self.negation(other, shape)
        if predicate in SWAPPED:
            a, b, predicate = b, a, SWAPPED[predicate]
        if a.element == "i1" and predicate in {"less_than", "less_than_or_equal"}:  # signed, true is -1
            return self.store.term("cmpi", f"{predicate} {rest}", (a, b), shape, "i1")
        if "unsigned" in rest and predicate in {"less_than", "less_than_or_equal"}:
            if not self.integers.nonnegative(b):
                return self.store.term("cmpi", f"{predicate} unsigned", (a, b), shape, "i1")
            zero = self.store.const(0, a.shape, a.element)
            low = self.compare("less_than_or_equal signed", (zero, a), shape)
            return self.connective("andi", (low, self.compare(f"{predicate} signed", (a, b), shape)), shape)
        alike = widths.stripped(self, predicate, "unsigned" in rest, a, b)
        if alike is not None and alike[0] and predicate not in {"equal", "not_equal"}:
            return self.compare(f"{predicate} unsigned", (alike[1], alike[2]), shape)
        if alike is not None:
            a, b = alike[1], alike[2]
        narrow = (self.narrow(a), self.narrow(b)) if a.element == "i64" else (None, None)
        if narrow[0] is not None and narrow[1] is not None and narrow[0].element == narrow[1].element:
            a, b = narrow[0], narrow[1]
        known = self.decided(predicate, a, b)
        if known is not None:
            return self.store.const(int(known), shape, "i1")
        pair = by_number((a, b)) if predicate in {"equal", "not_equal"} else (a, b)
        return self.store.term("cmpi", predicate, pair, shape, "i1")

    def decided(self, predicate: str, a: Term, b: Term) -> bool | None:
        """The truth value of a signed comparison, where it is known."""
        x, y = value_of(a), value_of(b)
        if x is not None and y is not None:
            table = {"less_than": x < y, "less_than_or_equal": x <= y, "equal": x == y, "not_equal": x != y}
            return table[predicate]
        if a is b:
            return predicate in {"equal", "less_than_or_equal"}
        if predicate == "less_than" and y == 0 and self.integers.nonnegative(a):
            return False
        if predicate == "less_than_or_equal" and x == 0 and self.integers.nonnegative(b):
            return True
        if predicate == "less_than" and x == 0 and self.integers.positive(b):
            return True
        if predicate == "less_than" and x is not None and x < 0 and self.integers.nonnegative(b):
            return True
        if predicate in {"equal", "not_equal"} and (self.decided("less_than", a, b) or self.decided("less_than", b, a)):
            return predicate == "not_equal"
        if y is not None and predicate in {"less_than", "less_than_or_equal"} and self.integers.nonnegative(a):
            top = self.integers.maximum(a)
            if top is not None and (top < y or (top == y and predicate == "less_than_or_equal")):
                return True
        known = self.integers.of_variable(predicate, a, b)
        if known is not None:
            return known
        if predicate == "less_than":
            small, large = shapes.unsplat(self, a), shapes.unsplat(self, b)
            if small is not None and large is not None and self.integers.is_below(small, large):
                return True
        return None

    def narrow(self, t: Term) -> Term | None:
        """The i32 whose sign extension `t` is, if it is one."""
        known = value_of(t)
        if known is not None:
            return self.store.const(known, t.shape, "i32") if abs(known) < 1 << 31 else None
        if t.op == "exti" and t.data == "signed":
            return t.args[0] if t.args[0].element == "i32" else None
        if t.op != "poly" or not self.integers.no_overflow(t):
            return None
        if any(atom.op != "exti" or atom.data != "signed" or atom.args[0].element != "i32" for atom in t.args):
            return None
        p = {monomial(*(atom.args[0] for atom in m)): c for m, c in decode(t).items()}
        made = self.integers.build(p, t.shape, "i32")
        whole = all(abs(c) < 1 << 31 for c in p.values()) and self.integers.no_overflow(made)
        return made if whole else None  # else the narrow sum would be another number

    # booleans

    def bitwise(self, op: str, data: str, args: tuple[Term, ...], shape: Shape, element: str) -> Term:
        """Commutative bit operations and the high half of a product; all ones and zero are dropped or absorb."""
        x, y = (value_of(arg) for arg in args)
        if x is not None and y is not None and op != "mulhii":
            value = x & y if op == "andi" else x | y if op == "ori" else x ^ y
            return self.store.const(wrap(value, element), shape, element)
        for known, other in ((x, args[1]), (y, args[0])):
            match op, known:
                case ("andi", -1) | ("ori", 0) | ("xori", 0):
                    return other
                case ("andi", 0) | ("ori", -1):
                    return self.store.const(wrap(known or 0, element), shape, element)
                case ("xori", int()):
                    again = self.exclusive_again(other, known or 0, shape, element)
                    if again is not None:
                        return again
        return self.store.term(op, data, by_number(args), shape, element)

    def exclusive_again(self, other: Term, key: int, shape: Shape, element: str) -> Term | None:
        """`(x xor a) xor b` is `x xor (a xor b)`; of lanes that were combined under the same key see T10."""
        if other.op == "xori":
            inner, rest = other.args if value_of(other.args[0]) is not None else other.args[::-1]
            if value_of(inner) is not None:
                joined = self.store.const(wrap((value_of(inner) or 0) ^ key, element), shape, element)
                return self.bitwise("xori", "", (rest, joined), shape, element)
        return combining.exclusive(self, other, key)

    def connective(self, op: str, args: tuple[Term, ...], shape: Shape) -> Term:
        """Conjunctions and disjunctions are sets."""
        unit = 1 if op == "andi" else 0
        parts: dict[int, Term] = {}
        for arg in args:
            for part in arg.args if arg.op == op else (arg,):
                if value_of(part) == 1 - unit:
                    return self.store.const(1 - unit, shape, "i1")
                if value_of(part) is None:
                    parts[part.number] = part
        for number, part in list(parts.items()):
            parts[number] = self.absorbed(op, part, parts, shape)
        flat = [one for part in parts.values() for one in (part.args if part.op == op else (part,))]
        if any(value_of(one) == 1 - unit or self.negation(one, shape) in flat for one in flat):
            return self.store.const(1 - unit, shape, "i1")
        found = {one.number: one for one in flat if value_of(one) is None}
        if op == "andi" and len(found) > 1:
            implied = [n for n, one in found.items() if branch_facts.implied(self, one, found.values())]
            found = {n: one for n, one in found.items() if n not in implied}
        ordered = by_number(tuple(found.values()))
        if not ordered:
            return self.store.const(unit, shape, "i1")
        return ordered[0] if len(ordered) == 1 else self.store.term(op, "", ordered, shape, "i1")

    def absorbed(self, op: str, part: Term, parts: dict[int, Term], shape: Shape) -> Term:
        """`a or (not a and b)` is `a or b`, `a and (not a or b)` is `a and b`."""
        inner = "ori" if op == "andi" else "andi"
        if part.op != inner:
            return part
        others = [other for other in parts.values() if other is not part]
        kept = tuple(arg for arg in part.args if self.negation(arg, shape) not in others)
        return part if len(kept) == len(part.args) else self.connective(inner, kept, shape)

    def exclusive(self, args: tuple[Term, ...], shape: Shape) -> Term:
        a, b = args
        x, y = value_of(a), value_of(b)
        if x is not None and y is not None:
            return self.store.const(x ^ y, shape, "i1")
        if 0 in (x, y):
            return a if y == 0 else b
        if 1 in (x, y):
            return self.negation(a if y == 1 else b, shape)
        return self.store.term("xori", "", by_number(args), shape, "i1")

    def negation(self, a: Term, shape: Shape) -> Term:
        """Of an integer comparison the opposite one; floats have NaN."""
        one = self.store.const(1, shape, "i1")
        if a.op == "xori" and one in a.args:
            return a.args[0] if a.args[1] is one else a.args[1]
        if a.op in {"andi", "ori"}:
            parts = tuple(self.negation(arg, shape) for arg in a.args)
            return self.connective("ori" if a.op == "andi" else "andi", parts, shape)
        known = value_of(a)
        if known is not None:
            return self.store.const(1 - known, shape, "i1")
        if a.op == "cmpi" and isinstance(a.data, str):
            predicate, _, rest = a.data.partition(" ")
            left, right = a.args if predicate in {"equal", "not_equal"} else (a.args[1], a.args[0])
            return self.compare(f"{OPPOSITE[predicate]} {rest or 'signed'}", (left, right), shape)
        return self.store.term("xori", "", by_number((a, one)), shape, "i1")

    def select(self, args: tuple[Term, ...], shape: Shape, element: str) -> Term:
        c, a, b = args
        known = value_of(c)
        if known is not None:
            return a if known else b
        if a is b:
            return a
        if element != "i1":  # first of all, so that what follows sees the arm that the condition is about
            c, a, b = branch_facts.oriented(self, c, a, b)
        a = branch_facts.under(self, a, c)
        if a.op == "select" and a.args[0] is c:
            a = a.args[1]
        if b.op == "select" and b.args[0] is c:
            b = b.args[2]
        if element == "i1" and value_of(b) == 0:
            return self.connective("andi", (c, a), shape)
        if a.op == "select" and a.args[2] is b:
            both = self.connective("andi", (c, a.args[0]), shape)
            return self.select((both, a.args[1], b), shape, element)
        if element == "i32" and (index := argmax.of_select(self, (c, a, b))) is not None:
            return index
        arms = (c, a, b) if element == "i1" else branch_facts.oriented(self, c, a, b)
        return self.store.term("select", "", arms, shape, element)

    def rebuild(self, term: Term, replace: dict[Term, Term], deep: bool, memo: dict[Term, Term] | None = None) -> Term:
        """`term` with some sub-terms exchanged, simplified again.

        What holds lane by lane is used in element-wise operations only (not `deep`): other operations mix lanes. What
        binds variables is left as it is: they are others there, whatever their names."""
        memo = {} if memo is None else memo
        if term in replace:
            return replace[term]
        if term in memo:
            return memo[term]
        result = term
        passes = shapes.is_elementwise(term) or term.op == "poly"
        if term.op == "load_ptr" and not deep:  # lane by lane in its offset; the state is another time's
            base, offset, state = term.args
            moved = self.rebuild(offset, replace, deep, memo)
            result = self.store.term("load_ptr", term.data, (base, moved, state), term.shape, term.element)
        elif term.args and (passes or (deep and term.op not in _BINDERS)):
            args = tuple(self.rebuild(arg, replace, deep, memo) for arg in term.args)
            if any(new is not old for new, old in zip(args, term.args, strict=True)):
                result = self.again(term, args)
        result = replace.get(result, result)
        memo[term] = result
        return result

    def again(self, term: Term, args: tuple[Term, ...], shape: Shape | None = None) -> Term:
        """The operation of `term` on other arguments; of a sum also of another shape."""
        match term.op:
            case "poly":
                new = dict(zip(term.args, args, strict=True))
                shape = term.shape if shape is None else shape
                total = self.store.const(0, shape, term.element)
                for m, c in decode(term).items():
                    product = self.store.const(c, shape, term.element)
                    for atom in m:
                        product = self.integers.multiply(product, new[atom])
                    total = self.integers.add(total, product)
                return total
            case "map" if isinstance(term.data, tuple):
                return shapes.sink(self, args[0], term.shape, term.data)
            case "reshape":
                return shapes.reshape(self, args[0], term.shape)
            case _ if shapes.is_elementwise(term) and isinstance(term.data, str):
                return self.make(term.op, term.data, args, term.shape, term.element)
            case _:
                return self.store.term(term.op, term.data, args, term.shape, term.element)


def by_number(args: tuple[Term, ...]) -> tuple[Term, ...]:
    """Arguments of a commutative operation in their one order."""
    return tuple(sorted(args, key=lambda arg: arg.number))

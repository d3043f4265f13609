"""The smallest difference of two terms: which operation, and which part of it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ferrotile_runner.tileir.polynomials import decode
from ferrotile_runner.tileir.roles import LEAVES, ROLES, is_load, operation, role
from ferrotile_runner.tileir.simplify import OPPOSITE
from ferrotile_runner.tileir.terms import Store, Term, subterms
from ferrotile_runner.tileir.words import attributes, show

_MOVED = frozenset({"map", "poly", "reshape"})
_BOUNDS = frozenset({"cdiv", "div"})
_UNORDERED = frozenset({"andi", "ori", "xori", "mini", "maxi"})
_COST = 400
"""Terms that are counted to tell which of two differences is the smaller one."""


class Step(Struct, frozen=True):
    """An operation of both programs that differs in one part; `role` names the part."""

    python: Term
    rust: Term
    role: str


class Pair(Struct, frozen=True):
    """Two terms that differ, and the operations that lead to them, outermost first. `words` says how they differ, where
    that is more than that they are two. None: this program has nothing there."""

    steps: tuple[Step, ...]
    python: Term | None
    rust: Term | None
    words: str = ""

    @property
    def user(self) -> Step | None:
        """The innermost operation around the difference that computes something."""
        return next((step for step in reversed(self.steps) if step.python.op not in {"map", "reshape"}), None)

    @property
    def role(self) -> str:
        """The part of the innermost common operation, and its name."""
        step = self.user
        if step is None:
            return ""
        return step.role if step.role.startswith("in ") else f"{step.role} of {operation(step.python)}"


class Finder(Struct):
    """Compares terms of one store; what it found is kept by pair."""

    store: Store
    seen: dict[tuple[int, int], Pair | None]

    def differ(self, python: Term, rust: Term) -> Pair | None:
        """The smallest difference; of equally small ones the first. None when the terms are one."""
        if python is rust:
            return None
        key = (python.number, rust.number)
        if key not in self.seen:
            self.seen[key] = Pair((), python, rust)  # of a pair inside itself
            self.seen[key] = self._inner(python, rust)
        return self.seen[key]

    def _inner(self, python: Term, rust: Term) -> Pair:
        here = Pair((), python, rust)
        if python.op != rust.op or (python.op not in _MOVED and (rust in python.args or python in rust.args)):
            return replace(here, words=_wrapped(python, rust))
        if python.op in LEAVES:
            return here
        if python.op == "poly":
            return self._polynomials(python, rust) or here
        if python.op in _UNORDERED:
            return self._sets(python, rust)
        if python.data != rust.data:
            return self._data(python, rust)
        if len(python.args) != len(rust.args):
            return self._longer(python, rust)
        if python.shape != rust.shape:
            words = f"a tile of shape {python.shape} in the Python, of shape {rust.shape} in the Rust"
            return replace(here, words=f"{operation(python)} has {words}")
        places = [k for k, (a, b) in enumerate(zip(python.args, rust.args, strict=True)) if a is not b]
        if python.op in {"load", "load_ptr"} and places == [len(python.args) - 1]:
            words = f"{operation(python)} does not come behind the same writes in the Python and in the Rust"
            return replace(here, words=words)
        if python.op == "select" and len(places) == 3 and _crossed(python, rust, 1, 2):
            condition = self._opposite(rust.args[0])
            inner = None if condition is None else self.differ(python.args[0], condition)
            if inner is not None:
                return replace(inner, steps=(Step(python, rust, role(python, 0)), *inner.steps))
        if len(places) == 2 and python.op in {"cmpi", "cmpf"} and _crossed(python, rust, *places):
            return replace(here, words=f"the Python asks `{show(python, 3)}`, the Rust `{show(rust, 3)}`")
        if len(places) == 2 and _crossed(python, rust, *places):
            parts = "the indices" if python.op in {"load", "store", "atomic_red"} else "the operands"
            if python.op in ROLES:
                parts = " and ".join(role(python, place) for place in places)
            return replace(here, words=f"{parts} of {operation(python)} are exchanged")
        if python.op in _BOUNDS and len(places) == 2:
            return here
        if python.op == "load" and places[0] == 0:
            words = f"the Python loads `{show(python.args[0])}`, the Rust `{show(rust.args[0])}`"
            return replace(here, words=words)
        return self._smallest(python, rust, places) or here

    def _opposite(self, term: Term) -> Term | None:
        """The comparison that is true where this one is false."""
        if term.op != "cmpi" or term.data not in OPPOSITE:
            return None
        data = str(term.data)
        args = term.args[::-1] if data.startswith("less") else term.args
        made = self.store.term("cmpi", OPPOSITE[data], args, term.shape, term.element)
        self.store.origins.setdefault(made, term)
        return made

    def _smallest(self, python: Term, rust: Term, places: Sequence[int]) -> Pair | None:
        found: list[tuple[int, int, Pair]] = []
        if python.op in {"load", "load_ptr"} and len(places) > 1:
            places = [k for k in places if k < len(python.args) - 1]  # where it reads says more than behind what
        if python.op == "select" and 1 in places and is_load(python.args[1]) and is_load(rust.args[1]):
            inner = self.differ(python.args[1], rust.args[1])
            if inner is not None and inner.python is not None and inner.rust is not None:
                # The mask follows the index, unless the index was simplified under the mask.
                places = (1,) if inner.python.op == inner.rust.op else places
        for rank, k in enumerate(sorted(places, key=lambda k: _preference(python, k))):
            inner = self.differ(python.args[k], rust.args[k])
            if inner is not None:
                step = Step(python, rust, role(python, k))
                # What surrounds a difference adds nothing to its size.
                found.append((_cost(inner), rank, replace(inner, steps=(step, *inner.steps))))
        return min(found, key=lambda item: item[:2], default=(0, 0, None))[2]

    def _polynomials(self, python: Term, rust: Term) -> Pair | None:
        """Of two sums that differ in one product, by one factor, that factor."""
        left, right = decode(python), decode(rust)
        mine = {m: c for m, c in left.items() if right.get(m) != c}
        theirs = {m: c for m, c in right.items() if left.get(m) != c}
        if len(mine) != 1 or len(theirs) != 1:
            return None
        ((a, c),), ((b, d),) = mine.items(), theirs.items()
        one, other = list(a), list(b)
        for atom in a:
            if atom in other:
                one.remove(atom)
                other.remove(atom)
        if c != d or len(one) != 1 or len(other) != 1:
            return None
        inner = self.differ(one[0], other[0])
        if inner is None:
            return None
        step = Step(python, rust, f"the term `{show(one[0], 2)}`")
        return replace(inner, steps=(step, *inner.steps))

    def _sets(self, python: Term, rust: Term) -> Pair:
        here = Pair((), python, rust)
        mine = [arg for arg in python.args if arg not in rust.args]
        theirs = [arg for arg in rust.args if arg not in python.args]
        if len(mine) == 1 and len(theirs) == 1:
            inner = self.differ(mine[0], theirs[0])
            if inner is not None:
                return replace(inner, steps=(Step(python, rust, "an operand"), *inner.steps))
        for one, side, other in ((mine, "Python", "Rust"), (theirs, "Rust", "Python")):
            if len(one) == 1 and not (theirs if one is mine else mine):
                return replace(here, words=f"the {side} also asks `{show(one[0], 3)}`, the {other} does not")
        return here

    def _data(self, python: Term, rust: Term) -> Pair:
        here = Pair((), python, rust)
        if python.op in {"cmpi", "cmpf"}:
            left, right = (operation(term) for term in (python, rust))
            if left != right:
                return replace(here, words=f"the Python compares with {left}, the Rust with {right}")
        if python.op in {"map", "reshape"} and python.args == rust.args:
            return replace(here, words=f"`{show(python.args[0], 2)}` is spread along other axes")
        if python.op == "print":
            return replace(here, words=f"the Python prints {python.data!r}, the Rust {rust.data!r}")
        if isinstance(python.data, str) and isinstance(rust.data, str) and python.args == rust.args:
            left, right = (attributes(term)[1:-1] or "the default" for term in (python, rust))
            return replace(here, words=f"{operation(python)} is done with {left} in the Python, {right} in the Rust")
        if python.op in {"load", "store", "atomic_red"}:
            form = _form(python, rust)
            if form:
                return replace(here, words=f"{operation(python)} has {form}")
        if python.op in {"reduce", "scan"} and isinstance(python.data, tuple) and isinstance(rust.data, tuple):
            if python.data[0] != rust.data[0] and python.data[1:] == rust.data[1:]:
                axes = f"along axis {python.data[0]} in the Python, {rust.data[0]} in the Rust"
                return replace(here, words=f"{operation(python)} is done {axes}")
            if python.args[0] is rust.args[0]:
                return replace(here, words=f"the Python computes `{show(python, 2)}`, the Rust `{show(rust, 2)}`")
        if python.op == "arg" and python.args == rust.args:
            return replace(here, words=f"the Python computes `{show(python, 2)}`, the Rust `{show(rust, 2)}`")
        if python.op in {"for", "loop", "summary"} and isinstance(python.data, tuple) and isinstance(rust.data, tuple):
            return self._carried(python, rust, python.data, rust.data)
        return here

    def _carried(self, python: Term, rust: Term, left: tuple[object, ...], right: tuple[object, ...]) -> Pair:
        here = Pair((), python, rust)
        if len(left) > 2 and len(right) > 2 and left[2] != right[2]:
            words = f"the loop carries {left[2]} values in the Python, {right[2]} in the Rust"
            mine, theirs = _starts(python, left[2]), _starts(rust, right[2])
            for term in mine if len(mine) > len(theirs) else theirs:
                if mine.count(term) != theirs.count(term):
                    words += f": not passed on, or never changed, is one that starts from `{show(term, 2)}`"
                    break
            return replace(here, words=words)
        if len(left) > 3 and len(right) > 3 and left[3] != right[3]:
            if python.args == rust.args:
                words = f"the Python takes carried value {left[3]} of the loop, the Rust value {right[3]}"
                return replace(here, words=words)
            if len(python.args) == len(rust.args):
                places = [k for k, (a, b) in enumerate(zip(python.args, rust.args, strict=True)) if a is not b]
                return self._smallest(python, rust, places) or here
        return here

    def _longer(self, python: Term, rust: Term) -> Pair:
        """Effects of a loop's round that one program has more of."""
        here = Pair((), python, rust)
        if python.op not in {"for", "loop", "summary"}:
            return here
        count = min(len(python.args), len(rust.args))
        places = [k for k in range(count) if python.args[k] is not rust.args[k]]
        found = self._smallest(python, rust, places)
        if found is not None:
            return found
        more = python if len(python.args) > len(rust.args) else rust
        extra = more.args[count]
        step = Step(python, rust, "in a round")
        words = missing(extra, in_python=more is python)
        return Pair((step,), extra if more is python else None, extra if more is rust else None, words)


def _starts(loop: Term, count: object) -> list[Term]:
    """What the values that a loop carries start from."""
    first = 3 if isinstance(loop.data, tuple) and loop.data[0] == "for" else 0
    if loop.op == "for":
        first = 3
    return list(loop.args[first : first + count]) if isinstance(count, int) else []


def innermost(effect: Term) -> Term:
    """An effect without the loops and conditions around it; of a loop its last one."""
    while effect.op in {"guard", "for", "loop"}:
        effect = effect.args[-1]
    return effect


def missing(effect: Term, in_python: bool) -> str:
    """That one program does what the other does not."""
    does, lacks = ("Python", "Rust") if in_python else ("Rust", "Python")
    inner = innermost(effect)
    match inner.op:
        case "store" | "store_ptr":
            what = f"stores to `{show(inner.args[0])}`"
        case "print":
            what = "prints"
        case "fence":
            what = "synchronises with other blocks"
        case op if op.startswith("atomic"):
            what = f"updates `{show(inner.args[0])}`"
        case _:
            what = f"does {operation(inner)}"
    return f"the {does} {what} where the {lacks} does not"


def _form(python: Term, rust: Term) -> str:
    """How two views of one array differ: tile, steps, order of axes, ordering."""
    left, right = python.data, rust.data
    if not isinstance(left, tuple) or not isinstance(right, tuple) or len(left) != len(right):
        return ""
    first = next((k for k, part in enumerate(left) if isinstance(part, tuple)), 0)
    names = {first: "tiles of shape", first + 1: "tiles every", first + 2: "the axes", first + 3: "the gathered axis"}
    for k, (a, b) in enumerate(zip(left, right, strict=True)):
        if a != b:
            return f"{names.get(k, 'the order')} {_plain(a)} in the Python, {_plain(b)} in the Rust"
    return ""


def _plain(value: object) -> str:
    return " x ".join(map(str, value)) if isinstance(value, tuple) else str(value or "none")


def _wrapped(python: Term, rust: Term) -> str:
    """That one program applies an operation to what the other takes as it is."""
    for outer, inner, does, lacks in ((python, rust, "Python", "Rust"), (rust, python, "Rust", "Python")):
        if inner in outer.args and outer.op not in _MOVED:
            return f"the {does} applies {operation(outer)} to `{show(inner, 3)}`, the {lacks} takes it as it is"
    names = [operation(term) for term in (python, rust)]
    both = {"const", "param", "bid", "grid", "iv", "carry", "poly", "map", "iota"}
    if python.args == rust.args and python.args and not {python.op, rust.op} & both:
        return f"the Python computes {names[0]}, the Rust {names[1]}"
    return ""


def _crossed(python: Term, rust: Term, first: int, second: int) -> bool:
    a, b = python.args, rust.args
    return a[first] is b[second] and a[second] is b[first]


def _preference(term: Term, place: int) -> int:
    """Parts that are looked at first: of a padded load the load, which its mask follows."""
    return (1, 0, 2)[place] if term.op == "select" and place < 3 else place


def _cost(pair: Pair) -> int:
    """Terms in the smaller half of a difference."""
    sizes = []
    for term in (pair.python, pair.rust):
        if term is not None:
            sizes.append(sum(1 for _, _ in zip(subterms(term), range(_COST), strict=False)))
    return max(sizes, default=0)

"""`for` and `loop` as terms (rules T6, C2-C4)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from itertools import groupby, islice, permutations
from typing import TYPE_CHECKING

from ferrotile_runner.tileir import effects, exits, obligations, own_places, single, stretches
from ferrotile_runner.tileir.counting import Carried, Counter, counter_of, flag_of
from ferrotile_runner.tileir.exits import Leaf, Tree
from ferrotile_runner.tileir.memory import Before, LoopFrame, Marker
from ferrotile_runner.tileir.model import Operation, TokenType, Value
from ferrotile_runner.tileir.ordering import Round, behind_results, behind_rounds
from ferrotile_runner.tileir.stretches import Part
from ferrotile_runner.tileir.terms import Term, subterms, value_of
from ferrotile_runner.tileir.trace import Path, Summary, Unsupported

if TYPE_CHECKING:
    from ferrotile_runner.tileir.graph import Program

_ROUND = frozenset({"continue", "end"})
_STOP = frozenset({"break"})


def run(program: Program, operation: Operation) -> None:
    """Binds the results and writes the effects of a loop."""
    if operation.flag("unsigned"):
        raise Unsupported("an unsigned loop", operation.location)
    if operation.name == "for" and single.is_persistent_once(program, operation):
        single.once(program, operation)
        return
    loop = Loop(program, operation)
    few = stretches.trips(program.rewriter, loop.bounds) if loop.bounds else None
    if few is None:
        loop.run()
    else:
        stretches.few(loop, stretches.Part(loop.initial, loop.entered, loop.bounds, None, last=True), few)


class Loop:
    """Evaluates a body until its carried constants, dead values, counter and written arrays are known."""

    def __init__(self, program: Program, operation: Operation, part: Part | None = None) -> None:
        self.program, self.operation = program, operation
        self.region = operation.regions[0]
        self.counted = operation.name == "for"
        arguments = self.region.arguments
        self.induction: Value | None = arguments[0] if self.counted else None
        self.arguments = arguments[1:] if self.counted else arguments
        roles = ("lower", "upper", "step") if self.counted else ()
        self.bounds = tuple(program.term(operation.one(role)) for role in roles)
        values = operation.named["initial"]
        self.slots = [k for k, value in enumerate(self.arguments) if not isinstance(value.type, TokenType)]
        others = [k for k in range(len(self.arguments)) if k not in self.slots]
        self.initial: Mapping[int, Term] = part.initial if part else {k: program.term(values[k]) for k in self.slots}
        self.entered: Mapping[int, Before] = part.entering if part else {k: program.token(values[k]) for k in others}
        if part is not None and self.counted:
            self.bounds = part.bounds
        self.entering = dict(self.entered)
        self.is_part, self.is_last = part is not None, part is None or part.last
        self.given: set[int] = set()
        """Results that are bound."""
        self.fixed: dict[int, Term] = {}
        self.dead: set[int] = set()
        self.written: set[Term] = set()
        self.places: dict[Term, Hashable] = {}
        self.shared_places: set[Term] = set()
        self.flag: int | None = None
        self.counter: Counter | None = part.counter if part else None

    def part(self, part: Part) -> Term:
        """Runs a stretch of the same loop; when it stopped early."""
        few = stretches.trips(self.program.rewriter, part.bounds) if part.bounds else None
        if few is not None:
            self.given = {*self.slots}
            return stretches.few(self, part, few)
        loop = Loop(self.program, self.operation, part)
        stopped = loop.run()
        self.given = loop.given
        return stopped

    def run(self) -> Term:
        """Returns when the loop stops early."""
        program, trace = self.program, self.program.trace
        mark, memory = trace.mark(), trace.memory()
        conditions = len(program.conditions)
        nesting, program.nesting = program.nesting, 0
        never = program.store.const(0, (), "i1")
        program.depth += 1
        outer = program.loops
        while True:
            del program.conditions[conditions:]
            tree = self.body()
            program.loops, found = outer, program.conditions[conditions:]
            del program.conditions[conditions:]
            if exits.kinds(tree) <= _STOP and self.counter is None:
                trace.rollback(mark, memory)
                program.depth, program.nesting = program.depth - 1, nesting
                single.once(program, self.operation)
                return never
            again = self.learn(tree, mark[0], mark[1])
            if self.flag is not None and value_of(self.initial[self.flag]) != 0:
                trace.rollback(mark, memory)
                program.depth, program.nesting = program.depth - 1, nesting
                return self.behind(self.flag)
            if not again:
                break
            trace.rollback(mark, memory)
        point = None if self.is_part else stretches.split_point(self, [c for depth, c in found if depth == 0])
        if point is not None:
            trace.rollback(mark, memory)
            program.depth, program.nesting = program.depth - 1, nesting
            stretches.in_two(self, point)
            return never
        self.close(mark)
        trace.states = dict(memory.states)
        self.finish(tree, mark)
        program.depth, program.nesting = program.depth - 1, nesting
        stop = self.stop()
        return stop if value_of(stop) == 0 else program.store.term(*self.result("stopped"), (), "i1")

    def behind(self, flag: int) -> Term:
        """The loop where its flag is not set before it; else no round does anything (C8)."""
        before = self.initial[flag]
        zero = self.program.store.const(0, (), "i1")
        initial = {**self.initial, flag: zero}
        part = stretches.Part(initial, self.entered, self.bounds, None, last=self.is_last)
        stretches.unless(self, before, part)
        result = self.operation.results[flag].number
        made = self.program.values.get(result, zero)
        if value_of(before) == 0:
            return made
        self.program.values[result] = self.program.rewriter.connective("ori", (before, made), ())
        return self.program.values[result]

    def current(self) -> list[Term]:
        """What a round starts from."""
        return [self.program.values[self.arguments[k].number] for k in self.slots]

    def result(self, place: int | str) -> tuple[str, tuple[object, ...], tuple[Term, ...]]:
        return self.shape[0], (*self.shape, place), self.inner

    # one round

    def body(self) -> Tree:
        """One symbolic round."""
        program, store, depth = self.program, self.program.store, self.program.depth
        self.ordinal = program.trace.loop_count
        program.trace.loop_count += 1
        if self.counted:
            bounds = self.bounds
            variable = store.term("iv", depth, bounds, (), bounds[0].element)
        elif self.counter is not None:
            bounds = (self.initial[self.counter.slot], self.counter.upper, self.counter.step)
            variable = store.term("iv", depth, bounds, (), bounds[0].element)
        else:
            bounds, variable = (), store.term("turn", depth)
        self.rounds, self.variable = bounds, variable
        if self.induction is not None:
            program.values[self.induction.number] = variable
        self.order = self.sorted()
        for k in self.slots:
            program.values[self.arguments[k].number] = self.carried(k, variable)
        for k, before in self.entering.items():
            program.tokens[self.arguments[k].number] = before | {("carried", self.ordinal, k)}
        for base in self.written:
            entered = store.term("entered", depth, program.trace.state(base), (), "effect")
            program.trace.states[base] = (entered,)
            program.own_places.pop((base, entered), None)
            if base in self.places:
                program.own_places[base, entered] = self.places[base]
        program.loops = (*program.loops, LoopFrame(self.ordinal, variable))
        tree = program.region(self.region)
        for leaf in exits.leaves(tree):
            if leaf.kind == "return" or (self.counted and leaf.kind == "break"):
                raise Unsupported(f"a {leaf.kind} in a loop", self.operation.location)
            if leaf.kind == "yield":
                raise Unsupported("a yield in a loop", self.operation.location)
        return tree

    def carried(self, k: int, variable: Term) -> Term:
        store, depth, start = self.program.store, self.program.depth, self.initial[k]
        if k in self.fixed:
            return self.fixed[k]
        if k == self.flag:
            return store.const(0, (), "i1")
        if self.counter is not None and k == self.counter.slot:
            return variable
        rank = ("dead", k) if k in self.dead else self.order.index(k)
        return store.term("carry", (depth, rank), (), start.shape, start.element)

    def moving(self) -> list[int]:
        """Values that the loop's meaning is made of."""
        special = self.special()
        return [k for k in self.slots if k not in self.fixed and k not in self.dead and k not in special]

    def special(self) -> set[int | None]:
        """The flag and the counter."""
        return {self.flag, self.counter.slot if self.counter is not None else None}

    def sorted(self) -> list[int]:
        """By shape, type and start; ties in the order that the setting picks."""

        def key(k: int) -> tuple[tuple[int, ...], str, int]:
            start = self.initial[k]
            return (start.shape, start.element, start.number)

        groups = [tuple(group) for _, group in groupby(sorted(self.moving(), key=key), key=key)]
        total = math.prod(math.factorial(len(group)) for group in groups)
        self.program.trace.ties[self.ordinal] = total
        pick = self.program.setting.orders.get(self.ordinal, 0) % total
        order: list[int] = []
        for group in groups:
            pick, choice = divmod(pick, math.factorial(len(group)))
            order += next(islice(permutations(group), choice, None))
        return order

    # what a round teaches

    def learn(self, tree: Tree, start: int, accesses: int) -> bool:
        """Whether the body is to be evaluated again, with more known about it."""
        program, trace = self.program, self.program.trace
        self.tree = tree
        current = {k: program.values[self.arguments[k].number] for k in self.slots}
        self.next = {k: self.value(tree, k) for k in self.slots}
        before = self.known()
        self.written |= {base for base, _ in trace.effects[start:]}
        for k, entering in self.entering.items():
            passed = [leaf.tokens[k] or frozenset() for leaf in exits.leaves(tree) if leaf.kind in _ROUND]
            kept = frozenset[int | Marker].intersection(entering, *passed) if passed else entering
            self.entering[k] = kept
        paths = self.paths()
        tokens = {k: program.tokens[self.arguments[k].number] for k in self.entering}
        carried = Carried(current, self.initial, tokens)
        if self.counted and self.flag is None:
            self.flag = flag_of(tree, carried, self.moving(), paths)
        if not self.counted and self.counter is None:
            self.counter = counter_of(program.rewriter, tree, carried, paths)
        for k, value in self.next.items():
            if value is current[k] and k not in self.special() and k not in self.fixed and k not in self.dead:
                self.fixed[k] = self.initial[k]
        own_places.learn(self, accesses)
        if before == self.known():
            self.bury(start)
        return before != self.known()

    def known(self) -> tuple[object, ...]:
        """What earlier evaluations have shown."""
        sizes = len(self.fixed), len(self.dead), len(self.written)
        return (*sizes, self.flag, self.counter, dict(self.entering), dict(self.places))

    def paths(self) -> list[Path]:
        """The ways to all that a round does: accesses, checks, divisions."""
        trace = self.program.trace
        done = [(item.path, item.loops) for item in trace.accesses]
        done += [(item.path, item.loops) for item in trace.assertions]
        # What the Python assumes before a test is a fact about the rounds that are made, and about one more.
        mine = self.program.setting.is_original
        done += [(item.path, item.loops) for item in trace.obligations if not mine or item.term.op != "assumed"]
        done += [(item.path, item.loops) for item in trace.facts]
        return [path for path, loops in done if any(frame.ordinal == self.ordinal for frame in loops)]

    def value(self, tree: Tree, k: int) -> Term:
        """What the next round gets, or the loop gives when it stops here, if it is counted; else the former."""
        wanted = _ROUND | _STOP if self.counter is not None else _ROUND
        value = exits.merged(self.program.rewriter, tree, wanted, k)
        if value is not None:
            return value
        if any(leaf.kind in _ROUND for leaf in exits.leaves(tree)):
            raise Unsupported("a loop that passes on too little", self.operation.location)
        return self.program.values[self.arguments[k].number]

    def bury(self, start: int) -> None:
        """Values that neither effects nor conditions nor results depend on say nothing (C4)."""
        program, trace = self.program, self.program.trace
        roots: list[Term] = [effect for _, effect in trace.effects[start:]]
        number = self.mark_of(start)
        roots += [term for access in trace.accesses[number:] for term in (access.value, *access.index)]
        roots += [a.condition for a in trace.assertions] + [o.term for o in trace.obligations]
        roots += [f.condition for f in trace.facts] + [condition for path in self.paths() for condition, _ in path]
        roots += [self.next[k] for k in self.moving() if self.is_used(k)]
        roots.append(self.stop())
        if not self.counted and self.counter is None:
            roots += [out for k in self.moving() if (out := self.out(k)) is not None and self.is_used(k)]
        live: set[int] = {k for k in self.moving() if self.is_used(k)}
        names = {program.values[self.arguments[k].number]: k for k in self.moving()}
        seen: set[int] = set()
        while roots:
            for term in subterms(roots.pop(), seen):
                k = names.get(term, -1)
                if k >= 0 and k not in live:
                    live.add(k)
                    roots.append(self.next[k])
                    out = self.out(k)
                    roots += [out] if out is not None else []
        self.dead |= {k for k in self.moving() if k not in live}

    def mark_of(self, start: int) -> int:
        """The first access of this loop."""
        ordinal = self.ordinal
        found = (n for n, a in enumerate(self.program.trace.accesses) if any(f.ordinal == ordinal for f in a.loops))
        return next(found, len(self.program.trace.accesses))

    def is_used(self, k: int) -> bool:
        if not self.is_last:
            return True
        return k < len(self.operation.results) and self.operation.results[k].number in self.program.used

    def stop(self) -> Term:
        """When a round is the last one though the count says that more follow."""
        program = self.program
        if self.flag is not None:
            return self.next[self.flag]
        return exits.taken(program.rewriter, self.tree, _STOP)

    def out(self, k: int) -> Term | None:
        """What the loop gives where it breaks."""
        return exits.merged(self.program.rewriter, self.tree, _STOP, k)

    # the whole loop

    def close(self, mark: tuple[int, ...]) -> None:
        """Makes the term that says what the rounds are."""
        program, store, trace = self.program, self.program.store, self.program.trace
        stop = self.stop()
        counted = bool(self.rounds)
        outs = () if counted else tuple(self.out(k) or self.next[k] for k in self.order)
        name = "for" if counted else "loop"
        self.shape = (name, program.depth, len(self.order))
        carried = (*(self.initial[k] for k in self.order), *(self.next[k] for k in self.order))
        self.inner = (*self.rounds, *carried, *outs, stop)
        self.effects = trace.effects[mark[0] :]
        del trace.effects[mark[0] :]
        stops = value_of(stop) != 0
        bases = sorted({base for base, _ in self.effects}, key=lambda base: base.number)
        everything = tuple(effect for base in bases for owner, effect in self.effects if owner is base)
        summary = store.term("summary", self.shape, (*self.inner, *everything), (), "effect")
        trace.summaries[self.ordinal] = Summary(summary, stops, counted)
        if counted:
            obligations.step(program, self.operation, self.rounds[2])
        elif not self.effects:  # else it is a part of an effect, which the other program must have
            obligations.oblige(program, store.term("terminates", (), (summary,), (), "i1"), self.operation)

    def finish(self, tree: Tree, mark: tuple[int, ...]) -> None:
        """Results, effects and tokens."""
        program, store = self.program, self.program.store
        name = self.shape[0]
        for base in dict.fromkeys(base for base, _ in self.effects):
            inner = tuple(effect for owner, effect in self.effects if owner is base)
            effects.write(program, base, store.term(name, self.shape, (*self.inner, *inner), (), "effect"))
        for k, start in self.initial.items():
            if k >= len(self.operation.results):
                continue
            result = self.operation.results[k]
            if k in self.fixed and (self.counted or self.counter is not None or self.out(k) in {None, self.fixed[k]}):
                program.values[result.number] = self.fixed[k]
                self.given.add(k)
                continue
            if k == self.flag and value_of(self.next[k]) == 0:
                program.values[result.number] = self.next[k]
                self.given.add(k)
                continue
            place: int | str = self.order.index(k) if k in self.order else "stopped" if k == self.flag else "count"
            if k in self.dead:
                continue
            extra: tuple[Term, ...] = ()
            if place == "count" or k in self.fixed:
                out = self.out(k)
                extra = (out,) if out is not None else ()
                place = "count" if place == "count" else "out"
            made = store.term(name, (*self.shape, place), (*self.inner, *extra), start.shape, start.element)
            program.bind(self.operation, result, made)
            self.given.add(k)
        self.pass_tokens(tree, mark[1])

    def pass_tokens(self, tree: Tree, first: int) -> None:
        """What the tokens that the loop gives stand behind."""
        trace = self.program.trace
        last = len(trace.accesses)
        ways = [_round(leaf) for leaf in exits.leaves(tree)]
        again = [way for way, leaf in zip(ways, exits.leaves(tree), strict=True) if leaf.kind in _ROUND]
        stops = [way for way, leaf in zip(ways, exits.leaves(tree), strict=True) if leaf.kind in _STOP]
        inner = trace.accesses[first:last]
        tokens = list(self.entering)
        guaranteed = behind_rounds(self.ordinal, tokens, again, inner, first)
        for k in tokens:
            trace.carried[("carried", self.ordinal, k)] = guaranteed[k]
            if k < len(self.operation.results):
                result = self.operation.results[k]
                given = guaranteed[k] | self.entering[k]
                if not self.counted and (stops or self.counter is None):
                    broken = behind_results(self.ordinal, k, stops, guaranteed, inner, first)
                    given = broken if self.counter is None else given & broken
                self.program.tokens[result.number] = given


def _round(leaf: Leaf) -> Round:
    return Round(tuple(token or frozenset() for token in leaf.tokens), leaf.position, leaf.path)

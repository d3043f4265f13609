"""Kernels whose `return` is not their last statement: checked by running the program before and after the pass."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from ferrotile.passes.returns import structure_returns
from ferrotile.passes.uses import terminators
from ferrotile.program.ir import Block, End, For, If, Loop, Operation, Terminator, Value
from ferrotile.program.verifier import verify
from frontend_support import lower

_KERNELS = {
    "nested": "t = 1\nif n > 3:\n    if n > 5:\n        return\n    t = 2\nct.store(y, t, z)",
    "both sides": "if n > 3:\n    ct.store(y, 1, z)\n    if n > 5:\n        return\nelse:\n"
    "    if n < 0:\n        return\n    ct.store(y, 2, z)\nct.store(y, 3, z)",
    "for": "s = 0\nfor i in range(n):\n    if i > 3:\n        return\n    s += i\n"
    "    ct.store(y, s, z)\nct.store(y, 99, z)",
    "for in for": "for i in range(n):\n    for j in range(n):\n        if i + j > 4:\n"
    "            return\n        ct.store(y, i * 10 + j, z)\n    if i > 7:\n"
    "        continue\nct.store(y, 99, z)",
    "while": "i = 0\nwhile i < n:\n    if i > 3:\n        return\n    ct.store(y, i, z)\n"
    "    i += 1\n    if i == 2:\n        continue\nct.store(y, i, z)",
    "else": "if n > 3:\n    ct.store(y, 0, z)\nelse:\n    return\nct.store(y, 1, z)",
}


class _Stop(Exception):
    def __init__(self, end: Terminator, values: tuple[int, ...]) -> None:
        self.end = end.kind
        self.values = values


def _stores(block: Block, n: int) -> list[int]:
    """The indices that the program stores at, in order: a small interpreter of scalar programs."""
    known: dict[int, int] = {}
    stores: list[int] = []

    def many(values: tuple[Value, ...]) -> tuple[int, ...]:
        return tuple(known.get(v.id, n) for v in values)

    def compute(s: Operation) -> None:
        a = many(s.operands)
        match s.opcode:
            case "constant":
                value = s.attribute("value")
                assert isinstance(value, (int, float))
                known[s.result.id] = int(value)
            case "addi":
                known[s.result.id] = a[0] + a[1]
            case "muli":
                known[s.result.id] = a[0] * a[1]
            case "cmpi":
                tests = {"greater_than": a[0] > a[1], "less_than": a[0] < a[1], "equal": a[0] == a[1]}
                known[s.result.id] = int(tests[str(s.attribute("predicate"))])
            case "store_view":
                stores.append(many(s.operands[2:])[0])
            case other:
                assert other in ("make_view", "load_view"), other

    def trips(s: For | Loop) -> Iterator[int]:
        if isinstance(s, For):
            return iter(range(*many((s.lower, s.upper, s.step))))
        return itertools.count()

    def run(block: Block) -> _Stop:
        for s in block.statements:
            match s:
                case Operation():
                    compute(s)
                case If():
                    stop = run(s.then if known[s.condition.id] else s.otherwise)
                    if stop.end is not End.YIELD:
                        return stop
                    known.update(zip((r.id for r in s.results), stop.values, strict=True))
                case For() | Loop():
                    values = many(s.initial)
                    for trip in trips(s):
                        known.update(zip((v.id for v in s.arguments), values, strict=True))
                        if isinstance(s, For):
                            known[s.variable.id] = trip
                        stop = run(s.body)
                        values = stop.values
                        if stop.end is End.RETURN:
                            return stop
                        if stop.end is End.BREAK:
                            break
                    known.update(zip((r.id for r in s.results), values, strict=True))
        return _Stop(block.terminator, many(block.terminator.values))

    run(block)
    return stores


@pytest.mark.parametrize("name", _KERNELS)
def test_the_same_stores_with_one_return(name: str) -> None:
    body = "".join(f"    {line}\n" for line in ("z = ct.load(x, 0, 16)\n" + _KERNELS[name]).split("\n"))
    program = lower(f"@ct.kernel\ndef k(x, y, n):\n{body}", x="f32[1]", y="f32[1]", n="i32").program
    assert program is not None
    changed = structure_returns(program)
    assert verify(changed) == ()
    assert [t.kind for t in terminators(changed.body)].count(End.RETURN) == 1
    for n in range(-2, 12):
        assert _stores(changed.body, n) == _stores(program.body, n), n

"""Emission goes back a few statements when a line gets too wide: what comes out is what a fresh start would write."""

from __future__ import annotations

import operator
from pathlib import Path

import ferrotile.rust.emit as emission
import pytest
from ferrotile.comments import Comments
from ferrotile.passes.plan import Plan
from ferrotile.program.dtypes import BF16, F16, F32, DType, Kind
from ferrotile.rust.emit import Emitted, emit
from ferrotile.rust.journal import Journal
from ferrotile.rust.scope import Scope
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WIDE = """import cuda.tile as ct


# ferrotile: x: f32[M, N], y: f32[M, N], z: f32[M, N], TM=16, TN=32, n: i32, grid=(M/TM,)
@ct.kernel
def wide(x, y, z, n, TM: ct.Constant[int], TN: ct.Constant[int]):
    row = ct.bid(0)
    total = ct.zeros((TM, TN), dtype=ct.float32)
    for column in range(n):
        left_hand_side = ct.load(x, (row, column), (TM, TN))
        right_hand_side = ct.load(y, (row, column), (TM, TN))
        if n > 3:
            total = total * (left_hand_side + right_hand_side) - ct.exp(left_hand_side * right_hand_side - total) * (
                ct.where(left_hand_side > right_hand_side + total, left_hand_side - total, right_hand_side / total))
        total = total + ct.sqrt(left_hand_side * left_hand_side + right_hand_side * right_hand_side + total * total)
    ct.store(z, (row, 0), total)
"""


@pytest.mark.parametrize("text", [WIDE, *(p.read_text() for p in sorted(EXAMPLES.glob("*.py")))])
def test_resumed_text_is_that_of_a_fresh_start(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Emitted, Emitted]] = []

    def twice(plan: Plan, comments: Comments, named: frozenset[int]) -> Emitted:
        found = emit(plan, comments, named)
        made.append((found, emit(plan, comments, found.named)))
        return found

    monkeypatch.setattr("ferrotile.translate.emit", twice)
    translate_document(Document(text))
    for found, fresh in made:
        assert (found.text, found.source_map, found.entry) == (fresh.text, fresh.source_map, fresh.entry)


def test_one_attempt_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[int] = []
    real = emission._attempt

    def counted(*arguments: object) -> Emitted:
        attempts.append(1)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(emission, "_attempt", counted)
    (kernel,) = translate_document(Document(WIDE)).kernels
    assert kernel.rust is not None and max(map(len, kernel.rust.split("\n"))) <= 100
    assert len(attempts) == 1


def test_journal_takes_back() -> None:
    journal = Journal()
    names: dict[str, int] = journal.dict()
    names["a"] = 1
    mark = journal.mark()
    names["a"] = 2
    names["b"] = 3
    journal.back_to(mark)
    assert names == {"a": 1}


def test_scope_takes_back_and_asks_again() -> None:
    scope = Scope((), set())
    last = 9
    scope.declare("a", 0, lambda: last)
    mark = scope.mark()
    assert scope.declare("a", 5, 7).name != "a"
    last = 4
    scope.back_to(mark, {"a"})
    assert scope.declare("a", 5, 7).name == "a"


def test_equal_types_are_not_unequal() -> None:
    assert not operator.ne(DType("f16", Kind.FLOAT, 16), F16)
    assert operator.ne(F32, BF16)

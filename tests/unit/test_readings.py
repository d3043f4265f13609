"""What readers are told of expressions: types by cuTile Python's rules, worked out by hand."""

from __future__ import annotations

import ast

import pytest
from ferrotile.readings import Readings
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import FunctionSource, Module
from ferrotile.tiles import assigned_names, reading_at, values_text
from ferrotile.translate import translate_document

TEXT = """import cuda.tile as ct

LIMIT = 7


def scaled(v, by):
    w = v * by
    return w


# ferrotile: x: f16[M, N], y: f32[M], s: i32, TN=64, grid=(M,)
@ct.kernel
def rows(x, y, s, TN: ct.Constant[int]):
    i, zero = ct.bid(0), 0
    t = ct.load(x, index=(i, zero), shape=(1, TN))
    same = t
    half = TN // 2 + LIMIT
    wide = t.astype(ct.float32)
    again = wide.astype(ct.float32)
    total = ct.zeros((1,), ct.float32)
    for k in range(half):
        total += ct.sum(scaled(again, 2.0), axis=1) + k
    flag = total > 0.0
    mixed = scaled(t, 2) if TN > 32 else t
    ct.store(y, index=(i,), tile=ct.where(flag, total, 0.0))
"""


def kernel(text: str) -> tuple[Readings, Module, FunctionSource]:
    made = translate_document(Document(text))
    (one,) = made.kernels
    assert made.module is not None and one.readings is not None
    return one.readings, made.module, next(f for f in made.module.functions if f.name == one.name)


def test_every_variable_where_it_is_assigned() -> None:
    found = [(a.name, a.reading.text, a.again) for a in assigned_names(*kernel(TEXT))]
    assert found == [
        ("i", "i32", False),
        ("zero", "= 0", False),
        ("t", "f16[1, TN]", False),
        ("same", "f16[1, TN]", False),
        ("half", "= 39", False),
        ("wide", "f32[1, TN]", False),
        ("again", "f32[1, TN]", False),
        ("total", "f32[1]", False),
        ("k", "i32", False),
        ("total", "f32[1]", True),
        ("flag", "bool[1]", False),
        ("mixed", "f16[1, TN]", False),
    ]


@pytest.mark.parametrize(
    ("place", "text", "numbers"),
    [
        ("x, index", "f16[*, *]", None),
        ("TN // 2", "= 64", None),
        ("// 2 +", "= 32", None),
        ("LIMIT\n    wide", "= 7", None),
        ("scaled(again", "f32[1, TN]", "f32[1, 64]"),
        ("ct.float32)\n    total", "= f32", None),
        ("s, TN: ct", None, None),  # a parameter is no expression
    ],
)
def test_an_expression_of_the_kernel(place: str, text: str | None, numbers: str | None) -> None:
    readings, module, function = kernel(TEXT)
    found = reading_at(readings, module, function, TEXT.index(place))
    assert (None if found is None else found[2].text) == text
    if found is not None and found[2].type is not None:
        assert values_text(found[2].type) == numbers


def test_a_helper_that_is_called_with_several_types_has_none() -> None:
    readings, module, _ = kernel(TEXT)
    helper = next(f for f in module.functions if f.name == "scaled")
    names = {n.id: n for n in ast.walk(helper.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    assert readings.covers(helper.node)
    assert readings.of(helper.node, names["v"]) is None  # f32[1, TN] and f16[1, TN]
    one = kernel(TEXT.replace("scaled(t, 2) if TN > 32 else t", "t"))
    helper = next(f for f in one[1].functions if f.name == "scaled")
    assert [(a.name, a.reading.text) for a in assigned_names(one[0], one[1], helper)] == [("w", "f32[1, TN]")]


def test_a_refused_kernel_is_read_as_far_as_it_goes() -> None:
    found = assigned_names(*kernel(TEXT.replace("t.astype(ct.float32)", "ct.no_such(t)")))
    assert ("t", "f16[1, TN]") in [(a.name, a.reading.text) for a in found]
    assert "wide" not in [a.name for a in found]


def test_code_that_no_launch_runs_has_none() -> None:
    found = assigned_names(*kernel(TEXT.replace("    same = t\n", "    if TN > 100:\n        same = t\n")))
    assert "same" not in [a.name for a in found]

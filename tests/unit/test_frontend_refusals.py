"""What the cuTile front end refuses: the code and the exact text it points at."""

from __future__ import annotations

import re

import cuda.tile as ct
import pytest
from ferrotile.diagnostics.model import Severity
from ferrotile.frontends.cutile.advice import ATTRIBUTES, INSTEAD
from ferrotile.frontends.cutile.discover import find_kernels
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module
from ferrotile.translate import translate_document
from frontend_support import problems

_HEAD = "@ct.kernel\ndef k(x, n, T):\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = missing + 1", [("FT202", "missing")]),
        ("a = ct.load(x, 0, (3,))", [("FT204", "(3,)")]),
        ("a = ct.laod(x, 0, (4,))", [("FT210", "ct.laod")]),
        ("a = ct.load(x, (0, 0), (T,))", [("FT204", "(0, 0)")]),
        ("a = ct.load(x, 0, (T,), bogus=1)", [("FT205", "1")]),
        ("a = ct.full((T,), 1)", [("FT205", "ct.full((T,), 1)")]),
        ("a = [1]", [("FT201", "[1]")]),
        ("import os", [("FT201", "import os")]),
        ("x[0] = 1", [("FT203", "x[0]")]),
        ("return n", [("FT203", "return n")]),
        ("if ct.load(x, 0, T) > 1:\n        pass", [("FT209", "ct.load(x, 0, T) > 1")]),
        ("if n:\n        e = 1\n    f = e", [("FT202", "if n")]),
        ("if n:\n        g = 1\n    else:\n        g = 1.5\n    h = g", [("FT207", "g")]),
        ("t = 0\n    for q in range(n):\n        t = t + 1.0", [("FT207", "t")]),
        ("a = math.sqrt(2.0)", [("FT205", "math.sqrt(2.0)")]),
        ("for q in (1, 2):\n        pass", [("FT203", "for q in (1, 2):\n        pass")]),
        ("for q in range(0, n, -1):\n        pass", [("FT205", "range(0, n, -1)")]),
        ("break_ = len(x)", [("FT203", "len(x)")]),
        ("ct.store(x, 0, n.astype(ct.float64))", [("FT206", "ct.store(x, 0, n.astype(ct.float64))")]),
    ],
)
def test_refused(body: str, expected: list[tuple[str, str]]) -> None:
    assert problems(f"{_HEAD}    {body}\n", x="f32[1]", n="i32", T=16)[:1] == expected


def test_independent_errors_are_all_reported_and_followers_are_not() -> None:
    source = _HEAD + "    a = missing\n    b = a + 1\n    c = b * a\n    d = ct.nope(1)\n    ct.store(x, 0, c)\n"
    assert problems(source, x="f32[1]", n="i32", T=16) == [("FT202", "missing"), ("FT210", "ct.nope")]


def test_endless_recursion_is_refused() -> None:
    source = "def f(a):\n    return f(a)\n" + _HEAD + "    f(n)\n"
    assert [c for c, _ in problems(source, x="f32[1]", n="i32", T=16)] == ["FT205"]


def test_kernels_are_found_under_aliases() -> None:
    source = (
        "from cuda.tile import kernel as K\nimport cuda.tile as q\n"
        "@K\ndef a(x): pass\n@q.kernel(occupancy=2)\ndef b(x): pass\ndef c(x): pass\n"
    )
    assert [k.name for k in find_kernels(parse_module(Document(source)))] == ["a", "b"]


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("ct.sigmoid(t)", "write `1.0 / (1.0 + ct.exp(-x))`"),
        ("ct.program_id(0)", "write `ct.bid(axis)`"),
        ("ct.maximun(t, t)", "did you mean `ct.maximum`?"),
        ("ct.syncthreads()", "a tile block has no threads to wait for"),
        ("t.sum(0)", "write `ct.sum(x, ...)`"),
        ("t.to(ct.float16)", "write `x.astype(dtype)`"),
        ("t.T", "write `ct.transpose(x)`"),
        ("x.numel()", "write `the product of x.shape`"),
        ("t.mean()", "write `ct.sum(x, axis) / n`"),
        ("enumerate((1, 2))", "`ct.static_iter(...)` takes it"),
        ("sum((1, 2))", "for constants, write `ct.static_eval(...)`"),
    ],
)
def test_a_refusal_says_what_to_write(expression: str, advice: str) -> None:
    text = "import cuda.tile as ct\n# ferrotile: x: f32[N], T=16\n@ct.kernel\ndef k(x, T: ct.Constant[int]):\n"
    text += f"    t = ct.load(x, 0, T)\n    a = {expression}\n    ct.store(x, 0, t)\n"
    (one,) = translate_document(Document(text)).kernels
    (error,) = [d for d in one.diagnostics if d.severity is Severity.ERROR]
    assert advice in error.message


def test_every_advice_names_what_cuda_tile_has() -> None:
    """Only a name that is missing gets an advice, and the advice names nothing that is missing, too."""
    for name, text in (*INSTEAD.items(), *ATTRIBUTES.items()):
        used = set(re.findall(r"\bct\.(\w+)", text))
        assert used <= set(dir(ct)), (name, used)
    assert not set(INSTEAD) & {n for n in dir(ct) if not n.startswith("_")}

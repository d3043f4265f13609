"""Language features: what a kernel's Python means. Expected programs are derived by hand from the Tile IR that cuTile
Python 1.7 emits for the same kernels."""

from __future__ import annotations

import pytest
from ferrotile.frontends.cutile.discover import find_kernels
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module
from frontend_support import lower, text_of

_HEAD = "@ct.kernel\ndef k(x, y, n, T: ct.Constant[int]):\n"


def _stored(body: str, before: str = "") -> list[str]:
    """The operations of a body that ends in `ct.store(y, 0, ...)`, without the store, its view and index."""
    text = "".join(f"    {line}\n" for line in body.split("\n"))
    lines = text_of(before + _HEAD + text, x="f32[1]", y="f32[1]", n="i32", T=16)
    return [line for line in lines[1:-2] if "make_view" not in line]


def _value(expression: str, before: str = "", lines: str = "") -> object:
    """The constant that an expression is, read off a tile filled with it."""
    body = f"{lines}ct.store(y, 0, ct.full((T,), {expression}, ct.float32))"
    (constant,) = [line for line in _stored(body, before) if ": tile<Tx" in line]
    return float(constant.split("value = ")[1].split("}")[0])


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(1, 2, 3)[1:][0] + len((1, 2) + (3,))", 5),
        ("(1, 2, 3)[::-1][0]", 3),
        ("(*(1, 2), 5)[2]", 5),
        ("1 if (1, 2) == (1, 2) else 2", 1),
        ("1 if 2 in (1, 2) else 2", 1),
        ("1 if 'ab' == 'a' + 'b' else 2", 1),
        ("min(2.5, 3) + max(1, 2) + abs(-3)", 7.5),
        ("int('5') + int(3.9) + float('2.5')", 10.5),
        ("divmod(17, 5)[0] * 10 + divmod(17, 5)[1]", 32),
        ("tuple(i * i for i in ct.static_iter(range(5)) if i != 3)[3]", 16),
        ("len(tuple((i, j) for i in ct.static_iter(range(3)) for j in ct.static_iter(range(i))))", 3),
        ("(T and 0) + 1", 1),
        ("getattr(x, 'ndim')", 1),
        ("ct.static_eval(math.sqrt(16.0))", 4),
        ("ct.static_eval(sum([i * i for i in range(T)]))", 1240),
        ("ct.static_eval({1: 2, 3: 4}[3])", 4),
        ("ct.static_eval((T - 1).bit_length())", 4),
        ("ct.static_eval(sorted((3, 1, 2))[0])", 1),
        ("ct.static_eval((lambda a, b=2: a * b)(T))", 32),
        ("ct.static_eval(max((3, 8), key=lambda v: -v))", 3),
    ],
)
def test_compile_time_values(expression: str, value: float) -> None:
    assert _value(expression) == value


@pytest.mark.parametrize(
    ("before", "expression", "value"),
    [
        ("A = 3\nB = A * 2 + 1\n", "B", 7),
        ("G = [1, 2, 3]\nS = sum(G) if len(G) > 2 else 0\n", "S", 6),
        ("L = 1 / math.log(2)\n", "L > 1.44 and L < 1.45", 1),
        ("def up(v):\n    r = 1\n    while r < v:\n        r *= 2\n    return r\nW = up(13)\n", "W", 16),
        ("def up(v):\n    return 1 << (v - 1).bit_length()\n", "ct.static_eval(up(T - 3))", 16),
        ("class C:\n    B = 16\n    H = B // 2\n", "C.H", 8),
        ("import enum\nclass E(enum.Enum):\n    A = 4\n", "E.A.value", 4),
        ("from enum import IntEnum\nclass E(IntEnum):\n    A = 4\n", "E.A + 1", 5),
        ("from typing import NamedTuple\nclass P(NamedTuple):\n    a: int\n    b: int = 9\nQ = P(1)\n", "Q[1]", 9),
        ("S = 3\ndef f(a=S):\n    return a\n", "f()", 3),
    ],
)
def test_values_of_the_module(before: str, expression: str, value: float) -> None:
    assert _value(expression, before) == value


def test_a_nested_functions_default_is_taken_where_it_is_made_and_its_captures_where_it_is_called() -> None:
    body = "s = 3\ndef f(a, b=s):\n    return a * b * s\ns = 4\nct.store(y, 0, ct.full((T,), f(1), ct.float32))"
    (constant,) = [line for line in _stored(body) if ": tile<Tx" in line]
    assert "value = 12" in constant


_DATACLASS = """from dataclasses import dataclass, replace
@dataclass(frozen=True)
class Config:
    block: int
    scale: float = 2.0
    def scaled(self, t):
        return t * self.scale
    @property
    def half(self):
        return self.block // 2
    def __call__(self, a):
        return self.block + a
CONFIG = Config(16)
"""


def test_frozen_dataclasses_have_fields_methods_properties_and_calls() -> None:
    assert _value("CONFIG.half + CONFIG(4) + replace(CONFIG, block=2).block", _DATACLASS) == 30
    lines = _stored("ct.store(y, 0, CONFIG.scaled(ct.load(x, 0, CONFIG.block)))", _DATACLASS)
    assert any("mulf" in line for line in lines)


def test_a_dataclass_is_carried_through_loops_field_by_field() -> None:
    body = "p = Config(0)\nfor i in range(n):\n    p = Config(p.block + i)\nct.store(y, 0, ct.load(x, p.block, T))"
    lines = _stored(body, _DATACLASS)
    assert [line for line in lines if "carry(" in line] and any("addi" in line for line in lines)


def test_and_or_give_bools() -> None:
    lines = _stored("a = n and n + 1\nct.store(y, 0, ct.full((T,), a.astype(ct.float32), ct.float32))")
    # Both operands become bools by `!= 0`; neither is the value of the expression.
    assert sum("cmpi" in line and "not_equal" in line for line in lines) == 2


def test_a_comparison_of_tuples_looks_at_every_item() -> None:
    lines = _stored("c = (n, 2) == (3, n)\nct.store(y, 0, ct.full((T,), 1.0 if c else 2.0, ct.float32))")
    assert sum("cmpi" in line for line in lines) == 2
    assert sum("andi" in line for line in lines) >= 1


def test_in_joins_comparisons_without_branches() -> None:
    lines = _stored("c = n in (1, 2)\nct.store(y, 0, ct.full((T,), 1.0 if c else 2.0, ct.float32))")
    assert sum("cmpi" in line for line in lines) == 2 and sum("ori" in line for line in lines) == 1


def test_what_a_while_sets_in_every_way_out_is_known_behind_it() -> None:
    body = (
        "i = 0\nwhile True:\n    z = i * 2\n    i += 1\n    if i > n:\n        break\nct.store(y, 0, ct.load(x, z, T))"
    )
    lines = _stored(body)
    assert any("loop" in line and line.count("=") >= 3 for line in lines)


def test_a_constant_that_no_path_changes_stays_one() -> None:
    body = "t = T\nfor i in range(n):\n    t = T\nct.store(y, 0, ct.full((t,), 1.0, ct.float32))"
    assert any("tile<Txf32>" in line for line in _stored(body))


def test_the_variable_of_a_loop_is_known_behind_it_when_it_was_before() -> None:
    lines = _stored(
        "i = 5\nfor i in range(n):\n    ct.store(x, i, ct.full((T,), 0.0, ct.float32))\n"
        "ct.store(y, 0, ct.load(x, i, T))"
    )
    assert any("carry(" in line for line in lines)


def test_a_helper_that_returns_in_a_loop_is_a_loop_of_one_trip() -> None:
    before = "def f(a):\n    for i in range(a):\n        if i * i > a:\n            return i\n    return 0\n"
    lines = _stored("ct.store(y, 0, ct.load(x, f(n), T))", before)
    assert sum("break" in line for line in lines) >= 3
    assert any(line.startswith("%retval") or "retval" in line for line in lines)


def test_dead_code_and_untaken_branches_are_not_typed() -> None:
    lines = _stored(
        "if T < 3:\n    a = ct.nope(3)\nif x.dtype == ct.float16:\n    b = (1, 2)[n]\nct.store(y, 0, ct.load(x, 0, T))"
    )
    assert not any("if" in line for line in lines)


def test_kernels_are_found_in_classes_factories_and_calls() -> None:
    source = (
        "import cuda.tile as ct\n"
        "def body(x):\n    pass\nk = ct.kernel(body)\nq = ct.kernel(occupancy=2)(body)\n"
        "class K:\n    @staticmethod\n    @ct.kernel\n    def inner(x):\n        pass\n"
        "def make(B):\n    @ct.kernel\n    def made(x):\n        pass\n    return made\n"
    )
    assert [f.name for f in find_kernels(parse_module(Document(source)))] == ["k", "q", "inner", "made"]


def test_a_factorys_names_have_the_values_of_its_call() -> None:
    source = (
        "def make(B, act='none'):\n    H = B // 2\n    def double(t):\n        return t * 2.0\n    @ct.kernel\n"
        "    def k(x, y):\n        t = ct.load(x, 0, B)\n        if act == 'double':\n            t = double(t)\n"
        "        ct.store(y, H, t)\n    return k\nk = make(32, act='double')\n"
    )
    lines = text_of(source, x="f32[1]", y="f32[1]")
    assert any("mulf" in line and "tile<32xf32>" in line for line in lines)
    assert any("value = 16" in line for line in lines)


def test_a_factorys_unknown_parameter_is_assumed_and_told() -> None:
    source = (
        "def make(B):\n    @ct.kernel\n    def k(x, y):\n        ct.store(y, 0, ct.load(x, 0, (B,)))\n    return k\n"
    )
    lowered = lower(source, x="f32[1]", y="f32[1]")
    assert lowered.program is not None
    assert [d.code for d in lowered.diagnostics] == ["FT103"]


@pytest.mark.parametrize(
    "call",
    [
        # local names of the calling function, its defaults, and a loop over a table
        "def run(x):\n    size, act = 32, 'double'\n    return make(size, act=act)\n",
        "def run(x, size=32):\n    act = 'double'\n    return make(B=size, act=act)\n",
        "TABLE = {'double': 32}\nMADE = {n: make(s, n) for n, s in TABLE.items()}\n",
        "MADE = {}\nfor n, s in (('double', 32), ('none', 16)):\n    MADE[n] = make(s, n)\n",
        "import pytest\n@pytest.mark.parametrize('size, act', [(32, 'double'), (16, 'none')])\n"
        "def test(size, act):\n    make(size, act)\n",
        # what the call does not tell has its default or is assumed
        "def run(x):\n    return make(32, 'double', dtype=x.dtype)\n",
    ],
)
def test_a_factory_is_called_with_names_of_its_surroundings(call: str) -> None:
    source = (
        "def make(B, act='none', dtype=None):\n    @ct.kernel\n    def k(x, y):\n        t = ct.load(x, 0, B)\n"
        "        if act == 'double':\n            t = t * 2.0\n        ct.store(y, 0, t)\n    return k\n"
    )
    lines = text_of(source + call, x="f32[1]", y="f32[1]")
    assert any("mulf" in line and "tile<32xf32>" in line for line in lines)


def test_members_of_an_enumeration_that_count_by_themselves() -> None:
    source = (
        "import enum\nclass A(enum.IntEnum):\n    X = enum.auto()\n    Y = 7\n    Z = enum.auto()\n"
        "class F(enum.IntFlag):\n    P = enum.auto()\n    Q = enum.auto()\n    R = enum.auto()\n"
        "@ct.kernel\ndef k(x):\n    ct.store(x, A.X + 10 * A.Z + 100 * F.R, ct.load(x, 0, 1))\n"
    )
    assert any("value = 481" in line for line in text_of(source, x="f32[1]"))

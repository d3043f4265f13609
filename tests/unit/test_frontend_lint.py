"""What cuTile Python 1.7 rejects, at the places where it says so: codes and texts derived from its own errors."""

from __future__ import annotations

import pytest
from frontend_support import problems

_HEAD = "@ct.kernel\ndef k(x, n, T):\n"


def _problems(body: str, before: str = "") -> list[tuple[str, str]]:
    text = "".join(f"    {line}\n" for line in body.split("\n"))
    return problems(before + _HEAD + text, x="f32[1]", n="i32", T=16)


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ("a = [1]", "[1]"),
        ('a = {"a": 1}', '{"a": 1}'),
        ("a = [i for i in range(3)]", "[i for i in range(3)]"),
        ("if (a := n) > 2:\n    pass", "a := n"),
        ("assert n > 0", "assert n > 0"),
        ("a = 1\ndel a", "del a"),
        ("global Q", "global Q"),
        ("import os", "import os"),
        ("a, *b = (1, 2)", "*b"),
        ("x.foo = 1", "x.foo"),
        ("raise ValueError('x')", "raise ValueError('x')"),
        ("for i in range(n):\n    pass\nelse:\n    q = 1", "q = 1"),
        ("while n:\n    break\nelse:\n    q = 1", "q = 1"),
        ("for i in ct.static_iter(range(3)):\n    if n > i:\n        break", "break"),
        ("for i in ct.static_iter(range(3)):\n    return", "return"),
        ("a = ct.static_iter(range(3))", "ct.static_iter(range(3))"),
        ("ct.static_assert(T > 3, message='x')", "ct.static_assert(T > 3, message='x')"),
        ("a = tuple(i for i in range(3))", "range(3)"),
        ("@staticmethod\ndef f(a):\n    return a", "def f(a):\n        return a"),
        ("def f(a):\n    return [a]", "[a]"),
        ("if T < 3:\n    a = [1]", "[1]"),
        ("return\na = [1]", "[1]"),
        ('a = f"{T!r}"', "{T!r}"),
    ],
)
def test_syntax(body: str, at: str) -> None:
    found = _problems(body)
    assert found and found[0][0] == "FT201"
    assert at in found[0][1]


@pytest.mark.parametrize(
    ("body", "code", "at"),
    [
        ("a = not None", "FT203", "not None"),
        ("a = n == None", "FT203", "n == None"),
        ("a = (1, 2)[True]", "FT203", "(1, 2)[True]"),
        ("a = (1, 2) < (1, 3)", "FT203", "(1, 2) < (1, 3)"),
        ("a = (ct.load(x, 0, T), 1) == (1, 2)", "FT203", "(ct.load(x, 0, T), 1) == (1, 2)"),
        ("a = ct.load(x, 0, T) in (1, 2)", "FT203", "ct.load(x, 0, T) in (1, 2)"),
        ("a = True and ct.load(x, 0, T)", "FT209", "ct.load(x, 0, T)"),
        ("a = 2 ** 70", "FT208", "2 ** 70"),
        ("a = math.nope", "FT202", "math.nope"),
        ("t = 0\nfor i in range(n):\n    t = 1.0", "FT207", "t"),
        ("t = None\nfor i in range(n):\n    t = i", "FT207", "t"),
        ("i = 1.5\nfor i in range(n):\n    pass", "FT207", "i"),
        ("if n:\n    a = 1\nelse:\n    a = n.astype(ct.int64)\nb = a", "FT207", "a"),
        ("a = 1 if n else 2.0\nb = a + 1", "FT207", "2.0"),
        ("while n:\n    z = 1\nb = z", "FT202", "while n"),
        ("for i in range(n):\n    pass\nb = i", "FT202", "for i in range(n)"),
        ("for i in range(n.astype(ct.uint32)):\n    pass", "FT203", "range(n.astype(ct.uint32))"),
        ("i = 0\nwhile True:\n    i += 1", "FT201", "while True:\n        i += 1"),
        ("ct.static_assert(T == 15, f'T is {T}')", "FT211", "ct.static_assert(T == 15, f'T is {T}')"),
        ("ct.static_assert(T)", "FT203", "ct.static_assert(T)"),
        ("ct.static_assert(n > 1)", "FT203", "ct.static_assert(n > 1)"),
        ("a = ct.static_eval(1 // 0)", "FT205", "ct.static_eval(1 // 0)"),
        ("a = ct.static_eval([1, 2])", "FT205", "ct.static_eval([1, 2])"),
        ("a = ct.static_eval(1 if n else 2)", "FT205", "ct.static_eval(1 if n else 2)"),
        ("a = ct.static_eval(10 ** 10 ** 9)", "FT205", "ct.static_eval(10 ** 10 ** 9)"),
        (
            "if T > 3:\n    raise ct.static_exception(ValueError('no'))",
            "FT211",
            "raise ct.static_exception(ValueError('no'))",
        ),
        ("f = ct.exp\nif n:\n    f = ct.log\nb = f(1.0)", "FT207", "f = ct.exp"),
    ],
)
def test_values(body: str, code: str, at: str) -> None:
    assert (code, at) in [(c, t) for c, t in _problems(body)] or (code, at.split(" ")[0]) in _problems(body)


def test_a_message_names_the_assertion() -> None:
    from frontend_support import lower

    source = _HEAD + "    ct.static_assert(T == 15, f'T is {T}')\n"
    (found,) = lower(source, x="f32[1]", n="i32", T=16).diagnostics
    assert found.message == "static assertion failed: T is 16"


def test_all_errors_in_source_order() -> None:
    body = "a = missing\nb = [1]\nfor i in range(n):\n    c = ct.nope(1)\nreturn\nd = {1}"
    assert [c for c, _ in _problems(body)] == ["FT202", "FT201", "FT210", "FT201"]


@pytest.mark.parametrize(
    ("before", "body", "code"),
    [
        ("def deco(f):\n    return f\n@deco\ndef f(t):\n    return t\n", "a = f(n)", "FT205"),
        ("if True:\n    def f(t):\n        return t\nelse:\n    def f(t):\n        return n\n", "a = f(n)", "FT205"),
        ("G = 1\nG = 2\n", "a = G", "FT205"),
        ("G = [1]\n", "a = G[0]", "FT205"),
        ("sq = lambda t: t * t\n", "a = sq(n)", "FT205"),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\n", "a = P(n)", "FT203"),
        ("class C:\n    B = 1\nD = C()\n", "a = D.B", "FT205"),
        ("class C:\n    B = 1\n", "a = C.X", "FT205"),
    ],
)
def test_what_a_module_may_not_give(before: str, body: str, code: str) -> None:
    assert [c for c, _ in _problems(body, before)] == [code]

"""Branches assign the variables that a loop carries, as the Python does, and only where no one reads the old value."""

from __future__ import annotations

from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document

HEAD = """import cuda.tile as ct


# ferrotile: x: i32[M], y: i32[M], n: i32, T=16, grid=(M/T,)
@ct.kernel
def k(x, y, n, T: ct.Constant[int]):
    i = ct.bid(0)
    a, b = 0, 0
    for j in range(n):
"""
TAIL = """
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(T,)) + a + b)
"""


def _loop(*body: str) -> list[str]:
    """The lines of the loop's body, for these Python lines."""
    source = HEAD + "\n".join(f"        {line}" for line in body) + TAIL
    (kernel,) = translate_document(Document(source)).kernels
    assert kernel.rust is not None, kernel.diagnostics
    lines = [line.strip() for line in kernel.rust.splitlines()]
    start = next(k for k, line in enumerate(lines) if line.startswith("for j in"))
    return lines[start + 1 : lines.index("y.store(", start) if "y.store(" in lines else len(lines)]


def test_a_branch_assigns_the_carried_variable() -> None:
    lines = _loop("if j > 3:", "    a = a + j")
    assert lines[:3] == ["if j > 3 {", "a = a + j;", "}"]


def test_a_branch_within_a_branch_does_too() -> None:
    lines = _loop("if j > 3:", "    if b == 0:", "        a = a + j", "        b = j")
    assert lines[:6] == ["if j > 3 {", "if b == 0 {", "a = a + j;", "b = j;", "}", "}"]


def test_old_values_are_read_before_they_are_replaced() -> None:
    """`b` takes what `a` was."""
    lines = _loop("if j > 3:", "    old = a", "    a = b + 1", "    b = old")
    text = "\n".join(lines[: lines.index("}") + 1])
    names = {"a": 10, "b": 20}
    for line in text.splitlines():
        left, equal, right = line.removesuffix(";").removeprefix("let ").partition(" = ")
        if equal:
            names[left.split(":")[0].removeprefix("mut ")] = eval(right, {}, names)
    assert (names["a"], names["b"]) == (21, 10)


def test_a_value_read_after_the_branch_keeps_its_own_variable() -> None:
    """`a` is still wanted after the `if` that makes the next one."""
    lines = _loop("c = a", "if j > 3:", "    a = a + j", "b = b + c")
    assert lines[:3] == ["let a2: i32 = if j > 3 { a + j } else { a };", "b = b + a;", "a = a2;"]


def test_a_branch_that_stores_first_ends_with_its_value() -> None:
    lines = _loop("if j > 3:", "    b = b + 1", "    a = a + j", "else:", "    a = b")
    assert lines[:6] == ["if j > 3 {", "b = b + 1;", "a = a + j;", "} else {", "a = b;", "}"]


def test_what_an_inner_loop_left_is_read_before_it_is_replaced() -> None:
    lines = _loop("for m in range(j):", "    a = a + m", "c = a + 1", "b = b + a * 2", "a = c")
    assert lines[3:6] == ["let c = a + 1;", "b = b + a * 2;", "a = c;"]
    lines = _loop("for m in range(j):", "    a = a + m", "if j > 3:", "    c = a", "    a = j + 1", "    b = b + c * 2")
    assert lines[3:8] == ["if j > 3 {", "let a2 = j + 1;", "b = b + a * 2;", "a = a2;", "}"]

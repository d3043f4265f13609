"""Helper functions of a module: which there are, how they are called, and their names in a file of several kernels."""

from __future__ import annotations

import re

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document

HEAD = """import cuda.tile as ct

"""
SCALARS = """
# ferrotile: x: f32[M, N], y: f32[M, N], n: i32, m: i32, T=16, grid=(M, N/T)
@ct.kernel
def k(x, y, n, m, T: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, index=({row}, j), shape=(1, T))
    ct.store(y, index=(i, j), tile=t)
"""


def _rust(source: str) -> str:
    (kernel,) = translate_document(Document(HEAD + source)).kernels
    assert kernel.rust is not None, kernel.diagnostics
    return kernel.rust


@pytest.mark.parametrize(
    ("python", "rust"),
    [
        ("(n - m) // 3", "floor_div(n - m, 3)"),
        ("(n - m) % 3", "floor_mod(n - m, 3)"),
        ("n // m % 5", "floor_mod(floor_div(n, m), 5)"),
        ("i // 3", "i / 3"),
        ("i % 3", "i % 3"),
    ],
)
def test_division_and_remainder_read_like_the_python(python: str, rust: str) -> None:
    text = _rust(SCALARS.format(row=python))
    assert rust in text
    assert ("fn floor_div" in text) == ("floor_div" in rust)
    assert ("fn floor_mod" in text) == ("floor_mod" in rust)


def test_the_remainder_helper_says_pythons_rule() -> None:
    """The helper's lines, read as arithmetic on numbers, give what Python's `%` does, for all signs."""
    text = _rust(SCALARS.format(row="(n - m) % m"))
    body = text[text.index("fn floor_mod") :]
    wrong = re.search(r"scalar_to_tile\((\(.*\))\);", body)
    assert wrong is not None and "scalar_to_tile(r + b)" in body and "select(wrong, fixed, r" in body
    for a in range(-7, 8):
        for b in (-3, -1, 1, 2, 5):
            r = abs(a) % abs(b) * (1 if a >= 0 else -1)  # Rust's `%`
            correct = r + b if eval(wrong[1], {}, {"r": r, "b": b}) else r
            assert correct == a % b


def test_an_unchecked_load_is_the_core_s_own() -> None:
    """Rows of 64 at a run-time index: TMA, no padding asked, no check: `load_tile`, and no helper."""
    text = _rust(SCALARS.format(row="n").replace("shape=(1, T)", "shape=(8, T)"))
    assert "x.load_tile(shape![8, T], [n, j])" in text and "fn load" not in text


def test_rows_are_loaded_without_tma() -> None:
    text = _rust(SCALARS.format(row="i"))
    head = "fn load_row<E: ElementType, const S: [i32; 2]>(p: &Partition<E, S>, i: [i32; 2]) -> Tile<E, S> {"
    assert head in text and "let t: Tile<f32, { [1, T] }> = load_row(&x.partition(shape![1, T]), [i, j]);" in text


GATHERS = """
# ferrotile: x: f32[M, N], o: i32[P], y: f32[P], T=16, grid=(P/T,)
@ct.kernel
def rank_one_{name}(x, o, y, T: ct.Constant[int]):
    i = ct.bid(0)
    at = ct.load(o, index=(i,), shape=(T,))
    ct.store(y, index=(i,), tile=ct.gather(x, (at, {column})))
"""


def test_helpers_of_one_name_and_different_text_get_numbers_in_a_file() -> None:
    source = HEAD + GATHERS.format(name="a", column="at") + GATHERS.format(name="b", column="0")
    text = translate_document(Document(source)).render_file("k")
    heads = re.findall(r"fn (gather_at\w*)", text)
    assert heads == ["gather_at", "gather_at_2"]
    calls = re.findall(r"(gather_at\w*)\(x, at", text)
    assert calls == ["gather_at", "gather_at_2"]
    assert text.count("fn strides_of_2") == 1

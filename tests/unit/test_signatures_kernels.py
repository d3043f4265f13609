"""Kernels that a call makes, and annotations that choose the width of integers."""

from __future__ import annotations

import pytest
from ferrotile.cache import Cache
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation
from signature_support import shown

MADE = """import cuda.tile as ct


def body(x, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, (i,), ct.load(x, (i,), (T,)) * 2.0)


# ferrotile: x: f16[N], T=32, grid=(N/T)
k = ct.kernel(body)
"""
WIDE = """import cuda.tile as ct
from typing import Annotated
# ferrotile: T=32, grid=(4)
@ct.kernel
def k(x{}, n{}, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, (i,), ct.load(x, (i,), (T,)) + n)
"""


def only(text: str, cache: Cache | None = None) -> KernelTranslation:
    (one,) = translate_document(Document(text), cache=cache).kernels
    return one


def signature(one: KernelTranslation) -> str:
    assert one.signature is not None
    return shown(one.signature)


def test_a_directive_above_the_call_is_read() -> None:
    assert signature(only(MADE)) == "x: f16[N], T=32 | (N/32)"


def test_the_directive_above_the_call_wins_over_that_of_the_function() -> None:
    text = MADE.replace("\ndef body", "\n# ferrotile: x: f32[M], T=8, grid=(M/T)\ndef body")
    both = text + "\nj = ct.kernel(body)\n"
    first, second = translate_document(Document(both)).kernels
    named = {one.name: signature(one) for one in (first, second)}
    assert named == {"k": "x: f16[N], T=32 | (N/32)", "j": "x: f32[M], T=8 | (M/8)"}


def test_an_edit_of_that_directive_is_never_stale() -> None:
    cache = Cache()
    only(MADE, cache)
    assert signature(only(MADE.replace("T=32", "T=16"), cache)) == "x: f16[N], T=16 | (N/16)"
    wrong = MADE.replace("T=32", "T=oops")
    kept, fresh = only("\n" + wrong, cache), only("\n" + wrong)
    assert [(d.code, d.span) for d in kept.diagnostics] == [(d.code, d.span) for d in fresh.diagnostics]
    moved = only("\n\n" + wrong, cache)
    assert [(d.code, d.span) for d in moved.diagnostics] == [(d.code, d.span) for d in only("\n\n" + wrong).diagnostics]


@pytest.mark.parametrize(
    ("annotation", "dtype"),
    [
        ("", None),
        (": ct.ScalarInt64", "i64"),
        (": ct.ScalarInt64[int]", "i64"),
        (": Annotated[int, ct.ScalarAnnotation(dtype=ct.int64)]", "i64"),
        (": Annotated[int, ct.ScalarAnnotation(dtype=ct.int32)]", "i32"),
        (": int", "i32"),
    ],
)
def test_the_width_of_a_scalar(annotation: str, dtype: str | None) -> None:
    text = signature(only(WIDE.format("", annotation)))
    assert dtype is None or f"n: {dtype}" in text


@pytest.mark.parametrize(
    ("annotation", "refused"),
    [
        (": ct.IndexedWithInt64", True),
        (": ct.IndexedWithInt64[ct.Array]", True),
        (": Annotated[ct.Array, ct.ArrayAnnotation(index_dtype=ct.int64)]", True),
        (": Annotated[ct.Array, ct.ArrayAnnotation(index_dtype=ct.int32)]", False),
        (": ct.Array", False),
    ],
)
def test_64_bit_extents_are_refused_at_the_parameter(annotation: str, refused: bool) -> None:
    text = WIDE.format(annotation, ": int")
    found = [d for d in only(text).diagnostics if d.code == "FT302"]
    assert [Document(text).slice(d.span) for d in found] == ([f"x{annotation}"] if refused else [])


def test_a_list_annotation_is_refused() -> None:
    text = WIDE.format(": Annotated[list, ct.ListAnnotation(element=ct.IndexedWithInt64)]", ": int")
    assert "FT301" in [d.code for d in only(text).diagnostics]


def test_a_rounding_mode_of_a_private_module_is_the_public_one() -> None:
    text = """import cuda.tile as ct
from {} import RoundingMode
# ferrotile: x: f32[N], T=32, grid=(N/T)
@ct.kernel
def k(x, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, (i,), ct.truediv(ct.load(x, (i,), (T,)), 3.0, rounding_mode=RoundingMode.APPROX))
"""
    public, private = (only(text.format(m)).rust for m in ("cuda.tile", "cuda.tile._numeric_semantics"))
    assert public is not None and private == public
    assert only(text.format("cuda.tile._bytecode.encodings")).rust is None

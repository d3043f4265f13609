"""A conversion that flushes denormals is not one that keeps them, of constants neither (T3)."""

from __future__ import annotations

import pytest
from tileir_support import kernel, load, proof_of, store

WORDS = "x:N y:N"


def scaled(flush: str, constant: str = "1.000000e-40") -> str:
    """y[b] = x[b] * f32(f16 of a constant): 1e-40 is a denormal f32, 1e-5 a denormal f16."""
    lines = (
        load("a", "xv"),
        f"  %c = constant <f32: {constant}> : tile<16xf32>",
        f"  %h = ftof %c {flush} : tile<16xf32> -> tile<16xf16>",
        "  %w = ftof %h : tile<16xf16> -> tile<16xf32>",
        "  %r = mulf %a, %w : tile<16xf32>",
        store("%r", "yv", token="%a_t"),
    )
    return kernel("\n".join(lines))


@pytest.mark.parametrize("constant", ["1.000000e-40", "1.000000e-05"])
def test_the_flush_of_a_constant_counts(constant: str) -> None:
    assert proof_of(scaled("", constant), scaled("", constant), WORDS).equal
    assert proof_of(scaled("flush_to_zero", constant), scaled("flush_to_zero", constant), WORDS).equal
    assert not proof_of(scaled("", constant), scaled("flush_to_zero", constant), WORDS).equal


def test_a_conversion_to_the_same_type_may_flush() -> None:
    def same(flush: str) -> str:
        convert = f"  %r = ftof %a {flush} : tile<16xf32> -> tile<16xf32>"
        return kernel("\n".join((load("a", "xv"), convert, store("%r", "yv", token="%a_t"))))

    plain = kernel("\n".join((load("a", "xv"), store("%a", "yv", token="%a_t"))))
    assert proof_of(plain, same(""), WORDS).equal
    assert not proof_of(plain, same("flush_to_zero"), WORDS).equal

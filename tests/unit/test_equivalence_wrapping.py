"""Numbers that surely wrap, which no hypothesis rules out (H6, I4), booleans as numbers, names bound twice (T5)."""

from __future__ import annotations

import pytest
from tileir_support import COMMON, kernel, part, proof_of, store

WORDS = "x:N y:N"


def lanes(*lines: str, size: int = 16) -> str:
    """y[bid] = f32(%r), with %r of 16 lanes of i32."""
    body = "\n".join(f"  {line}" for line in lines)
    return kernel(f"{body}\n  %v = itof %r signed : tile<16xi32> -> tile<16xf32>\n{store('%v', 'yv')}")


def extended(factor: int, element: str, first: str) -> str:
    """lanes * factor, extended before or after; `first`: the operation that comes first."""
    wide = "i32" if element == "i8" else "i64"
    kinds = f"tile<16x{element}> -> tile<16x{wide}>"
    lines = [f"%i = iota : tile<16x{element}>"]
    if first == "exti":
        lines += [f"%m = constant <{wide}: {factor}> : tile<16x{wide}>", f"%e = exti %i signed : {kinds}"]
        lines += [f"%p = muli %e, %m : tile<16x{wide}>"]
    else:
        lines += [f"%m = constant <{element}: {factor}> : tile<16x{element}>", f"%q = muli %i, %m : tile<16x{element}>"]
        lines += [f"%p = exti %q signed : {kinds}"]
    if wide == "i64":
        lines += ["%k = constant <i64: 32> : tile<16xi64>", "%h = shri %p, %k signed : tile<16xi64>"]
        lines += ["%r = trunci %h : tile<16xi64> -> tile<16xi32>"]
    return lanes(*lines if wide == "i64" else (line.replace("%p =", "%r =") for line in lines))


@pytest.mark.parametrize(
    ("factor", "element", "fits"),
    [
        (8, "i8", True),
        (9, "i8", False),
        (143165576, "i32", True),
        (143165577, "i32", False),
        (1103515245, "i32", False),
    ],
)
def test_lanes_that_wrap_are_not_extended_first(factor: int, element: str, fits: bool) -> None:
    """15 * 8 < 128 <= 15 * 9; 15 * 143165576 < 2^31 <= 15 * 143165577."""
    python = extended(factor, element, "muli")
    assert proof_of(python, extended(factor, element, "exti"), WORDS, *COMMON).equal is fits
    assert proof_of(python, python, WORDS, *COMMON).equal


@pytest.mark.parametrize(("factor", "fits"), [(64, True), (1103515245, False)])
def test_a_hash_of_lanes_or_blocks_has_a_sign(factor: int, fits: bool) -> None:
    """1103515245 * 2 > 2^31: the third block has a negative one."""
    head = (f"%m = constant <i32: {factor}> : tile<i32>", "%z = constant <i32: 0> : tile<i32>")
    head += ("%q = muli %bx, %m : tile<i32>",)
    tail = ("%u = reshape %w : tile<i32> -> tile<1xi32>", "%r = broadcast %u : tile<1xi32> -> tile<16xi32>")
    clamped = lanes(*head, "%w = maxi %q, %z signed : tile<i32>", *tail)
    plain = lanes(*head, "%w = addi %q, %z : tile<i32>", *tail)
    assert proof_of(clamped, plain, WORDS, *COMMON).equal is fits


@pytest.mark.parametrize(("size", "fits"), [(128, True), (256, False)])
def test_lanes_of_a_narrow_type_may_be_negative(size: int, fits: bool) -> None:
    """Lane 128 of i8 is -128."""

    def text(value: str) -> str:
        kind = part("yv").replace("(16)", f"({size})")
        lines = (
            f"%i = iota : tile<{size}xi8>",
            f"%z = constant <i8: 0> : tile<{size}xi8>",
            f"%e = maxi %i, %z signed : tile<{size}xi8>",
            f"%v = itof {value} signed : tile<{size}xi8> -> tile<{size}xf32>",
            f"%p = make_partition_view %yv : {kind}",
            f"%s = store_view_tko weak %v, %p[%bx] token = %t : tile<{size}xf32>, {kind}, tile<i32> -> token",
        )
        return kernel("\n".join(lines))

    assert proof_of(text("%e"), text("%i"), WORDS, *COMMON).equal is fits


CHOSEN = ("%one = constant <i32: 1> : tile<16xi32>", "%two = constant <i32: 2> : tile<16xi32>")


def booleans(line: str) -> str:
    constants = [f"%{name} = constant <i1: {name}> : tile<16xi1>" for name in ("true", "false")]
    return lanes(*CHOSEN, *constants, line, "%r = select %c, %one, %two : tile<16xi1>, tile<16xi32>")


@pytest.mark.parametrize(
    "line",
    [
        "%c = cmpi less_than %false, %true, signed : tile<16xi1> -> tile<16xi1>",
        "%c = cmpi greater_than_or_equal %true, %false, signed : tile<16xi1> -> tile<16xi1>",
        "%c = maxi %false, %true signed : tile<16xi1>",
    ],
)
def test_true_is_the_smaller_boolean_with_a_sign(line: str) -> None:
    """One bit with a sign is 0 or -1."""
    wrong = lanes(*CHOSEN, "%r = subi %two, %one : tile<16xi32>")
    assert not proof_of(booleans(line), wrong, WORDS).equal
    assert not proof_of(booleans(line), booleans(line.replace("signed", "unsigned")), WORDS).equal
    assert proof_of(booleans(line), booleans(line), WORDS).equal


def nested(inner: str) -> str:
    """A reduction whose region reduces one lane."""
    return lanes(
        "%i = iota : tile<16xi32>",
        "%f = reduce %i dim=0 identities=[0 : i32] : tile<16xi32> -> tile<i32>",
        "(%l: tile<i32>, %m: tile<i32>) {",
        "  %o = reshape %l : tile<i32> -> tile<1xi32>",
        "  %n = reduce %o dim=0 identities=[0 : i32] : tile<1xi32> -> tile<i32>",
        "  (%p: tile<i32>, %q: tile<i32>) {",
        f"    %g = addi %p, {inner} : tile<i32>",
        "    yield %g : tile<i32>",
        "  }",
        "  %h = addi %n, %m : tile<i32>",
        "  yield %h : tile<i32>",
        "}",
        "%u = reshape %f : tile<i32> -> tile<1xi32>",
        "%r = broadcast %u : tile<1xi32> -> tile<16xi32>",
    )


def test_variables_of_two_reductions_are_not_mixed_up() -> None:
    proof = proof_of(nested("%q"), nested("%m"), WORDS)
    assert not proof.equal and "a loop or reduction in a reduction" in proof.reason


def compared(expression: str) -> str:
    """Lanes, extended to i64, under an operation against an extended extent."""
    return lanes(
        *CHOSEN,
        "%i = iota : tile<16xi32>",
        "%e = exti %i signed : tile<16xi32> -> tile<16xi64>",
        *(f"%c{n} = constant <i64: {n}> : tile<16xi64>" for n in (0, 1, 2**32, 2**32 + 1)),
        "%m = exti %n signed : tile<i32> -> tile<i64>",
        "%m1 = reshape %m : tile<i64> -> tile<1xi64>",
        "%m16 = broadcast %m1 : tile<1xi64> -> tile<16xi64>",
        f"%x = {expression} : tile<16xi64>",
        "%c = cmpi less_than %x, %m16, signed : tile<16xi64> -> tile<16xi1>",
        "%r = select %c, %one, %two : tile<16xi1>, tile<16xi32>",
    )


@pytest.mark.parametrize(
    ("expression", "same"),
    [("muli %e, %c1", True), (f"muli %e, %c{2**32 + 1}", False), (f"addi %e, %c{2**32}", False)],
)
def test_a_wide_sum_is_compared_in_32_bits_only_where_it_fits(expression: str, same: bool) -> None:
    assert proof_of(compared(expression), compared("addi %e, %c0"), WORDS, *COMMON).equal is same
    assert proof_of(compared(expression), compared(expression), WORDS, *COMMON).equal


def test_a_division_by_zero_is_undefined_not_an_error_of_the_prover() -> None:
    head = ("%z = constant <i32: 0> : tile<i32>", "%d = divi %bx, %z signed : tile<i32>")
    head += ("%p = muli %d, %n : tile<i32>", "%q = subi %bx, %p : tile<i32>", "%s = maxi %q, %z signed : tile<i32>")
    tail = ("%u = reshape {} : tile<i32> -> tile<1xi32>", "%r = broadcast %u : tile<1xi32> -> tile<16xi32>")
    clamped, plain = (lanes(*head, tail[0].format(name), tail[1]) for name in ("%s", "%q"))
    assert not proof_of(clamped, plain, WORDS, *COMMON).equal

"""Numbers that surely wrap, which no hypothesis rules out (H6, I4), booleans as numbers, names bound twice (T5)."""

from __future__ import annotations

import pytest
from tileir_support import COMMON, kernel, load, part, proof_of, store

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


def test_an_extended_boolean_is_negative() -> None:
    """True, with a sign, is -1 in every width."""
    head = ("%t = constant <i1: true> : tile<16xi1>", "%b = maxi %t, %t signed : tile<16xi1>")
    head += (
        "%e = exti %b signed : tile<16xi1> -> tile<16xi32>",
        "%z = constant <i32: 0> : tile<16xi32>",
    )
    clamped, plain = (lanes(*head, f"%r = {op} : tile<16xi32>") for op in ("maxi %e, %z signed", "addi %e, %z"))
    assert not proof_of(clamped, plain, WORDS, *COMMON).equal
    assert proof_of(plain, plain, WORDS, *COMMON).equal


def high_half(value: str, factor: int, first: str) -> str:
    """The high half of (value * factor) in 64 bits, extended before or after the product; `%n` is an extent."""
    kinds = "tile<i32> -> tile<i64>"
    numbers = {"max": 2147483647, "big": 1073741823, "minus": -1, "c0": 0, "c1": 1, "c3": 3, "f": factor}
    lines = [f"%{name} = constant <i32: {number}> : tile<i32>" for name, number in numbers.items()]
    lines += [value, f"%wf = constant <i64: {factor}> : tile<i64>", "%k = constant <i64: 32> : tile<i64>"]
    if first == "exti":
        lines += [f"%e = exti %q signed : {kinds}", "%p = muli %e, %wf : tile<i64>"]
    else:
        lines += ["%m = muli %q, %f : tile<i32>", f"%p = exti %m signed : {kinds}"]
    lines += ["%h = shri %p, %k signed : tile<i64>", "%u = trunci %h : tile<i64> -> tile<i32>"]
    lines += ["%u1 = reshape %u : tile<i32> -> tile<1xi32>", "%r = broadcast %u1 : tile<1xi32> -> tile<16xi32>"]
    return lanes(*lines)


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("%q = addi %bx, %n : tile<i32>", True),
        ("%q = divi %big, %c3 signed : tile<i32>", True),
        ("%q = divi %max, %n signed : tile<i32>", False),  # by an extent of 1
        ("%q = divi %max, %n signed rounding<positive_inf> : tile<i32>", False),
        ("%q = maxi %bx, %max unsigned : tile<i32>", False),
        ("%q = divi %minus, %n unsigned : tile<i32>", False),  # 2^32 - 1 by 1, 2, or 3
        ("%q = maxi %minus, %n unsigned : tile<i32>", True),  # is -1
    ],
)
def test_numbers_of_small_launches_that_wrap_are_under_no_hypothesis(value: str, fits: bool) -> None:
    """Two of these are 2^31 - 1 for the first blocks and smallest arrays: twice as much wraps in every launch."""
    python = high_half(value, 2, "muli")
    assert proof_of(python, high_half(value, 2, "exti"), WORDS, *COMMON).equal is fits
    assert proof_of(python, python, WORDS, *COMMON).equal


def counting(upper: str, step: int, is_loop: bool) -> str:
    """y[bid] = x[bid] for 0, step, ... below `upper`, by a `for` or by a `loop` that counts."""
    kept = f"tile<16xf32>, {part('yv')}, tile<i32> -> token"
    head = f"""  %c0 = constant <i32: 0> : tile<i32>
  %big = constant <i32: {upper if upper[0] != "%" else 0}> : tile<i32>
  %step = constant <i32: {step}> : tile<i32>
{load("a", "xv")}
  %q = make_partition_view %yv : {part("yv")}"""
    last = "%big" if upper[0] != "%" else upper
    put = f"  %s = store_view_tko weak %a, %q[%bx] token = %w : {kept}"
    if not is_loop:
        return kernel(f"""{head}
  %r = for %k in (%c0 to {last}, step %step) : tile<i32> iter_values(%w = %t) -> (token) {{
{put}
  continue %s : token
  }}""")
    return kernel(f"""{head}
  %r:2 = loop iter_values(%w = %t, %k = %c0) : token, tile<i32> -> token, tile<i32> {{
  %e = cmpi less_than %k, {last}, signed : tile<i32> -> tile<i1>
  if %e {{
  }} else {{
  break %w, %k : token, tile<i32>
  }}
{put}
  %next = addi %k, %step : tile<i32>
  continue %s, %next : token, tile<i32>
  }}""")


@pytest.mark.parametrize(
    ("upper", "step", "ends"),
    [
        ("1000", 100, True),
        ("2147483547", 100, True),
        ("2147483549", 100, False),
        ("2147483647", 1, True),
        ("%n", 100, True),
        ("%n", 2147483647, False),
    ],
)
def test_a_counter_may_step_over_the_largest_number(upper: str, step: int, ends: bool) -> None:
    """2147483548 + 100 is 2^31: a `loop` that counts by hundreds below 2147483549 may go on with a negative number."""
    assert proof_of(counting(upper, step, False), counting(upper, step, True), WORDS, *COMMON).equal is ends

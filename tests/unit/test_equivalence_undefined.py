"""What the Rust would be undefined for must not be where the Python is defined, also in code that nothing uses."""

from __future__ import annotations

import pytest
from tileir_support import COMMON, kernel, load, part, proof_of, store

WORDS = "x:N y:M"
COPY = f"{load('a', 'xv')}\n{store('%a', 'yv')}"
P8 = "partition_view<tile=(8), padding_value = zero, tensor_view<?xf32, strides=[1]>>"
P16 = part("xv", "zero")
STORE8 = """  %q = make_partition_view %yv : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
  %s = store_view_tko weak %v, %q[%bx] token = %t : tile<8xf32>, """
STORE8 += "partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token"
HEAD = "\n".join(f"  %c{k} = constant <i32: {k}> : tile<i32>" for k in (0, 1, 2, 5))
WHOLE = f"""{HEAD}
  %p = make_partition_view %xv : {P16}
  %w, %wt = load_view_tko weak %p[%bx] token = %t : {P16}, tile<i32> -> tile<16xf32>, token
"""


def sliced(offset: str) -> str:
    return kernel(f"{WHOLE}  %v = extract %w[{offset}] : tile<16xf32> -> tile<8xf32>\n{STORE8}")


def part_loaded(offset: str) -> str:
    """x[2 * bid + offset] in tiles of 8, beside the tile of 16."""
    return kernel(f"""{WHOLE}  %i0 = muli %bx, %c2 : tile<i32>
  %i = addi %i0, {offset} : tile<i32>
  %p8 = make_partition_view %xv : {P8}
  %v, %vt = load_view_tko weak %p8[%i] token = %t : {P8}, tile<i32> -> tile<8xf32>, token
{STORE8}""")


@pytest.mark.parametrize(("offset", "inside"), [("%c0", True), ("%c1", True), ("%c2", False), ("%m", False)])
def test_a_slice_lies_within_its_tile(offset: str, inside: bool) -> None:
    """A tile of 16 has two parts of 8."""
    assert proof_of(part_loaded(offset), sliced(offset), WORDS, *COMMON).equal is inside
    assert proof_of(sliced(offset), sliced(offset), WORDS, *COMMON).equal is (offset != "%c2")  # undefined anyway


def second_half(padding: str) -> str:
    """The lanes from 8 of a tile of 16 over an array of 8: nothing but padding."""
    view = "tensor_view<8xf32, strides=[1]>"
    kind = f"partition_view<tile=(16), padding_value = {padding}, {view}>"
    return kernel(f"""{HEAD}
  %v8 = make_tensor_view %x, shape = [8], strides = [1] : {view}
  %p = make_partition_view %v8 : {kind}
  %w, %wt = load_view_tko weak %p[%c0] token = %t : {kind}, tile<i32> -> tile<16xf32>, token
  %v = extract %w[%c1] : tile<16xf32> -> tile<8xf32>
{STORE8}""")


def test_a_slice_beyond_the_array_holds_the_padding() -> None:
    assert proof_of(second_half("zero"), second_half("zero"), "x:8 y:M", *COMMON).equal
    assert "padding" in proof_of(second_half("zero"), second_half("neg_inf"), "x:8 y:M", *COMMON).reason


def looping(head: str, body: str = "  continue") -> str:
    return kernel(f"{HEAD}\n  %n1 = subi %n, %c1 : tile<i32>\n  {head} {{\n{body}\n  }}\n{COPY}")


def stepping(step: str) -> str:
    return looping(f"for %k in (%c0 to %n, step {step}) : tile<i32>")


def test_the_rust_has_no_loop_that_may_never_end() -> None:
    python = kernel(f"{HEAD}\n{COPY}")
    assert "nothing shows that it ends" in proof_of(python, looping("loop"), WORDS, *COMMON).reason
    assert proof_of(looping("loop"), looping("loop"), WORDS, *COMMON).equal  # then neither does the Python
    for step, ends in (("%c1", True), ("%n", True), ("%c0", False), ("%n1", False)):
        assert proof_of(python, stepping(step), WORDS, *COMMON).equal is ends
    assert proof_of(stepping("%n1"), stepping("%n1"), WORDS, *COMMON).equal


def computing(*lines: str) -> str:
    """%d of the scalar %s, which nothing uses."""
    return kernel(f"{HEAD}\n" + "\n".join(f"  {line}" for line in lines) + f"\n{COPY}").replace(
        "%ys: tile<i32>", "%ys: tile<i32>, %s: tile<i32>"
    )


MINUS = "%m1 = constant <i32: -1> : tile<i32>"
AMOUNT = "%c{0} = constant <i32: {0}> : tile<i32>"
WIDENED = ("%e = exti %s signed : tile<i32> -> tile<i64>", "%w = exti %m1 signed : tile<i32> -> tile<i64>")
DIVIDED = [
    ((MINUS, "%d = divi %s, %m1 signed : tile<i32>"), False),  # the least number has no opposite
    ((MINUS, "%d = remi %s, %m1 signed : tile<i32>"), False),
    ((MINUS, "%d = divi %n, %m1 signed : tile<i32>"), True),  # extents are not negative
    ((MINUS, *WIDENED, "%d = divi %e, %w signed : tile<i64>"), True),
    (("%d = divi %s, %c2 signed : tile<i32>",), True),
    ((AMOUNT.format(31), "%d = shli %s, %c31 : tile<i32>"), True),
    ((AMOUNT.format(32), "%d = shli %s, %c32 : tile<i32>"), False),
    ((AMOUNT.format(40), "%d = shri %s, %c40 signed : tile<i32>"), False),
]


@pytest.mark.parametrize(("lines", "defined"), DIVIDED)
def test_quotients_and_shifts_that_nothing_uses_are_defined(lines: tuple[str, ...], defined: bool) -> None:
    python, rust, words = computing(), computing(*lines), "x:N y:M s"
    assert proof_of(python, rust, words, *COMMON).equal is defined
    assert proof_of(rust, rust, words, *COMMON).equal


def least_number(division: bool) -> str:
    number = "-2147483648"
    lines = [MINUS, f"%low = constant <i32: {number}> : tile<i32>"]
    lines += ["%d = divi %low, %m1 signed : tile<i32>"] if division else ["%d = addi %low, %c0 : tile<i32>"]
    body = "\n".join(f"  {line}" for line in lines)
    return kernel(f"""{HEAD}
{body}
  %f = itof %d signed : tile<i32> -> tile<f32>
  %f1 = reshape %f : tile<f32> -> tile<1xf32>
  %v = broadcast %f1 : tile<1xf32> -> tile<16xf32>
{store("%v", "yv")}""")


def test_the_least_number_by_minus_one_is_no_constant() -> None:
    assert not proof_of(least_number(False), least_number(True), WORDS, *COMMON).equal


def test_sizes_of_another_width_have_no_rule() -> None:
    body = f"""  %p = make_partition_view %xv : {part("xv")}
  %size = get_index_space_shape %p : {part("xv")} -> tile<TYPE>
{COPY}"""
    narrow, wide = (kernel(body.replace("TYPE", kind)) for kind in ("i32", "i64"))
    assert proof_of(narrow, narrow, WORDS, *COMMON).equal
    assert "another type than i32" in proof_of(narrow, wide, WORDS, *COMMON).reason

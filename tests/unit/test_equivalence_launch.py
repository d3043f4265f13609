"""What the launch says: several sizes of one grid axis, renamed axes, maps onto tiles, bounds; with mutants."""

from __future__ import annotations

import pytest
from tileir_support import kernel, load, proof_of, store

WORDS = "x:N y:M"
LAUNCH = ("bid.y = 0", "bid.z = 0", "extents >= 1", "index arithmetic does not overflow")
GRIDS = ("grid.x = cdiv(N, 16)", "grid.x = cdiv(M, 16)")
CONSTANTS = "\n".join(f"  %c{n} = constant <i32: {n}> : tile<i32>" for n in (0, 1, 2, 16))


def text(*parts: str) -> str:
    return kernel("\n".join((CONSTANTS, *parts)))


def checked(extent: str) -> str:
    """A check of the block id against a number of tiles."""
    return text(
        f"  %d = divi {extent}, %c16 signed rounding<positive_inf> : tile<i32>",
        "  %ok = cmpi less_than %bx, %d, signed : tile<i32> -> tile<i1>",
        '  assert %ok, "out of bounds" : tile<i1>',
        '  print_tko "block" -> token',
    )


@pytest.mark.parametrize("extent", ["%n", "%m"])
def test_each_size_of_a_grid_axis_bounds_the_block_id(extent: str) -> None:
    plain = text('  print_tko "block" -> token')
    assert proof_of(plain, checked(extent), WORDS, *LAUNCH, *GRIDS).equal
    assert proof_of(plain, checked(extent), WORDS, *LAUNCH, *reversed(GRIDS)).equal
    other = GRIDS[extent == "%n"]
    assert not proof_of(plain, checked(extent), WORDS, *LAUNCH, other).equal


def shown(axis: str) -> str:
    return text(
        "  %gx, %gy, %gz = get_num_tile_blocks : tile<i32>",
        f'  %p = print_tko "%d", %{axis} token=%t : tile<i32> -> token',
    )


def test_sizes_of_renamed_axes_are_renamed_with_them() -> None:
    renamed = ("rust bid.x = python bid.y", "rust bid.y = python bid.x")
    assert proof_of(shown("gx"), shown("gx"), WORDS).equal
    assert proof_of(shown("gx"), shown("gy"), WORDS, *renamed).equal
    assert not proof_of(shown("gx"), shown("gx"), WORDS, *renamed).equal
    assert not proof_of(shown("gy"), shown("gy"), WORDS, "python bid.y = 32 * bid.z + bid.y", "bid.y < 32").equal


@pytest.mark.parametrize(
    ("python", "rust", "same"),
    [("%i", "%d", True), ("%%i %i", "%%i %d", True), ("%%i %i", "%%d %d", False), ("%i", "%%d", False)],
)
def test_a_percent_sign_before_a_letter_is_no_conversion(python: str, rust: str, same: bool) -> None:
    """`%%i` prints a percent sign and a letter."""
    printed = [text(f'  %p = print_tko "{shown}", %bx token=%t : tile<i32> -> token') for shown in (python, rust)]
    assert proof_of(*printed, WORDS).equal is same


def joined(*lines: str) -> str:
    return text("  %four = constant <i32: 4> : tile<i32>", *lines)


def test_axes_that_the_rust_launch_joins() -> None:
    """Row `4 * bid.y + bid.x` of the Python is row `bid.x`; the ids themselves are its remainder and quotient."""
    python = joined(
        "  %f = muli %by, %four : tile<i32>", "  %r = addi %f, %bx : tile<i32>", load("a", "xv", "%r"),
        store("%a", "yv", "%r"), '  %p = print_tko "%d", %bx token=%t : tile<i32> -> token',
        '  %q = print_tko "%d", %by token=%p : tile<i32> -> token',
    )  # fmt: skip
    rust = joined(
        "  %i = remi %bx, %four signed : tile<i32>", "  %b = divi %bx, %four signed : tile<i32>",
        load("a", "xv", "%bx"), store("%a", "yv"),
        '  %p = print_tko "%d", %i token=%t : tile<i32> -> token',
        '  %q = print_tko "%d", %b token=%p : tile<i32> -> token',
    )  # fmt: skip
    facts = ("python bid.x = bid.x % 4", "python bid.y = bid.x // 4", "python grid.x = 4")
    assert proof_of(python, rust, WORDS, *LAUNCH[1:], *facts).equal
    assert not proof_of(python, rust, WORDS, *LAUNCH[1:], *(f.replace("4", "5") for f in facts)).equal
    assert not proof_of(python, rust, WORDS, *LAUNCH[1:]).equal
    swapped = ("python bid.y = bid.x % 4", "python bid.x = bid.x // 4")
    assert not proof_of(python, rust, WORDS, *LAUNCH[1:], *swapped).equal


def shown_number(*lines: str) -> str:
    numbers = "\n".join(f"  %c{n} = constant <i32: {n}> : tile<i32>" for n in (8, 14, 15))
    return text(numbers, *lines, '  %p = print_tko "%d", %d token=%t : tile<i32> -> token')


def test_a_division_that_rounds_up_by_its_dividend() -> None:
    up = shown_number("  %d = divi %n, %c16 signed rounding<positive_inf> : tile<i32>")

    def plus(number: str) -> str:
        total = f"  %s = addi %n, %{number} : tile<i32>"
        return shown_number(total, "  %d = divi %s, %c16 signed rounding<negative_inf> : tile<i32>")

    assert proof_of(plus("c15"), up, WORDS, *LAUNCH).equal
    assert not proof_of(plus("c14"), up, WORDS, *LAUNCH).equal
    assert not proof_of(plus("c16"), up, WORDS, *LAUNCH).equal
    assert not proof_of(plus("c15"), up, WORDS, *LAUNCH[:3]).equal  # the sum may wrap around


@pytest.mark.parametrize(
    ("step", "size", "once"), [("c8", 8, True), ("c16", 8, True), ("c2", 8, False), ("c16", 4, False)]
)
def test_a_loop_from_the_block_id_whose_step_leads_out_of_it(step: str, size: int, once: bool) -> None:
    body = [load("a", "xv", "{}"), store("%a", "yv", "{}")]
    numbers = "  %c8 = constant <i32: 8> : tile<i32>"
    looped = text(
        numbers,
        f"  for %i in (%bx to %c8, step %{step}) : tile<i32> {{",
        *(line.format("%i") for line in body),
        "    continue",
        "  }",
    )
    plain = text(numbers, *(line.format("%bx") for line in body))
    assert proof_of(looped, plain, WORDS, *LAUNCH, f"grid.x = {size}").equal is once


def test_two_names_of_one_conversion() -> None:
    assert proof_of(shown("gx"), shown("gx").replace('"%d"', '"%i"'), WORDS).equal
    assert not proof_of(shown("gx"), shown("gx").replace('"%d"', '"%x"'), WORDS).equal


def test_one_lane_of_iota_is_zero() -> None:
    def at(lane: str) -> str:
        return text(
            f"  %l = {lane}",
            "  %i = reshape %l : tile<1xi32> -> tile<i32>",
            "  %k = addi %bx, %i : tile<i32>",
            load("a", "xv", "%k"),
            store("%a", "yv"),
        )

    assert proof_of(at("iota : tile<1xi32>"), at("constant <i32: 0> : tile<1xi32>"), WORDS).equal
    assert not proof_of(at("iota : tile<1xi32>"), at("constant <i32: 1> : tile<1xi32>"), WORDS).equal


@pytest.mark.parametrize(
    ("value", "condition", "always"),
    [
        ("maxi %bx, %c15 signed", "less_than_or_equal %c0, %v", True),
        ("maxi %bx, %minus signed", "less_than_or_equal %c0, %v", True),
        ("maxi %bx, %minus unsigned", "less_than_or_equal %c0, %v", False),  # -1 is the greatest number
        ("mini %minus, %c15 signed", "less_than %v, %c2", True),
        ("mini %minus, %c15 unsigned", "less_than %v, %c2", False),
    ],
)
def test_unsigned_extremes_bound_nothing(value: str, condition: str, always: bool) -> None:
    printed = '  %p = print_tko "inside" token=%t -> token'
    guarded = text(
        "  %c15 = constant <i32: 15> : tile<i32>",
        "  %minus = constant <i32: -1> : tile<i32>",
        f"  %v = {value} : tile<i32>",
        f"  %q = cmpi {condition}, signed : tile<i32> -> tile<i1>",
        f"  if %q {{\n{printed}\n  }} else {{\n  }}",
    )
    assert proof_of(text(printed), guarded, WORDS).equal is always


GRID_VIEW = "tensor_view<?x?xf32, strides=[?,1]>"
TILES = f"partition_view<tile=(16x16), {GRID_VIEW}>"


def persistent(
    row: str = "divi %k, %columns signed", token: str = "%t", upper: str = "%tiles", tied: bool = False
) -> str:
    """Stores a tile at (k / columns, k % columns) for every block's share of the tiles."""
    carried = ("iter_values(%w = %t) -> (token) ", "%w", "  continue %s : token") if tied else ("", token, "  continue")
    result = "%f = " if tied else ""
    return f"""entry @k(%x: tile<ptr<f32>>, %n: tile<i32>, %m: tile<i32>, %x0: tile<i32>, %x1: tile<i32>) {{
  %t = make_token : token
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %gx, %gy, %gz = get_num_tile_blocks : tile<i32>
  %c16 = constant <i32: 16> : tile<i32>
  %v = constant <f32: 1.000000e+00> : tile<16x16xf32>
  %xv = make_tensor_view %x, shape = [%n, %m], strides = [%x0, 1] : tile<i32> -> {GRID_VIEW}
  %p = make_partition_view %xv : {TILES}
  %rows = divi %n, %c16 signed rounding<positive_inf> : tile<i32>
  %columns = divi %m, %c16 signed rounding<positive_inf> : tile<i32>
  %tiles = muli %rows, %columns : tile<i32>
  %more = addi %tiles, %columns : tile<i32>
  {result}for %k in (%bx to {upper}, step %gx) : tile<i32> {carried[0]}{{
  %i = {row} : tile<i32>
  %j = remi %k, %columns signed : tile<i32>
  %s = store_view_tko weak %v, %p[%i, %j] token = {carried[1]} : tile<16x16xf32>, {TILES}, tile<i32> -> token
{carried[2]}
  }}
  return
}}
"""


def test_a_map_onto_tiles_orders_the_rounds() -> None:
    launch = ("extents >= 1", "index arithmetic does not overflow")
    assert proof_of(persistent(tied=True), persistent(), "x:N,M", *launch).equal
    # the same row for two numbers: not one to one
    halved = "divi %k, %more signed"
    assert not proof_of(persistent(halved, tied=True), persistent(halved), "x:N,M", *launch).equal
    assert proof_of(persistent(halved, tied=True), persistent(halved, tied=True), "x:N,M", *launch).equal

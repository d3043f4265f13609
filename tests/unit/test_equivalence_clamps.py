"""Tiles kept in range by a clamp (I18), conditions that a mask implies (I19), guarded stores (C10), copies from before the
launch (M10), tiles that differ in any two rounds (M6), extents that are equal; each with its near misses."""

# ruff: noqa: E501  (one Tile IR operation is one line)

from __future__ import annotations

import pytest
from ferrotile_runner.tileir.equivalence import Proof, prove
from ferrotile_runner.tileir.hypotheses import Array, ParameterMap, parse
from ferrotile_runner.tileir.reader import read
from tileir_support import COMMON, kernel, load, part, proof_of, store

WORDS = "x:N y:M"
CONSTANTS = "\n".join(
    f"  %c{name} = constant <i32: {n}> : tile<i32>"
    for name, n in [*((str(n), n) for n in (0, 1, 2, 4, 8, 16, 32)), ("m", -1)]
)
ZERO = "  %zero = constant <f32: 0.000000e+00> : tile<16xf32>"


def text(*parts: str) -> str:
    return kernel("\n".join((CONSTANTS, ZERO, *parts)))


def lanes(first: str = "%bx", limit: str = "%n", predicate: str = "less_than") -> str:
    """`%place` (first * 16 + lane) and `%in` (place < limit)."""
    return f"""  %first = muli {first}, %c16 : tile<i32>
  %f1 = reshape %first : tile<i32> -> tile<1xi32>
  %f16 = broadcast %f1 : tile<1xi32> -> tile<16xi32>
  %lane = iota : tile<16xi32>
  %place = addi %f16, %lane : tile<16xi32>
  %l1 = reshape {limit} : tile<i32> -> tile<1xi32>
  %l16 = broadcast %l1 : tile<1xi32> -> tile<16xi32>
  %in = cmpi {predicate} %place, %l16, signed : tile<16xi32> -> tile<16xi1>"""


def pointers(array: str) -> str:
    return f"""  %p1{array} = reshape %{array} : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p16{array} = broadcast %p1{array} : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %p{array} = offset %p16{array}, %place : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>"""


GATHERED = "  %g, %g_t = load_ptr_tko weak %px, %in, %zero token=%t : tile<16xptr<f32>>, tile<16xi1>, tile<16xf32> -> tile<16xf32>, token"


def gathered() -> str:
    """x[16*bid.x + lane], zero outside, to tile bid.y of y: no launch fact says that a tile of x has number bid.x."""
    return text(lanes(), pointers("x"), GATHERED, store("%g", "yv", "%by"))


def clamped(
    number: str = "%bx", extent: str = "%n", size: str = "%c16", less: str = "%cm", kept: str = "%in", **where: str
) -> str:
    """The same by a tile whose number is kept between 0 and the last one."""
    return text(
        lanes(**where),
        f"  %count = divi {extent}, {size} signed rounding<positive_inf> : tile<i32>",
        f"  %last = addi %count, {less} : tile<i32>",
        f"  %low = mini {number}, %last signed : tile<i32>",
        "  %i = maxi %low, %c0 signed : tile<i32>",
        load("a", "xv", "%i", padding="zero"),
        "  %true = constant <i1: true> : tile<16xi1>",
        f"  %g = select {kept}, %a, %zero : tile<16xi1>, tile<16xf32>",
        store("%g", "yv", "%by"),
    )


def test_a_clamped_tile_is_the_tile_where_a_lane_is_inside() -> None:
    assert proof_of(gathered(), clamped(), WORDS, *COMMON).equal


@pytest.mark.parametrize(
    "changes",
    [
        {"number": "%by"},  # another tile
        {"extent": "%m"},  # another array's number of tiles
        {"size": "%c8"},  # it may then be 2 * cdiv(n, 16) - 1: outside
        {"size": "%c32"},  # it may then be too small a number
        {"less": "%c0"},  # one behind the last
        {"kept": "%true"},  # lanes of the last tile where there is none
        {"predicate": "less_than_or_equal"},
        {"limit": "%m"},
    ],
)
def test_another_clamp_is_refused(changes: dict[str, str]) -> None:
    assert not proof_of(gathered(), clamped(**changes), WORDS, *COMMON).equal


def test_a_clamp_needs_that_indices_do_not_overflow() -> None:
    """Else 16*bid.x + lane may be a small number again for a large block id."""
    assert not proof_of(gathered(), clamped(), WORDS, "extents >= 1").equal


SCATTERED = "  %st = store_ptr_tko {semantics} %py, %zero, %{mask} token=%t : tile<16xptr<f32>>, tile<16xf32>, tile<16xi1> -> token"


def condition(name: str, a: str, b: str, predicate: str = "less_than") -> str:
    return f"  %{name} = cmpi {predicate} {a}, {b}, signed : tile<i32> -> tile<i1>"


def masked(a: str = "%by", b: str = "%n", semantics: str = "weak") -> str:
    """y[16*bid.x + lane] = 0 on the lanes inside, if a < b: by a mask."""
    return text(
        lanes(limit="%m"),
        condition("c", a, b),
        "  %c1_ = reshape %c : tile<i1> -> tile<1xi1>",
        "  %cl = broadcast %c1_ : tile<1xi1> -> tile<16xi1>",
        "  %both = andi %cl, %in : tile<16xi1>",
        pointers("y"),
        SCATTERED.format(semantics=semantics, mask="both"),
    )


def guarded(*conditions: str, test: str = "%c", semantics: str = "weak") -> str:
    """The same by an `if`."""
    stored = SCATTERED.format(semantics=semantics, mask="in")
    return text(lanes(limit="%m"), *conditions, pointers("y"), f"  if {test} {{", stored, "    yield", "  }")


def test_a_store_under_a_condition_is_one_with_the_condition_in_its_mask() -> None:
    assert proof_of(masked(), guarded(condition("c", "%by", "%n")), WORDS, *COMMON).equal
    assert not proof_of(masked(), guarded(condition("c", "%by", "%m")), WORDS, *COMMON).equal
    assert not proof_of(masked(), guarded(condition("c", "%by", "%n", "less_than_or_equal")), WORDS, *COMMON).equal


def test_a_store_that_synchronises_is_not_moved_into_its_mask() -> None:
    """A release without a lane may still publish what was written before."""
    python = masked(semantics="release device")
    rust = guarded(condition("c", "%by", "%n"), semantics="release device")
    assert not proof_of(python, rust, WORDS, *COMMON).equal
    assert proof_of(python, python, WORDS, *COMMON).equal


@pytest.mark.parametrize(("size", "good"), [("%c16", True), ("%c8", True), ("%c32", False)])
def test_a_condition_that_the_mask_implies_is_left_out(size: str, good: bool) -> None:
    """16*bid.x + lane < m gives bid.x < cdiv(m, 16) and so bid.x < cdiv(m, 8), but not bid.x < cdiv(m, 32): m = 33."""
    plain = text(lanes(limit="%m"), pointers("y"), SCATTERED.format(semantics="weak", mask="in"))
    count = f"  %count = divi %m, {size} signed rounding<positive_inf> : tile<i32>"
    proof = proof_of(plain, guarded(count, condition("c", "%bx", "%count")), WORDS, *COMMON)
    assert proof.equal == good


# Copies: the Rust has one more array of three words, behind the array's own.

COPIED = ", %z: tile<ptr<f32>>, %k: tile<i32>, %zs: tile<i32>, %y: tile<ptr<f32>>"
SUM = "  %r = addf %a, %a : tile<16xf32>"
VIEW = "tile<i32> -> tensor_view<?xf32, strides=[1]>"


def own(*parts: str) -> str:
    return text(*parts)


def with_copy(*parts: str, extent: str = "%k") -> str:
    made = f"  %zv = make_tensor_view %z, shape = [{extent}], strides = [1] : {VIEW}"
    return text(made, *parts).replace(", %y: tile<ptr<f32>>", COPIED)


def copied(python: str, rust: str, *facts: str) -> Proof:
    x, y = Array("x", ("N",), copy="x_before"), Array("y", ("M",))
    return prove(read(python).entry(), read(rust).entry(), ParameterMap((x, y)), parse((*COMMON, *facts)))


def test_a_copy_holds_what_the_array_was() -> None:
    python = own(load("a", "xv"), SUM, store("%r", "xv", token="%a_t"))
    proof = copied(python, with_copy(load("a", "zv"), SUM, store("%r", "xv")))
    assert proof.equal, proof.reason
    assert "x_before is a copy of x from before the launch" in proof.hypotheses_used
    assert not copied(python, with_copy(load("a", "zv", "%by"), SUM, store("%r", "xv"))).equal


def test_a_copy_does_not_hold_what_was_written_since() -> None:
    python = own(load("a", "xv"), SUM, store("%r", "xv", token="%a_t"), load("b", "xv", token="%s"), store("%b", "yv"))
    rust = with_copy(load("a", "zv"), SUM, store("%r", "xv"), load("b", "zv"), store("%b", "yv"))
    assert not copied(python, rust).equal
    fresh = with_copy(load("a", "zv"), SUM, store("%r", "xv"), load("b", "xv", token="%s"), store("%b", "yv"))
    assert copied(python, fresh).equal


def test_a_copy_is_only_read_and_seen_as_its_array_is() -> None:
    python = own(load("a", "xv"), SUM, store("%r", "xv", token="%a_t"))
    other = copied(python, with_copy(load("a", "zv"), SUM, store("%r", "xv"), extent="%m"))
    assert not other.equal and "another view" in other.reason
    written = copied(python, with_copy(load("a", "zv"), SUM, store("%r", "zv")))
    assert not written.equal and "no load of a tile" in written.reason


def alternating(first: str, second: str, kinds: int) -> str:
    """Two stores a round, to tiles 0 and 1; `kinds`: 1 = one token carried, 2 = one of each tile."""
    names = ("%w", "%v")[:kinds]
    start = ", ".join(f"{name} = %t" for name in names)
    after = ("%s1",) if kinds == 1 else ("%s0", "%s1")
    tokens = ", ".join(["token"] * kinds)
    return text(
        f"  %f = for %k in (%c0 to %c4, step %c1) : tile<i32> iter_values({start}) -> ({tokens}) {{"
        if kinds == 1
        else f"  %f, %h = for %k in (%c0 to %c4, step %c1) : tile<i32> iter_values({start}) -> ({tokens}) {{",
        f"  %q0 = make_partition_view %yv : {part('yv')}",
        f"  %s0 = store_view_tko weak %zero, %q0[{first}] token = %w : tile<16xf32>, {part('yv')}, tile<i32> -> token",
        f"  %s1 = store_view_tko weak %zero, %q0[{second}] token = {'%s0' if kinds == 1 else '%v'} : tile<16xf32>, {part('yv')}, tile<i32> -> token",
        f"  continue {', '.join(after)} : {tokens}",
        "  }",
    )


def test_tiles_that_differ_in_any_two_rounds_need_no_token() -> None:
    assert proof_of(alternating("%c0", "%c1", 1), alternating("%c0", "%c1", 2), WORDS, *COMMON).equal
    # k and k + 1 differ in one round, but the second is the first of the next round.
    moving = "  %k1 = addi %k, %c1 : tile<i32>\n  %q0"
    python, rust = (alternating("%k", "%k1", kinds).replace("  %q0", moving, 1) for kinds in (1, 2))
    assert proof_of(python, python, WORDS, *COMMON).equal
    refused = proof_of(python, rust, WORDS, *COMMON)
    assert not refused.equal and "nothing orders" in refused.reason


def test_extents_that_the_launch_makes_equal() -> None:
    def checked(limit: str) -> str:
        return text(lanes(limit=limit), pointers("y"), SCATTERED.format(semantics="weak", mask="in"))

    assert not proof_of(checked("%n"), checked("%m"), WORDS, *COMMON).equal
    assert proof_of(checked("%n"), checked("%m"), WORDS, *COMMON, "N = M").equal
    assert proof_of(checked("%n"), checked("%m"), WORDS, *COMMON, "N = K", "K = M").equal
    assert not proof_of(checked("%n"), checked("%m"), WORDS, *COMMON, "N = K").equal

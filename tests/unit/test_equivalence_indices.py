"""What index arithmetic is known to be: remainders, bounds, scalars that are extents, loops as long as arrays say, ways
through nested branches, and indices that determine a loop's variable; each with its near misses."""

from __future__ import annotations

import pytest
from ferrotile_runner.tileir.equivalence import Proof, prove
from ferrotile_runner.tileir.hypotheses import Array, ParameterMap, Scalar, parse
from ferrotile_runner.tileir.reader import read
from tileir_support import kernel, load, proof_of, store

WORDS = "x:N y:M"
LAUNCH = ("bid.y = 0", "bid.z = 0", "extents >= 1", "index arithmetic does not overflow")
CONSTANTS = "\n".join(
    f"  %c{name} = constant <i32: {n}> : tile<i32>"
    for name, n in [*((str(n), n) for n in (0, 1, 2, 3, 4, 8, 16, 31, 32, 63, 64)), ("m", -1), ("n", -4095)]
)
FLOOR, TRUNCATED = "signed rounding<negative_inf>", "signed"


def text(*parts: str) -> str:
    return kernel("\n".join((CONSTANTS, *parts)))


def moved(*lines: str) -> str:
    """Tile `%i` of x, which the lines compute, to tile `bid.x` of y."""
    return text(*(f"  {line}" for line in lines), load("a", "xv", "%i"), store("%a", "yv"))


def divided(rounding: str, *lines: str, by: str = "%c8") -> str:
    return moved(*lines, f"%i = divi %s, {by} {rounding} : tile<i32>")


# 64*bid.x - 4095*(bid.x/64) is 64*(bid.x mod 64) + bid.x/64
SPLIT = ("%q = divi %bx, %c64 signed : tile<i32>", "%u = muli %bx, %c64 : tile<i32>")


@pytest.mark.parametrize(("factor", "good"), [("%cn", True), ("%cm", True), ("%less", False)])
def test_multiples_of_quotients_are_taken_from_remainders(factor: str, good: bool) -> None:
    """64*b - f*(b/64) is negative from f = 4097 on: 64*64 - 4097 = -1."""
    lines = ("%less = constant <i32: -4097> : tile<i32>", *SPLIT)
    lines = (*lines, f"%w = muli %q, {factor} : tile<i32>", "%s = addi %u, %w : tile<i32>")
    assert proof_of(divided(FLOOR, *lines), divided(TRUNCATED, *lines), WORDS, *LAUNCH).equal is good
    assert not proof_of(divided(FLOOR, *lines), divided(TRUNCATED, *lines), WORDS, *LAUNCH[:3]).equal


@pytest.mark.parametrize(("divisor", "shown", "good"), [("%c8", "%c0", True), ("%c4", "%c0", False)])
def test_a_remainder_is_below_its_divisor(divisor: str, shown: str, good: bool) -> None:
    """(b mod 8) / 8 is 0; (b mod 8) / 4 is 0 or 1."""
    python = divided(TRUNCATED, "%s = remi %bx, %c8 signed : tile<i32>", by=divisor)
    assert proof_of(python, moved(f"%i = addi {shown}, %c0 : tile<i32>"), WORDS, *LAUNCH).equal is good


def data_loop(body: str, by: str = "%c32", end: str = FLOOR) -> str:
    """For k below (d + 31) // 32, d loaded from an array of integers: tile `%i` of x to tile k of y."""
    view = "tensor_view<?xi32, strides=[1]>"
    part = f"partition_view<tile=(1), {view}>"
    made = text(
        f"  %iv = make_tensor_view %ip, shape = [%ik], strides = [1] : tile<i32> -> {view}",
        f"  %pi = make_partition_view %iv : {part}",
        f"  %l, %l_t = load_view_tko weak %pi[%bx] token = %t : {part}, tile<i32> -> tile<1xi32>, token",
        "  %d = reshape %l : tile<1xi32> -> tile<i32>",
        "  %e = addi %d, %c31 : tile<i32>",
        f"  %u = divi %e, {by} {end} : tile<i32>",
        "  %f = for %k in (%c0 to %u, step %c1) : tile<i32> iter_values(%w = %t) -> (token) {",
        *(f"    {line}" for line in body.split("; ")),
        load("a", "xv", "%i"),
        store("%a", "yv", "%k", "%w"),
        "    continue %s : token",
        "  }",
    )
    return made.replace("%ys: tile<i32>)", "%ys: tile<i32>, %ip: tile<ptr<i32>>, %ik: tile<i32>, %is: tile<i32>)")


def of_loop(factor: str, rounding: str, more: str = "%c0") -> str:
    product = f"%p = muli %k, {factor} : tile<i32>; %v = addi %p, {more} : tile<i32>"
    return f"{product}; %i = divi %v, %c64 {rounding} : tile<i32>"


@pytest.mark.parametrize(
    ("factor", "more", "by", "plain"),
    [
        ("%c32", "%c0", "%c32", True),  # 32*k <= d - 1
        ("%c16", "%c31", "%c32", True),
        ("%c64", "%c0", "%c32", False),  # may be nearly 2*d
        ("%c32", "%c64", "%c32", False),
        ("%c32", "%c0", "%c16", False),
    ],
)
def test_a_count_times_its_divisor_does_not_wrap(factor: str, more: str, by: str, plain: bool) -> None:
    """Without H6, since the end of the loop is what an array holds; else under a hypothesis of its own."""
    python, rust = (data_loop(of_loop(factor, rounding, more), by) for rounding in (FLOOR, TRUNCATED))
    words, loops = "x:N y:M i:K", "index arithmetic does not overflow in loops as long as arrays say"
    assert proof_of(python, rust, words, *LAUNCH[:3]).equal is plain
    proof = proof_of(python, rust, words, *LAUNCH)
    assert proof.equal and (plain or loops in proof.hypotheses_used)


def scalars(*names: str, extent: str | None = None) -> ParameterMap:
    arrays = (Array("x", ("N",)), Array("y", ("M",)))
    return ParameterMap((*arrays, *(Scalar(name, extent) for name in names)))


def proved(python: str, rust: str, words: ParameterMap, *facts: str) -> Proof:
    made = [read(side.replace("%ys: tile<i32>)", "%ys: tile<i32>, %s: tile<i32>)")).entry() for side in (python, rust)]
    return prove(made[0], made[1], words, parse(facts))


def test_a_scalar_that_is_an_extent_is_its_word() -> None:
    by_scalar, by_extent = divided(TRUNCATED), divided(TRUNCATED).replace("%i = divi %s", "%i = divi %n")
    known = proved(by_scalar, by_extent, scalars("s", extent="N"), *LAUNCH)
    assert known.equal and "s is the extent N" in known.hypotheses_used
    assert not proved(by_scalar, by_extent, scalars("s", extent="M"), *LAUNCH).equal
    assert not proved(by_scalar, by_extent, scalars("s"), *LAUNCH).equal


def test_arithmetic_with_scalars_is_a_hypothesis_of_its_own() -> None:
    def wide(early: bool) -> str:
        first = "%r = addi %s, %c1 : tile<i32>; %z = exti %r signed : tile<i32> -> tile<i64>"
        late = "%r = exti %s signed : tile<i32> -> tile<i64>; %o = constant <i64: 1> : tile<i64>"
        late += "; %z = addi %r, %o : tile<i64>"
        lines = (first if early else late).split("; ")
        return text(*(f"  {line}" for line in lines), '  %pr = print_tko "%d", %z token=%t : tile<i64> -> token')

    proof = proved(wide(True), wide(False), scalars("s"), *LAUNCH)
    assert proof.equal and "arithmetic with the scalar s does not overflow" in proof.hypotheses_used
    assert not proved(wide(True), wide(False), scalars("s"), *LAUNCH[:3]).equal


LANES = (
    "  %lane = iota : tile<16xi32>",
    "  %z = constant <f32: 0.0> : tile<16xf32>",
)


@pytest.mark.parametrize(("limit", "good"), [(16, True), (17, True), (15, False)])
def test_lanes_are_below_their_number(limit: int, good: bool) -> None:
    masked = (
        f"  %l = constant <i32: {limit}> : tile<16xi32>",
        "  %in = cmpi less_than %lane, %l, signed : tile<16xi32> -> tile<16xi1>",
        "  %r = select %in, %a, %z : tile<16xi1>, tile<16xf32>",
    )
    python = text(*LANES, load("a", "xv"), *masked, store("%r", "yv"))
    assert proof_of(python, text(*LANES, load("a", "xv"), store("%a", "yv")), WORDS, *LAUNCH).equal is good


@pytest.mark.parametrize(("last", "good"), [("%c3", True), ("%c2", False)])
def test_limits_that_block_ids_never_reach(last: str, good: bool) -> None:
    """On a grid of 4 blocks min(bid.x, 3) is bid.x, min(bid.x, 2) is not."""
    python, rust = moved("%i = addi %bx, %c0 : tile<i32>"), moved(f"%i = mini %bx, {last} signed : tile<i32>")
    assert proof_of(python, rust, WORDS, *LAUNCH, "grid.x = 4").equal is good
    assert not proof_of(python, rust, WORDS, *LAUNCH).equal


def guarded(test: str, negated: bool) -> str:
    """A store where `test` holds, in either branch."""
    inner = f"{load('a', 'xv')}\n{store('%a', 'yv')}"
    first, second = ("", inner) if negated else (inner, "")
    return text(f"  {test}", f"  if %ok {{\n{first}\n    yield\n  }} else {{\n{second}\n    yield\n  }}")


@pytest.mark.parametrize(
    ("opposite", "good"),
    [("less_than %bx, %m", True), ("less_than_or_equal %bx, %m", False), ("less_than %m, %bx", False)],
)
def test_a_way_not_taken_is_its_opposite_taken(opposite: str, good: bool) -> None:
    """A load in the `else` of `m <= b` is one under `b < m`: the access, not only the effect, is asked for."""
    python = guarded("%ok = cmpi less_than_or_equal %m, %bx, signed : tile<i32> -> tile<i1>", True)
    rust = guarded(f"%ok = cmpi {opposite}, signed : tile<i32> -> tile<i1>", False)
    assert proof_of(python, rust, WORDS, *LAUNCH).equal is good


GRID = "  %gx, %gy, %gz = get_num_tile_blocks : tile<i32>"


def tiles(*lines: str, end: str, index: str, tied: bool = False) -> str:
    """A persistent loop that stores tile `index` (3 axes) of z: f32[B, N, M] in tiles of 1 x 16 x 16."""
    view = "tensor_view<?x?x?xf32, strides=[?,?,1]>"
    kind = f"partition_view<tile=(1x16x16), {view}>"
    carried = ("iter_values(%w = %t) -> (token) ", "%w", "continue %o : token") if tied else ("", "%t", "continue")
    words = "%z: tile<ptr<f32>>, %b: tile<i32>, %n: tile<i32>, %m: tile<i32>"
    strides = "%s0: tile<i32>, %s1: tile<i32>, %s2: tile<i32>"
    body = "\n".join(f"    {line}" for line in lines)
    return f"""entry @k({words}, {strides}) {{
  %t = make_token : token
  %bx, %by, %bz = get_tile_block_id : tile<i32>
{GRID}
{CONSTANTS}
  %v = constant <f32: 1.0> : tile<1x16x16xf32>
  %zv = make_tensor_view %z, shape = [%b, %n, %m], strides = [%s0, %s1, 1] : tile<i32> -> {view}
  %p = make_partition_view %zv : {kind}
  %rows = divi %n, %c16 signed rounding<positive_inf> : tile<i32>
  %columns = divi %m, %c16 signed rounding<positive_inf> : tile<i32>
  %plane = muli %rows, %columns : tile<i32>
  %all = muli %plane, %b : tile<i32>
  {"%f = " if tied else ""}for %k in (%bx to {end}, step %gx) : tile<i32> {carried[0]}{{
{body}
    %o = store_view_tko weak %v, %p[{index}] token = {carried[1]} : tile<1x16x16xf32>, {kind}, tile<i32> -> token
    {carried[2]}
  }}
  return
}}
"""


PLANE = ("%q = divi %k, %plane signed : tile<i32>", "%r = remi %k, %plane signed : tile<i32>")
ROW_MAJOR = ("%i = divi %r, %columns signed : tile<i32>", "%j = remi %r, %columns signed : tile<i32>")
GROUPED = (
    "%inside = muli %c4, %columns : tile<i32>",
    "%group = divi %r, %inside signed : tile<i32>",
    "%first = muli %group, %c4 : tile<i32>",
    "%left = subi %rows, %first : tile<i32>",
    "%size = mini %left, %c4 signed : tile<i32>",
    "%within = remi %r, %inside signed : tile<i32>",
    "%place = remi %within, %size signed : tile<i32>",
    "%i = addi %first, %place : tile<i32>",
    "%j = divi %within, %size signed : tile<i32>",
)


@pytest.mark.parametrize(
    ("lines", "index", "good"),
    [
        ((*PLANE, *ROW_MAJOR), "%q, %i, %j", True),
        ((*PLANE, *ROW_MAJOR), "%i, %j, %q", True),
        ((*PLANE, *GROUPED), "%q, %i, %j", True),
        ((*PLANE, *ROW_MAJOR), "%c0, %i, %j", False),  # a plane again in each batch
        ((*PLANE, *ROW_MAJOR), "%q, %i, %i", False),
        ((*PLANE, *ROW_MAJOR), "%q, %c0, %j", False),
        ((*PLANE, *GROUPED), "%q, %place, %j", False),
        ((*PLANE, *GROUPED), "%c0, %i, %j", False),
    ],
)
def test_an_index_that_determines_the_round_is_another_tile_each(
    lines: tuple[str, ...], index: str, good: bool
) -> None:
    """The Python orders the stores by a token that its loop carries, the Rust by their tiles alone."""
    python, rust = (tiles(*lines, end="%all", index=index, tied=tied) for tied in (True, False))
    proof = proof_of(python, rust, "z:B,N,M", *LAUNCH)
    assert proof.equal is good
    assert good or "nothing orders" in proof.reason
    assert proof_of(python, python, "z:B,N,M", *LAUNCH).equal


def test_a_loop_whose_end_is_not_behind_its_start_does_nothing() -> None:
    def looped(first: str) -> str:
        return text(
            "  %next = addi %n, %c1 : tile<i32>",
            f"  %f = for %k in ({first} to %n, step %c1) : tile<i32> iter_values(%w = %t) -> (token) {{",
            load("a", "xv", "%k"),
            store("%a", "yv", "%k", "%w"),
            "    continue %s : token",
            "  }",
            load("b", "xv"),
            store("%b", "yv", token="%f", name="last"),
        )

    plain = text(load("b", "xv"), store("%b", "yv"))
    assert proof_of(looped("%n"), plain, WORDS, *LAUNCH).equal
    assert proof_of(looped("%next"), plain, WORDS, *LAUNCH).equal
    assert not proof_of(looped("%next"), plain, WORDS, *LAUNCH[:3]).equal  # n + 1 may wrap
    assert not proof_of(looped("%c0"), plain, WORDS, *LAUNCH).equal


def stepped(start: int, end: int, step: int, index: str) -> str:
    """Stores tile `%q` of x to the same tile of y for each i of a loop."""
    head = "".join(
        f"  %{name} = constant <i32: {n}> : tile<i32>\n" for name, n in (("from", start), ("to", end), ("by", step))
    )
    body = f"    {index}\n{load('a', 'xv', '%q')}\n{store('%a', 'yv', '%q')}"
    return text(f"{head}  for %i in (%from to %to, step %by) : tile<i32> {{\n{body}\n    continue\n  }}")


@pytest.mark.parametrize(("start", "step", "good"), [(0, 64, True), (128, 192, True), (0, 32, False), (32, 64, False)])
def test_a_loops_variable_is_a_multiple_of_what_start_and_step_are(start: int, step: int, good: bool) -> None:
    """i = 64*(i/64) where start and step are multiples of 64."""
    whole = stepped(start, 512, step, "%q = addi %i, %c0 : tile<i32>")
    split = stepped(start, 512, step, "%d = divi %i, %c64 signed : tile<i32>\n    %q = muli %d, %c64 : tile<i32>")
    assert proof_of(whole, split, WORDS, *LAUNCH).equal is good


@pytest.mark.parametrize(
    ("end", "least", "good"), [(256, 192, True), (256, 191, False), (193, 192, True), (257, 192, False)]
)
def test_a_loops_last_round(end: int, least: int, good: bool) -> None:
    """From 0 below 256 or 193 in steps of 64 the last i is 192; below 257 it is 256."""
    plain = stepped(0, end, 64, "%q = addi %i, %c0 : tile<i32>")
    limit = f"%l = constant <i32: {least}> : tile<i32>\n    %q = mini %i, %l signed : tile<i32>"
    assert proof_of(plain, stepped(0, end, 64, limit), WORDS, *LAUNCH).equal is good

"""Integer widths, argmax, schedules: the lemmas of docs/proof.md, each with mutants."""

# ruff: noqa: E501  (one Tile IR operation is one line)

from __future__ import annotations

import pytest
from tileir_support import kernel, load, proof_of, store

WORDS = "x:N y:N"


def integers(*body: str, element: str = "i16") -> str:
    """y = f(x) on integers: `%a` is a tile of x, `%r` what is stored."""
    text = kernel("\n".join((load("a", "xv"), load("b", "xv", "%by"), *body, store("%r", "yv"))))
    return text.replace("f32", element)


def narrow(op: str) -> str:
    return integers(f"  %r = {op} : tile<16xi16>")


def wide(op: str, kind: str = "signed", promise: str = "", mask: str = "65535", operand: str = "%m") -> str:
    """In 32 bits, cut down again; by default as the emission does, with a mask that keeps the promise."""
    return integers(
        f"  %u = exti %a {kind} : tile<16xi16> -> tile<16xi32>",
        f"  %v = exti %b {kind} : tile<16xi16> -> tile<16xi32>",
        f"  %w = {op} : tile<16xi32>",
        f"  %c = constant <i32: {mask}> : tile<16xi32>",
        "  %m = andi %w, %c : tile<16xi32>",
        f"  %r = trunci {operand}{promise} : tile<16xi32> -> tile<16xi16>",
    )


KEPT = " overflow<no_unsigned_wrap>"


@pytest.mark.parametrize("op", ["addi", "subi", "muli", "andi", "ori", "xori"])
@pytest.mark.parametrize("kind", ["signed", "unsigned"])
def test_low_bits_of_wide_arithmetic(op: str, kind: str) -> None:
    assert proof_of(narrow(f"{op} %a, %b"), wide(f"{op} %u, %v", kind, KEPT), WORDS).equal
    assert not proof_of(narrow(f"{op} %a, %b"), wide(f"{op} %u, %u", kind, KEPT), WORDS).equal
    assert not proof_of(narrow(f"{op} %a, %b"), wide(f"{op} %u, %v", kind, KEPT, "65534"), WORDS).equal


def test_a_promise_that_is_not_kept_for_certain_is_a_difference() -> None:
    plain = narrow("addi %a, %b")
    assert proof_of(plain, wide("addi %u, %v", operand="%w"), WORDS).equal
    for promise in (KEPT, " overflow<no_signed_wrap>", " overflow<no_wrap>"):
        assert not proof_of(plain, wide("addi %u, %v", promise=promise, operand="%w"), WORDS).equal
    assert not proof_of(plain, wide("addi %u, %v", promise=" overflow<no_signed_wrap>"), WORDS).equal
    assert not proof_of(plain, wide("addi %u, %v", promise=KEPT, mask="131071"), WORDS).equal


@pytest.mark.parametrize(
    ("op", "kind", "good"),
    [
        ("maxi %u, %v signed", "signed", True),
        ("maxi %u, %v signed", "unsigned", False),
        ("divi %u, %v signed", "signed", False),
        ("shri %u, %v signed", "signed", False),
    ],
)
def test_other_operations_are_not_cut_down(op: str, kind: str, good: bool) -> None:
    same = op.replace("%u", "%a").replace("%v", "%b")
    assert proof_of(narrow(same), wide(op, kind, operand="%w"), WORDS).equal is good


def compared(kind: str, sign: str, width: str) -> str:
    names = ("%u", "%v") if width == "i32" else ("%a", "%b")
    return integers(
        f"  %u = exti %a {kind} : tile<16xi16> -> tile<16xi32>",
        f"  %v = exti %b {kind} : tile<16xi16> -> tile<16xi32>",
        f"  %q = cmpi less_than {names[0]}, {names[1]}, {sign} : tile<16x{width}> -> tile<16xi1>",
        "  %r = select %q, %a, %b : tile<16xi1>, tile<16xi16>",
    )


def test_comparisons_of_extended_values() -> None:
    assert proof_of(compared("signed", "signed", "i32"), compared("signed", "signed", "i16"), WORDS).equal
    assert proof_of(compared("unsigned", "signed", "i32"), compared("signed", "unsigned", "i16"), WORDS).equal
    assert not proof_of(compared("unsigned", "signed", "i32"), compared("signed", "signed", "i16"), WORDS).equal
    assert not proof_of(compared("signed", "unsigned", "i32"), compared("signed", "unsigned", "i16"), WORDS).equal


PAIRED = """  %i = iota : tile<16xi32>
  %p:2 = reduce %a, %i dim=0 identities=[0xFF800000 : f32, 0 : i32] : tile<16xf32>, tile<16xi32> -> tile<f32>, tile<i32>
  (%l0: tile<f32>, %r0: tile<f32>, %l1: tile<i32>, %r1: tile<i32>) {
    %q0 = cmpf greater_than ordered %l0, %r0 : tile<f32> -> tile<i1>
    %q1 = cmpf equal ordered %l0, %r0 : tile<f32> -> tile<i1>
    %q2 = cmpf not_equal unordered %l0, %l0 : tile<f32> -> tile<i1>
    %q3 = cmpf not_equal unordered %r0, %r0 : tile<f32> -> tile<i1>
    %q4 = cmpf equal ordered %l0, %l0 : tile<f32> -> tile<i1>
    %q5 = andi %q4, %q3 : tile<i1>
    %q6 = ori %q0, %q5 : tile<i1>
    %q7 = andi %q2, %q3 : tile<i1>
    %q8 = ori %q1, %q7 : tile<i1>
    %q9 = cmpi less_than %l1, %r1, signed : tile<i32> -> tile<i1>
    %qa = andi %q8, %q9 : tile<i1>
    %qb = ori %q6, %qa : tile<i1>
    %s0 = select %qb, %l0, %r0 : tile<i1>, tile<f32>
    %s1 = select %qb, %l1, %r1 : tile<i1>, tile<i32>
    yield %s0, %s1 : tile<f32>, tile<i32>
  }
  %z0 = itof %p#1 signed : tile<i32> -> tile<f32>"""
TWICE = """  %i = iota : tile<16xi32>
  %h = reduce %a dim=0 identities=[0xFF800000 : f32] : tile<16xf32> -> tile<f32>
  (%l0: tile<f32>, %r0: tile<f32>) {
    %q0 = maxf %l0, %r0 : tile<f32>
    yield %q0 : tile<f32>
  }
  %h1 = reshape %h : tile<f32> -> tile<1xf32>
  %h16 = broadcast %h1 : tile<1xf32> -> tile<16xf32>
  %e = cmpf equal ordered %a, %h16 : tile<16xf32> -> tile<16xi1>
  %last = constant <i32: 2147483647> : tile<16xi32>
  %c = select %e, %i, %last : tile<16xi1>, tile<16xi32>
  %f = reduce %c dim=0 identities=[2147483647 : i32] : tile<16xi32> -> tile<i32>
  (%l1: tile<i32>, %r1: tile<i32>) {
    %q1 = mini %l1, %r1 signed : tile<i32>
    yield %q1 : tile<i32>
  }
  %end = constant <i32: 2147483647> : tile<i32>
  %none = constant <i32: 0> : tile<i32>
  %q2 = cmpi equal %f, %end, signed : tile<i32> -> tile<i1>
  %g = select %q2, %none, %f : tile<i1>, tile<i32>
  %z0 = itof %g signed : tile<i32> -> tile<f32>"""


def indexed(body: str) -> str:
    spread = "  %z1 = reshape %z0 : tile<f32> -> tile<1xf32>\n  %z = broadcast %z1 : tile<1xf32> -> tile<16xf32>"
    return kernel("\n".join((load("a", "xv", padding="neg_inf"), body, spread, store("%z", "yv"))))


def test_argmax_is_two_reductions() -> None:
    proof = proof_of(indexed(PAIRED), indexed(TWICE), WORDS)
    assert proof.equal and any(lemma.startswith("L1") for lemma in proof.lemmas)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("maxf", "minf"),
        ("mini %l1", "maxi %l1"),
        ("cmpf equal ordered %a, %h16", "cmpf equal unordered %a, %h16"),
        ("select %q2, %none, %f", "select %q2, %f, %none"),
        ("select %e, %i, %last", "select %e, %last, %i"),
        ("<i32: 0>", "<i32: 1>"),
        ("identities=[0xFF800000", "identities=[0x7F800000"),
        ("<i32: 2147483647> : tile<i32>", "<i32: 2147483646> : tile<i32>"),
        ("maxf %l0, %r0", "maxf %l0, %r0 propagate_nan"),
    ],
)
def test_other_pairs_of_reductions_are_no_argmax(old: str, new: str) -> None:
    assert old in TWICE
    assert not proof_of(indexed(PAIRED), indexed(TWICE.replace(old, new)), WORDS).equal


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("greater_than ordered", "less_than ordered"),
        ("greater_than ordered", "greater_than unordered"),
        ("cmpi less_than %l1", "cmpi greater_than %l1"),
        ("andi %q4, %q3", "andi %q4, %q2"),
        ("reduce %a, %i", "reduce %i, %a"),
        ("0 : i32]", "1 : i32]"),
    ],
)
def test_other_pairs_are_no_argmax(old: str, new: str) -> None:
    changed = PAIRED.replace(old, new)
    if old == "reduce %a, %i":
        changed = PAIRED.replace(
            "  %i = iota : tile<16xi32>", "  %k = iota : tile<16xi32>\n  %i = addi %k, %k : tile<16xi32>"
        )
    assert not proof_of(indexed(changed), indexed(TWICE), WORDS).equal


def whole_paired(better: str, identity: str) -> str:
    """The pair of the greatest (least) of integers and its index, as cuTile Python writes it."""
    return integers(
        "  %i = iota : tile<16xi32>",
        f"  %p:2 = reduce %a, %i dim=0 identities=[{identity} : i16, 0 : i32] : tile<16xi16>, tile<16xi32> -> tile<i16>, tile<i32>",
        "  (%l0: tile<i16>, %r0: tile<i16>, %l1: tile<i32>, %r1: tile<i32>) {",
        f"    %q0 = cmpi {better} : tile<i16> -> tile<i1>",
        "    %q1 = cmpi equal %l0, %r0, signed : tile<i16> -> tile<i1>",
        "    %q2 = cmpi less_than %l1, %r1, signed : tile<i32> -> tile<i1>",
        "    %q3 = andi %q1, %q2 : tile<i1>",
        "    %q4 = ori %q0, %q3 : tile<i1>",
        "    %s0 = select %q4, %l0, %r0 : tile<i1>, tile<i16>",
        "    %s1 = select %q4, %l1, %r1 : tile<i1>, tile<i32>",
        "    yield %s0, %s1 : tile<i16>, tile<i32>",
        "  }",
        "  %z0 = trunci %p#1 : tile<i32> -> tile<i16>",
        "  %z1 = reshape %z0 : tile<i16> -> tile<1xi16>",
        "  %r = broadcast %z1 : tile<1xi16> -> tile<16xi16>",
    )


def whole_twice(extreme: str, identity: str) -> str:
    """The same by two reductions; equality of lanes has no sign."""
    return integers(
        *TWICE.replace("maxf %l0, %r0", f"{extreme[:4]} %l0, %r0 {extreme[5:]}")
        .replace("0xFF800000", identity)
        .replace("cmpf equal ordered %a, %h16", "cmpi equal %a, %h16, signed")
        .replace("itof %g signed : tile<i32> -> tile<f32>", "trunci %g : tile<i32> -> tile<f32>")
        .split("\n"),
        "  %z1 = reshape %z0 : tile<f32> -> tile<1xf32>",
        "  %r = broadcast %z1 : tile<1xf32> -> tile<16xf32>",
    )


ORDERS = {
    "maxi signed": ("greater_than %l0, %r0, signed", "-32768"),
    "maxi unsigned": ("greater_than %l0, %r0, unsigned", "0"),
    "mini signed": ("less_than %l0, %r0, signed", "32767"),
    "mini unsigned": ("less_than %l0, %r0, unsigned", "-1"),
}


@pytest.mark.parametrize("extreme", ORDERS)
def test_argmax_of_integers_by_their_sign(extreme: str) -> None:
    """An identity that a lane may be behind is no neutral one: 0 of signed maxima, 32767 of unsigned minima."""
    python = whole_paired(*ORDERS[extreme])
    for other, (_, identity) in ORDERS.items():
        assert proof_of(python, whole_twice(other, identity), WORDS).equal is (other == extreme)
    better, identity = ORDERS[extreme]
    for wrong in {"0", "-1", "32767", "-32768"} - {identity}:
        assert not proof_of(whole_paired(better, wrong), whole_twice(extreme, identity), WORDS).equal


# Schedules

GRID = (
    "extents >= 1",
    "index arithmetic does not overflow",
    "grid.x = cdiv(M, 16) * cdiv(N, 16)",
    "bid.y = 0",
    "bid.z = 0",
)


def tiled(index: str, value: str = "%a") -> str:
    """Each block negates the tile at (%i, %j) of an (M, N) array; %rows x %cols tiles, groups of %g rows."""
    view = "tensor_view<?x?xf32, strides=[?,1]>"
    part = f"partition_view<tile=(16x16), {view}>"
    return f"""entry @k(%x: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %xs: tile<i32>, %x1: tile<i32>, %y: tile<ptr<f32>>, %m2: tile<i32>, %n2: tile<i32>, %ys: tile<i32>, %y1: tile<i32>) {{
  %t = make_token : token
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %xv = make_tensor_view %x, shape = [%m, %n], strides = [%xs, 1] : tile<i32> -> {view}
  %yv = make_tensor_view %y, shape = [%m2, %n2], strides = [%ys, 1] : tile<i32> -> {view}
  %xp = make_partition_view %xv : {part}
  %yp = make_partition_view %yv : {part}
  %rows, %cols = get_index_space_shape %yp : {part} -> tile<i32>
  %g = constant <i32: 8> : tile<i32>
{index}
  %a, %a_t = load_view_tko weak %xp[%i, %j] token = %t : {part}, tile<i32> -> tile<16x16xf32>, token
  %r = negf {value} : tile<16x16xf32>
  %s = store_view_tko weak %r, %yp[%i, %j] token = %t : tile<16x16xf32>, {part}, tile<i32> -> token
  return
}}
"""


ROW_MAJOR = "  %i = divi %bx, %cols signed : tile<i32>\n  %j = remi %bx, %cols signed : tile<i32>"
GROUPED = """  %in = muli %g, %cols : tile<i32>
  %grp = divi %bx, %in signed : tile<i32>
  %fst = muli %grp, %g : tile<i32>
  %left = subi %rows, %fst : tile<i32>
  %last = mini %left, %g signed : tile<i32>
  %rest = remi %bx, %in signed : tile<i32>
  %off = remi %bx, %last signed : tile<i32>
  %i = addi %fst, %off : tile<i32>
  %j = divi %rest, %last signed : tile<i32>"""


def test_schedules_that_visit_each_tile_once() -> None:
    within = GROUPED.replace("remi %bx, %last", "remi %rest, %last")
    pairs = [(GROUPED, ROW_MAJOR), (GROUPED, within), (ROW_MAJOR, within)]
    for python, rust in pairs:
        proof = proof_of(tiled(python), tiled(rust), "x:M,N y:M,N", *GRID)
        assert proof.equal and any(lemma.startswith("H8") for lemma in proof.lemmas)
        assert not proof_of(tiled(python), tiled(rust), "x:M,N y:M,N", *GRID[:2], *GRID[3:]).equal


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("divi %bx, %cols", "divi %bx, %rows"),
        ("remi %bx, %cols", "remi %bx, %rows"),
        ("%j = remi %bx, %cols", "%j = divi %bx, %cols"),
    ],
)
def test_maps_that_miss_tiles_are_refused(old: str, new: str) -> None:
    assert not proof_of(tiled(GROUPED), tiled(ROW_MAJOR.replace(old, new)), "x:M,N y:M,N", *GRID).equal


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mini", "maxi"),
        ("divi %rest, %last", "divi %rest, %g"),
        ("subi %rows, %fst", "subi %cols, %fst"),
        ("muli %grp, %g", "muli %grp, %cols"),
    ],
)
def test_groups_that_miss_tiles_are_refused(old: str, new: str) -> None:
    assert not proof_of(tiled(ROW_MAJOR), tiled(GROUPED.replace(old, new)), "x:M,N y:M,N", *GRID).equal


def test_what_depends_on_the_block_is_not_moved_to_another() -> None:
    number = "\n  %b0 = itof %bx signed : tile<i32> -> tile<f32>\n  %b1 = reshape %b0 : tile<f32> -> tile<1x1xf32>\n  %b = broadcast %b1 : tile<1x1xf32> -> tile<16x16xf32>"
    python, rust = tiled(GROUPED + number, "%b"), tiled(ROW_MAJOR + number, "%b")
    assert not proof_of(python, rust, "x:M,N y:M,N", *GRID).equal
    assert proof_of(python, python, "x:M,N y:M,N", *GRID).equal


def persistent(index: str, token: str, carried: str, number: str = "%v", last: str = "%total") -> str:
    """The same by blocks that visit tiles v = bid.x, bid.x + grid.x, ... below the number of tiles."""
    before, body = tiled(index.replace("%bx", number)).split(index.replace("%bx", number))
    stored = body.replace("token = %t : tile<16x16xf32>", f"token = {token} : tile<16x16xf32>")
    # Open lanes are other ones in every round; a schedule leaves no trace of the round.
    padded = ("<tile=(16x16), ", "<tile=(16x16), padding_value = zero, ")
    before = "\n".join(line.replace(*padded) if "%xp =" in line else line for line in before.split("\n"))
    stored = "\n".join(line.replace(*padded) if "%xp[" in line else line for line in stored.split("\n"))
    inner, end = stored.split("  return")
    loop = f"""  %total = muli %rows, %cols : tile<i32>
  %gx, %gy, %gz = get_num_tile_blocks : tile<i32>
  %f = for %v in (%bx to {last}, step %gx) : tile<i32> iter_values(%w = %t) -> (token) {{
{index.replace("%bx", number)}{inner}  continue {carried} : token
  }}
  return{end}"""
    return before + loop


def test_rounds_of_a_schedule_store_different_tiles() -> None:
    """The Python orders its stores by a token, the Rust does not have to: each v comes once, and so each tile."""
    python, rust = persistent(GROUPED, "%w", "%s"), persistent(ROW_MAJOR, "%t", "%w")
    words, facts = "x:M,N y:M,N", (*GRID[:2], *GRID[3:])
    proof = proof_of(python, rust, words, *facts)
    assert proof.equal, proof.reason
    missed = persistent(ROW_MAJOR.replace("divi %bx, %cols", "divi %bx, %rows"), "%t", "%w")
    assert not proof_of(python, missed, words, *facts).equal
    fewer = persistent(ROW_MAJOR, "%t", "%w", last="%rows")
    assert not proof_of(python, fewer, words, *facts).equal

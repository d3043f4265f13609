"""Inputs: sizes that satisfy the hypotheses, hard values, strides, grids."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from ferrotile.program.dtypes import ALL, BF16, BOOL, F16, F32, I8, I32, U8, U32, DType
from ferrotile.signatures.model import (
    ArrayArgument,
    ConstantArgument,
    GridFactor,
    ScalarArgument,
    Signature,
    Source,
)
from ferrotile_runner.entry_hints import Hints
from ferrotile_runner.fillings import (
    ends,
    equal,
    hard,
    negative,
    numpy_dtype,
    ordinary,
    positive,
    roots,
    special,
    special_values,
    tiny,
    wide,
    wild,
)
from ferrotile_runner.inputs import Case, cases, describe
from ferrotile_runner.launch_facts import facts_of
from ferrotile_runner.sizes import symbols
from ferrotile_runner.tileir.interpreter import Unsupported

U = Source.DIRECTIVE
MATMUL = Signature(
    "matmul",
    (
        ArrayArgument("a", F16, ("M", "K"), U),
        ArrayArgument("b", F16, ("K", "N"), U),
        ArrayArgument("c", F16, ("M", "N"), U),
        ScalarArgument("scale", F32, U),
        ScalarArgument("K", I32, U),
        ConstantArgument("TM", 64, U),
    ),
    ((GridFactor("M", 64), GridFactor("N", 32)),),
)


def test_cases_cover_tails_whole_tiles_hard_values_and_strides() -> None:
    made = list(cases(MATMUL, tiles={"K": 16}))
    sizes = [c.sizes for c in made]
    assert {"M": 65, "N": 33, "K": 17}.items() <= sizes[2].items()
    assert {"M": 128, "N": 64, "K": 32}.items() <= sizes[3].items()
    assert any(s["M"] < 64 for s in sizes)
    named = {c.name: c for c in made}
    assert np.isnan(named["hard values"].arrays["a"].astype(np.float32)).any()
    assert not named["strided arrays"].arrays["a"].flags.c_contiguous
    for case in made:
        m, n, k = (case.sizes[x] for x in "MNK")
        assert case.arrays["a"].shape == (m, k) and case.arrays["c"].shape == (m, n)
        assert case.grid == (-(-m // 64) * -(-n // 32), 1, 1)
        assert case.scalars["K"] == k and isinstance(case.scalars["scale"], float)
    assert describe(made[2]).startswith("one tile and one element: M=65")


def test_the_same_seed_gives_the_same_inputs() -> None:
    one, two = (next(iter(cases(MATMUL, seed=3))) for _ in range(2))
    assert all(np.array_equal(one.arrays[k], two.arrays[k]) for k in one.arrays)
    assert not np.array_equal(one.arrays["a"].ravel()[:9], one.arrays["b"].ravel()[:9])


ROWS = Signature(
    "rows",
    (ArrayArgument("x", F32, ("M", "N"), U), ConstantArgument("TN", 1024, U)),
    ((GridFactor("M"),), (GridFactor("B"),)),
)


@pytest.mark.parametrize(
    ("hypothesis", "holds"),
    [
        ("cdiv(N, 1024) = 1", lambda s: 1 <= s["N"] <= 1024),
        ("cdiv(N, 64) = 3", lambda s: 128 < s["N"] <= 192),
        ("N = 1000", lambda s: s["N"] == 1000),
        ("N % 48 = 0", lambda s: s["N"] % 48 == 0),
        ("N <= 7", lambda s: s["N"] <= 7),
        ("N < 7", lambda s: s["N"] < 7),
        ("N >= 5000", lambda s: s["N"] >= 5000),
        ("M = N", lambda s: s["M"] == s["N"]),
    ],
)
def test_hypotheses_are_satisfied(hypothesis: str, holds: object) -> None:
    assert callable(holds)
    made = list(cases(ROWS, (hypothesis,), {"N": 1024}))
    assert made and all(holds(c.sizes) for c in made)
    assert facts_of((hypothesis,)).open == ()


def test_facts_about_the_grid() -> None:
    assert all(c.grid[1] == 1 for c in cases(ROWS, ("bid.y = 0",)))
    assert facts_of(("out is contiguous",)).contiguous
    assert all(c.name != "strided arrays" for c in cases(ROWS, ("out is contiguous",)))
    assert facts_of(("moon is full",)).open == ("moon is full",)
    free = Signature("rows", ROWS.arguments)
    assert list(cases(free)) == []
    assert {c.grid for c in cases(free, ("grid.x = cdiv(N, 1024)",), {"N": 1024})} == {
        (2, 1, 1), (1, 1, 1), (3, 1, 1)
    }  # fmt: skip


def test_a_constant_fixes_the_extent_that_it_names() -> None:
    signature = Signature(
        "k",
        (ArrayArgument("x", F32, ("N", 3), U), ConstantArgument("N", 1000, U)),
        ((GridFactor("N", 128),),),
    )
    made = list(cases(signature))
    assert all(c.arrays["x"].shape == (1000, 3) and c.grid == (8, 1, 1) for c in made)
    assert symbols(signature) == ("N",)


def test_values_of_every_type() -> None:
    rng = np.random.default_rng(0)
    for dtype in ALL:
        if dtype.bits == 4:
            with pytest.raises(Unsupported, match=dtype.name):
                hard(rng, (64,), dtype, 5)
            continue
        values = hard(rng, (64,), dtype, 5)
        assert values.dtype == numpy_dtype(dtype)
    assert special_values(BOOL).size == 0
    assert special_values(I8).tolist() == [-128, 127, 126, 0, 1]
    assert special_values(U8).tolist() == [0, 255, 254, 128, 127, 1]
    bf16 = special_values(BF16).astype(np.float32)
    assert np.isnan(bf16[0]) and np.isposinf(bf16[1]) and np.isfinite(bf16[5]) and bf16[8] > 0


HEADS = Signature(
    "heads",
    (
        ArrayArgument("q", F32, ("D0", "D1", "D2"), U),
        ArrayArgument("out", F32, ("B", "H", "S"), U),
        ArrayArgument("mean", F32, ("D3",), U),
    ),
)
FACTS = ("grid.y = B * H", "grid.x = cdiv(S, 32)", "H = 8", "B = 2")


def tile_and_element(made: Iterator[Case]) -> Case:
    return next(case for case in made if case.name == "one tile and one element")


def test_a_grid_of_a_product_is_read() -> None:
    assert facts_of(FACTS).open == ()
    first = tile_and_element(cases(HEADS, FACTS))
    assert first.grid == (2, 16, 1), "33 rows in tiles of 32, and 2 times 8"
    assert facts_of(("grid.y = B - H",)).open == ("grid.y = B - H",)


def test_arrays_of_one_rank_have_one_shape_where_nothing_else_is_known() -> None:
    first = tile_and_element(cases(HEADS, FACTS))
    assert first.arrays["q"].shape == first.arrays["out"].shape == (2, 8, 33)
    tiled = tile_and_element(cases(HEADS, FACTS, {"D0": 1, "D1": 1, "D2": 16}))
    assert tiled.arrays["q"].shape == (2, 8, 17), "a tile of one element says nothing, one of 16 does"
    bounded = tile_and_element(cases(HEADS, (*FACTS, "D1 <= 4")))
    assert bounded.sizes["D1"] <= 4, "facts come first"


def test_a_launch_fits_all_that_is_said_of_its_grid() -> None:
    """Two facts on one axis: sizes that only fit the last one make no launch."""
    arguments = (
        ArrayArgument("x", F32, ("N",), Source.DIRECTIVE),
        ArrayArgument("y", F32, ("M",), Source.DIRECTIVE),
    )
    signature = Signature("k", arguments, None)
    said = ("grid.x = cdiv(M, 16)", "grid.x = cdiv(N, 16)")
    found = list(cases(signature, said, {"N": 16, "M": 16}))
    assert found and all(-(-c.sizes["M"] // 16) == c.grid[0] == -(-c.sizes["N"] // 16) for c in found)
    assert list(cases(signature, (*said, "M = 1000", "N = 16"))) == []


RNG = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_sums_and_products_of_tiny_values_are_denormal_or_are_not(dtype: DType) -> None:
    """2 ** -126 is the smallest normal number of f32 and of bf16."""
    values = tiny(np.random.default_rng(7), (300,), dtype, 5).astype(np.float64)
    sizes, products = np.abs(values[:200]), np.abs(values[200:] * values[200:][::-1])
    for found in (sizes, products):
        assert 0.2 < (found < 2.0**-126).mean() < 0.99 and (found > 2.0**-126).any()
    assert (sizes > 0).mean() > 0.95 and (products > 2.0**-149).mean() > 0.5


def test_products_of_two_roots_among_ones_are_tiny() -> None:
    values = np.abs(roots(np.random.default_rng(8), (1000,), F32, 5).astype(np.float64))
    assert 0.2 < (values < 2.0**-50).mean() < 0.4 and (values[values > 2.0**-50] > 2.0**-20).all()
    assert (values[values < 2.0**-50] ** 2 < 2.0**-110).all()


def test_powers_of_values_at_the_ends_overflow_and_are_denormal() -> None:
    values = ends(np.random.default_rng(9), (2000,), F32, 5).astype(np.float64)
    powers = 2.0**values
    assert (powers > 2.0**128).any() and ((powers > 0) & (powers < 2.0**-126)).mean() > 0.05
    assert (values[1000:] < 16).all(), "no sum of powers of these overflows"
    indices = ends(np.random.default_rng(9), (40,), I32, 40)
    assert sorted(indices.tolist()) == list(range(40))


def test_numbers_of_one_sign() -> None:
    for dtype in (F32, I8, I32, U8):
        assert (positive(RNG, (500,), dtype, 5)[()] >= (0 if dtype is F32 else 2)).all()
    for dtype in (F32, I8, I32):
        values = negative(RNG, (500,), dtype, 5)
        assert (values <= 0).all() and (values < 0).any()


def test_every_filling_is_of_every_type() -> None:
    for dtype in ALL:
        if dtype.bits > 4:
            for fill in (ordinary, hard, special, tiny, roots, wide, wild, ends, positive, negative, equal):
                assert fill(RNG, (3, 4), dtype, 3).dtype == numpy_dtype(dtype), (fill, dtype)


def test_every_two_special_values_meet() -> None:
    one, two = (special(RNG, (2, 4000), F32, 5)[1] for _ in range(2))
    kinds = {(str(a), str(b)) for a, b in zip(one.tolist(), two.tolist(), strict=True)}
    wanted = [str(v) for v in special_values(F32).tolist()]
    assert {(a, b) for a in wanted for b in wanted} <= kinds
    ties = special(RNG, (2, 4000), F32, 5)[0]
    assert np.isfinite(ties).all() and np.isin(ties * 2, np.arange(-3, 4)).all() and np.signbit(ties[ties == 0]).any()


def test_special_integers_are_about_the_ends_of_arrays() -> None:
    found = set(special(RNG, (2000,), I32, 32).tolist())
    assert {31, 32, 33, -1, -2, 0, 2**31 - 1, -(2**31)} <= found


@pytest.mark.parametrize(("dtype", "bits"), [(I8, 7), (U8, 8), (I32, 31)])
def test_wild_integers_are_of_every_size_and_sign(dtype: DType, bits: int) -> None:
    values = wild(RNG, (4000,), dtype, 5).astype(np.int64)
    assert {int(v).bit_length() for v in np.abs(values)} == set(range(bits + 1))
    assert (values < 0).any() == (dtype is not U8)


def test_wide_floats_reach_from_denormals_to_the_largest() -> None:
    values = np.abs(wide(RNG, (4000,), F32, 5)).astype(np.float64)
    finite = values[np.isfinite(values) & (values > 0)]
    assert finite.min() < 2.0**-120 and finite.max() > 2.0**120
    assert ((finite > 2.0**-8) & (finite < 2.0**8)).sum() > 1000, "and many are so close that sums of them round"


SCALED = Signature(
    "scaled",
    (
        ArrayArgument("x", F32, ("N",), U),
        ArrayArgument("y", F32, ("M",), U),
        ScalarArgument("n", I32, U),
        ScalarArgument("s", F16, U),
    ),
    ((GridFactor("N", 16),),),
)


TWO = Signature(
    "two",
    (
        ArrayArgument("x", F32, ("N",), U),
        ScalarArgument("n", I32, U),
        ScalarArgument("m", I32, U),
        ScalarArgument("u", U32, U),
        ScalarArgument("s", F16, U),
    ),
    ((GridFactor("N", 16),),),
)


def test_further_launches_are_small_and_tentative() -> None:
    made = list(cases(SCALED))
    further = [case for case in made if case.tentative and not case.name.startswith("free axes of many")]
    names = [case.name for case in further]
    assert names[0].startswith("free axes of") or names[0] == "tiny values"
    assert {"tiny values", "special values and ties", "integers and floats of every size"} <= set(names)
    assert all(case.arrays["x"].size <= 20 * 16 + 3 for case in further)
    named = {case.name: case for case in made}
    assert named["special values and ties"].scalars["n"] == -3
    assert all(len(set(named[name].sizes.values())) == 2 for name in names if name.startswith("extents that"))
    assert named["many elements"].arrays["x"].size == 600 * 16 + 3, "which bf16 does not have as a number"
    finite = [case.scalars["s"] for case in made if np.isfinite(case.scalars["s"])]
    assert len(finite) > len(made) // 2 and all(np.isfinite(np.float16(number)) for number in finite)


def test_of_two_extents_each_is_the_larger_one_once() -> None:
    sizes = [case.sizes for case in cases(SCALED) if case.name.startswith("extents that all differ")][:2]
    assert [s["N"] > s["M"] for s in sizes] == [True, False]


def test_scalars_mostly_differ_and_are_0_and_negative_and_large() -> None:
    made = list(cases(TWO, large=True))
    pairs = [(case.scalars["n"], case.scalars["m"]) for case in made]
    assert sum(n != m for n, m in pairs) > 0.7 * len(pairs)
    assert any(n < m for n, m in pairs) and any(n > m for n, m in pairs)
    for place in (0, 1):
        seen = [pair[place] for pair in pairs]
        assert 0 in seen and min(seen) < 0 and max(seen) > 2**24
    assert max(int(case.scalars["u"]) for case in made) >= 2**31, "with its highest bit"
    assert not all(np.isfinite(case.scalars["s"]) for case in made)


def test_scalars_are_the_numbers_of_the_kernel() -> None:
    made = list(cases(TWO, hints=Hints((16, 5, 1000))))
    for name in ("n", "m"):
        assert {4, 5, 6, 1000} & {case.scalars[name] for case in made if case.name.startswith("scalars about")}


def test_elements_are_the_numbers_of_the_kernel() -> None:
    made = {case.name: case for case in cases(TWO, hints=Hints(floats=(0.1015625,)))}
    assert (made["special values and ties"].arrays["x"] == np.float32(0.1015625)).any()


def test_integers_are_large_only_where_no_loop_ends_at_them() -> None:
    name = "integers and floats of every size"
    few, many = (next(c for c in cases(SCALED, large=large) if c.name == name) for large in (False, True))
    counted = next(c for c in cases(SCALED, large=True, hints=Hints(counting=frozenset({"n"}))) if c.name == name)
    assert few.scalars["n"] == 37 == counted.scalars["n"] and many.scalars["n"] > 2**24


def test_an_extent_of_which_the_tiles_are_known_has_whole_ones() -> None:
    sizes = {case.sizes["N"] for case in cases(ROWS, ("cdiv(N, 64) = 1",))}
    assert 64 in sizes and 48 in sizes, "not a few elements of the tile"


def test_gaps_of_strided_arrays_differ() -> None:
    case = next(case for case in cases(MATMUL) if case.name == "strided arrays")
    gaps = {a.strides[0] // a.itemsize - a.shape[1] for a in case.arrays.values()}
    assert len(gaps) == 3 and 0 not in gaps


def test_extents_that_facts_make_equal_stay_so() -> None:
    assert all(c.sizes["N"] == c.sizes["M"] for c in cases(SCALED, ("M = N",)))
    facts = ("M % 8 = 0", "N % 8 = 0")
    bounded = [c.sizes["M"] for c in cases(SCALED, facts) if c.name.startswith("extents that all differ")]
    assert bounded and all(size % 8 == 0 for size in bounded)

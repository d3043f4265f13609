"""Launches that the simulation chooses itself: grids that nothing tells, arrays as large as accesses ask for, findings
at their operation."""

# ruff: noqa: E501  (one Tile IR operation is one line)

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ferrotile.program.dtypes import F32
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, Signature, Source
from ferrotile.translation import Entry, RustParameter
from ferrotile_runner.assumed_grid import OTHERWISE, assumed_grid
from ferrotile_runner.entry_arrays import written_names
from ferrotile_runner.fitting import FITS, Fitter
from ferrotile_runner.inputs import Case, cases
from ferrotile_runner.launch_facts import facts_of
from ferrotile_runner.simulation import Verdict, simulate
from ferrotile_runner.sizes import larger
from ferrotile_runner.tileir.interpreter import (
    Finding,
    FindingKind,
    Need,
    OutOfTime,
    RunResult,
    UndefinedBehaviour,
    Word,
    run,
)
from ferrotile_runner.tileir.model import Entry as ModelEntry
from ferrotile_runner.tileir.reader import read
from msgspec.structs import replace
from tileir_support import text

U = Source.DIRECTIVE
NAMES = ("x", "y", "z")


def signature(*extents: str, grid: str | None = "N") -> Signature:
    arrays = (ArrayArgument(name, F32, (e,), U) for name, e in zip(NAMES, extents, strict=True))
    factors = None if grid is None else ((GridFactor(grid, 1024),),)
    return Signature("vector_add", (*arrays, ConstantArgument("TILE", 1024, U)), factors)


OWNED = Entry(
    "vector_add",
    "kernels",
    (
        RustParameter("x", "tensor", 1, (1,)),
        RustParameter("y", "tensor", 1, (1,)),
        RustParameter("z", "tensor_mut", 1, (1,), (1024,)),
    ),
    (),
)
ORIGINAL, TRANSLATION = (read(text("vector_add", side)).entry() for side in ("py", "rs"))


def test_the_grid_of_the_output_where_nothing_tells_it() -> None:
    grid = assumed_grid(ORIGINAL, signature("N", "N", "N", grid=None), OWNED)
    assert grid({"x": (9,), "y": (9,), "z": (3000,)}) == (3, 1, 1)


def test_the_grid_of_the_tile_indices_where_the_launcher_does_not_know_it_either() -> None:
    free = replace(OWNED, parameters=tuple(replace(p, kind="tensor", tile=()) for p in OWNED.parameters))
    grid = assumed_grid(ORIGINAL, signature("N", "N", "N", grid=None), free)
    assert grid(dict.fromkeys(NAMES, (3000,))) == (3, 1, 1), "x, y, z of cuTile's block id: only x is an index"
    matmul = Signature(
        "matmul",
        tuple(ArrayArgument(n, F32, e, U) for n, e in (("a", ("M", "K")), ("b", ("K", "N")), ("c", ("M", "N")))),
    )
    grid = assumed_grid(read(text("matmul", "py")).entry(), matmul, Entry("matmul", "kernels", (), ()))
    assert grid({"a": (300, 70), "b": (70, 200), "c": (300, 200)}) == (3, 2, 1), "tiles of 128 x 128"


def test_a_block_id_that_is_no_tile_index() -> None:
    body = """entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %s: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %a = muli %y, %n : tile<i32>
  return
}"""
    one = Signature("k", (ArrayArgument("p", F32, ("N",), U),))
    assert assumed_grid(read(body).entry(), one, Entry("k", "kernels", (), ()))({"p": (9,)}) == (1, OTHERWISE, 1)


def test_a_kernel_whose_grid_is_not_known_is_simulated_and_the_verdict_says_so() -> None:
    found = simulate(ORIGINAL, TRANSLATION, signature("N", "N", "N", grid=None), OWNED, 60)
    assert found.verdict is Verdict.AGREED
    assert found.text.startswith("bit-equal on ") and "one tile and one element: N=1025, grid (2, 1, 1)" in found.text
    assert "the launch's grid is not known" in found.text
    assert "not known" not in simulate(ORIGINAL, TRANSLATION, signature("N", "N", "N"), OWNED, 60).text


def test_sizes_grow_together_and_only_where_nothing_fixes_them() -> None:
    three = signature("N", "M", "K")
    sizes = {"N": 10, "M": 10, "K": 10}
    assert larger(three, facts_of(()), sizes, "y", 0, 17) == {"N": 10, "M": 17, "K": 10}
    assert larger(three, facts_of(("M = K",)), sizes, "y", 0, 17) == {"N": 10, "M": 17, "K": 17}
    assert larger(three, facts_of(("M % 8 = 0",)), sizes, "y", 0, 17) == {"N": 10, "M": 24, "K": 10}
    assert larger(three, facts_of(("M <= 16",)), sizes, "y", 0, 17) is None
    assert larger(three, facts_of(("M = 10",)), sizes, "y", 0, 17) is None
    assert larger(three, facts_of(()), sizes, "y", 0, 9) is None, "it is large enough"
    assert larger(three, facts_of(()), sizes, "w", 0, 17) is None


def first_case(of: Signature, hypotheses: tuple[str, ...] = ()) -> Case:
    return next(iter(cases(of, hypotheses, {"N": 16})))


def result(*findings: Finding) -> RunResult:
    return RunResult({}, {}, findings)


def test_launches_grow_until_the_original_is_defined() -> None:
    """Reads y up to element 39, then x up to element 29, whatever there is."""
    of = signature("N", "M", "K")
    hypotheses = ("M <= 100",)
    case = first_case(of, hypotheses)

    def run(case: Case) -> RunResult:
        if case.arrays["y"].size < 40:
            raise UndefinedBehaviour("y: too small", 7, Need("y", None, 40))
        if case.arrays["x"].size < 30:
            return result(Finding(FindingKind.OUTSIDE, "x: too small", None, 9, Need("x", 0, 30)))
        return result()

    why: list[tuple[str, int]] = []
    fitter = Fitter(of, hypotheses, lambda shapes: (1, 1, 1))
    found = fitter.fit(case, run, lambda text, line: why.append((text, line)))
    assert found is not None and not why
    assert found[0].arrays["y"].size >= 40 and found[0].arrays["x"].size >= 30
    assert found[0].name == case.name
    bounded = Fitter(of, ("M <= 30",), lambda shapes: (1, 1, 1))
    assert bounded.fit(first_case(of, ("M <= 30",)), run, lambda text, line: why.append((text, line))) is None
    assert why == [("y: too small", 7)]


def test_what_is_always_undefined_ends() -> None:
    of = signature("N", "M", "K")

    runs: list[int] = []

    def run(case: Case) -> RunResult:
        size = case.arrays["y"].size
        runs.append(size)
        raise UndefinedBehaviour(f"y: {size} is too few", 7, Need("y", 0, size + 1))

    why: list[str] = []
    assert Fitter(of, (), lambda shapes: (1, 1, 1)).fit(first_case(of), run, lambda text, _: why.append(text)) is None
    assert len(why) == 1 and runs == sorted(set(runs)) and len(runs) == FITS


def test_findings_of_the_original_are_told_with_their_line() -> None:
    """Both blocks store tile 0."""
    lines = text("vector_add", "py").split("\n")
    place = next(number for number, line in enumerate(lines, 1) if "store_view_tko" in line)
    index = lines[place - 1].split("[")[1].split("]")[0]
    zero = "%zero = constant <i32: 0> : tile<i32>"
    raced = [*lines[: place - 1], f"  {zero}", lines[place - 1].replace(f"[{index}]", "[%zero]"), *lines[place:]]
    found = simulate(read("\n".join(raced)).entry(), TRANSLATION, signature("N", "N", "N"), OWNED, 60)
    assert [(n.side, n.text, n.text_line) for n in found.noticed if "two blocks" in n.text] == [
        ("original", "z: two blocks write one element", place + 1)
    ]


def test_the_arrays_that_an_entry_writes() -> None:
    assert written_names(ORIGINAL, signature("N", "N", "N")) == {"z"}


def test_axes_without_elements_are_tried_and_no_fault() -> None:
    of = Signature(
        "k",
        (ArrayArgument("x", F32, ("N", "K"), U), ArrayArgument("y", F32, ("N",), U)),
        ((GridFactor("N", 16),),),
    )
    empty = [case for case in cases(of) if 0 in case.sizes.values()]
    assert [case.sizes["K"] for case in empty] == [0] and empty[0].against == "extents >= 1"
    assert empty[0].arrays["x"].shape == (empty[0].sizes["N"], 0)
    assert any(case.sizes == {"N": 1, "K": 1} for case in cases(of))


def test_hard_values_reach_scalars_and_the_seed_changes_them() -> None:
    made = ({case.name: case for case in cases(signature("N", "N", "N"), seed=seed)} for seed in (0, 1))
    one, two = (named["hard values"] for named in made)
    assert not np.array_equal(one.arrays["x"], two.arrays["x"], equal_nan=True)


SUM = """entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %ps: tile<i32>, %q: tile<ptr<f32>>, %m: tile<i32>, %qs: tile<i32>) {
  %t = make_token : token
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %x = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %xv = make_partition_view %x : partition_view<tile=(1), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %a, %at = load_view_tko weak %xv[%bx] token = %t : partition_view<tile=(1), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<1xf32>, token
  %c = constant <f32: FACTOR> : tile<1xf32>
  %v = mulf %a, %c : tile<1xf32>
  %q1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %o, %ot = atomic_rmw_tko relaxed device %q1, addf, %v token=%at : tile<1xptr<f32>>, tile<1xf32> -> tile<1xf32>, token
  return
}"""


def test_sums_of_atomics_are_compared_within_the_rounding_of_their_order() -> None:
    of = Signature("k", (ArrayArgument("x", F32, ("N",), U), ArrayArgument("out", F32, (1,), U)), ((GridFactor("N"),),))
    rust = Entry("k", "kernels", tuple(RustParameter(n, "tensor", 1, (1,)) for n in ("x", "out")), ())
    x = np.random.default_rng(0).standard_normal(500).astype(np.float32)
    case = Case("sum", {"N": 500}, {"x": x, "out": np.zeros(1, np.float32)}, {}, (500, 1, 1))
    one, other = (read(SUM.replace("FACTOR", factor)).entry() for factor in ("1.0", "1.01"))
    orders = {float(np.add.reduce(y, dtype=np.float32)) for y in (x, x[::-1])}
    assert len({float(s) for s in (np.cumsum(x)[-1], np.cumsum(x[::-1])[-1])} | orders) > 1, "the order shows"
    found = simulate(one, one, of, rust, 60, launches=[case])
    assert found.verdict is Verdict.AGREED and "not determined" not in found.text
    assert simulate(one, other, of, rust, 60, launches=[case]).verdict is Verdict.DIFFERS


def test_a_tentative_launch_that_the_original_is_undefined_for_says_nothing() -> None:
    """Its values ask for elements that are not there: the array is not made larger, and nobody is blamed."""
    of = signature("N", "M", "K")
    case = replace(first_case(of), tentative=True)
    asked: list[int] = []

    def run(case: Case) -> RunResult:
        asked.append(case.arrays["y"].size)
        raise UndefinedBehaviour("y: too small", 7, Need("y", None, 40))

    assert Fitter(of, (), lambda shapes: (1, 1, 1)).fit(case, run, lambda text, line: None) is None
    assert len(asked) == 1
    again = (replace(given, tentative=True) for given in cases(signature("N", "N", "N")))

    def execute(entry: object, words: object, grid: object, **options: object) -> RunResult:
        raise UndefinedBehaviour("y: too small", 7, None)

    found = simulate(ORIGINAL, TRANSLATION, signature("N", "N", "N"), OWNED, 60, launches=again, execute=execute)
    assert found.verdict is Verdict.UNDECIDED and not found.noticed and "too small" not in found.text


def test_a_tentative_launch_that_takes_too_long_is_left() -> None:
    given = next(case for case in cases(signature("N", "N", "N")) if case.name == "less than a tile")
    launches = [given, replace(given, name="endless", tentative=True), replace(given, name="after")]
    ends: list[float] = []

    def execute(entry: ModelEntry, words: Sequence[Word], grid: tuple[int, ...], **options: float) -> RunResult:
        ends.append(options["seconds"])
        if options["seconds"] < 59:
            raise OutOfTime("the time limit was reached")
        return run(entry, words, grid)

    found = simulate(ORIGINAL, TRANSLATION, signature("N", "N", "N"), OWNED, 3600, launches=launches, execute=execute)
    assert found.verdict is Verdict.AGREED and "after: N=768" in found.text
    assert "not tried to the end, the time limit was reached: endless: N=768" in found.text
    assert sum(seconds < 59 for seconds in ends) == 1

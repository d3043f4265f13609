"""Launch facts as the prover gets them."""

from __future__ import annotations

from ferrotile.program.dtypes import F32, I32
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature, Source
from ferrotile.translation import Entry
from ferrotile_runner.launch_facts import facts_of
from ferrotile_runner.rungs.proved import hypotheses_of, parameter_map
from ferrotile_runner.tileir.hypotheses import Array, ParameterMap, Scalar, parse

SWAPPED = ("grid.x is Rust grid.y", "grid.y is Rust grid.x")


def test_facts_of_the_grid_follow_renamed_axes() -> None:
    """The translator speaks of the original's axes, the prover of the Rust's block ids."""
    entry = Entry("k", "k", (), (), ("grid.x = cdiv(N, 8)", "grid.y = cdiv(M, 4)", *SWAPPED))
    facts, unread = hypotheses_of(Signature("k", (), None), entry)
    assert unread == ()
    assert facts.grid == parse(["grid.y = cdiv(N, 8)", "grid.x = cdiv(M, 4)"]).grid


def test_facts_without_renaming_stay() -> None:
    entry = Entry("k", "k", (), (), ("grid.x = cdiv(N, 8)",))
    assert hypotheses_of(Signature("k", (), None), entry)[0].grid == parse(["grid.x = cdiv(N, 8)"]).grid


def test_extents_that_constants_name_have_their_value() -> None:
    """The grid speaks of `B`, the array has the number."""
    x = ArrayArgument("x", F32, ("B", "N"), Source.DIRECTIVE)
    signature = Signature(
        "k", (x, ConstantArgument("B", 4, Source.DIRECTIVE), ConstantArgument("T", 8, Source.DIRECTIVE))
    )
    facts, _ = hypotheses_of(signature, Entry("k", "k", (), (), ("grid.x = B",)))
    assert facts.extents == {"B": 4}
    assert parameter_map(signature, Entry("k", "k", (), ())) == ParameterMap((Array("x", (4, "N"), "f32"),))


def test_scalars_that_the_launch_takes_from_an_extent() -> None:
    x = ArrayArgument("x", F32, ("M", "N"), Source.DIRECTIVE)
    n, s = (ScalarArgument("n", I32, Source.LAUNCH, extent="N"), ScalarArgument("s", I32, Source.LAUNCH))
    found = parameter_map(Signature("k", (x, n, s)), Entry("k", "k", (), ()))
    assert found.parameters[1:] == (Scalar("n", "N"), Scalar("s"))


def test_extents_of_one_axis_are_equal_in_simulated_launches() -> None:
    assert facts_of(("grid.x = cdiv(M, 16)", "grid.x = cdiv(N, 16)")).equal == {"N": "M"}
    assert facts_of(("grid.x = cdiv(M, 16)", "grid.x = cdiv(N, 8)")).equal == {}
    assert facts_of(("grid.x = cdiv(M, 16)", "grid.y = cdiv(N, 16)")).equal == {}

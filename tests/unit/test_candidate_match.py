"""Which parameter of foreign Rust is which argument of the Python, and what launch that gives; without compilers."""

from __future__ import annotations

import pytest
from ferrotile.program.dtypes import F16, F32, I32
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, ScalarArgument, Signature, Source
from ferrotile.translation import ArrayWord, RustParameter
from ferrotile_runner.candidate_error import CandidateError
from ferrotile_runner.candidate_file import EntryText, Generic, ModuleText, Parameter, Place
from ferrotile_runner.candidate_launch import Launch, launch_of
from ferrotile_runner.candidate_match import Matching, match

D = Source.DIRECTIVE
SIGNATURE = Signature(
    "scale",
    (
        ArrayArgument("x", F32, ("M", "N"), D),
        ArrayArgument("w", F16, ("N",), D),
        ArrayArgument("y", F32, ("M", "N"), D),
        ScalarArgument("a", F32, D),
        ConstantArgument("TM", 4, D),
        ConstantArgument("TN", 128, D),
    ),
    ((GridFactor("M", 4),), (GridFactor("N", 128),)),
)
OUTPUTS = frozenset({"y"})
TILE = (Generic("TM", "const", "i32"), Generic("TN", "const", "i32"))
X = Parameter("x", "tensor", 11, "f32", (-1, -1))
W = Parameter("w", "tensor", 12, "f16", (-1,))
Y = Parameter("y", "tensor_mut", 13, "f32", ("TM", "TN"))
A = Parameter("a", "scalar", 14, "f32")


def entry(*parameters: Parameter, generics: tuple[Generic, ...] = TILE) -> EntryText:
    return EntryText("scale", 10, False, generics, parameters)


def matched(*parameters: Parameter, generics: tuple[Generic, ...] = TILE, **given: str) -> Matching:
    return match(entry(*parameters, generics=generics), SIGNATURE, OUTPUTS, given)


def names(found: Matching) -> list[str | None]:
    return [None if one.argument is None else one.argument.name for one in found.parameters]


def launched(*parameters: Parameter, signature: Signature = SIGNATURE, assume: tuple[str, ...] = ()) -> Launch:
    own = entry(*parameters)
    module = ModuleText("k", Place(1, 0, 40, 1), (own,), {}, 0, ())
    return launch_of(module, own, match(own, signature, OUTPUTS, {}), signature, (), assume)


def test_names_come_first_whatever_the_order() -> None:
    found = matched(A, Y, W, X)
    assert names(found) == ["a", "y", "w", "x"]
    assert found.words == () and found.generics == {"TM": 4, "TN": 128}


def test_other_names_go_by_kind_and_by_who_is_written() -> None:
    out = Parameter("out", "tensor_mut", 13, "f32", ("TM", "TN"))
    found = matched(out, Parameter("src", "tensor", 11, "f32", (-1, -1)), Parameter("v", "tensor", 12, "f16", (-1,)), A)
    assert names(found) == ["y", "x", "w", "a"]
    assert found.words == ("src is x by its place", "v is w by its place", "out is y by its place")


def test_two_that_may_be_either_go_by_their_order() -> None:
    pointers = [Parameter(name, "pointer", 11, "f32", mutable=True) for name in ("p", "q")]
    found = matched(*pointers, Parameter("r", "pointer", 12, "f16", mutable=True), A)
    assert names(found) == ["x", "y", "w", "a"]


def test_what_cannot_be_told_is_asked_for() -> None:
    pointers = [Parameter(name, "pointer", 11, "f32", mutable=True) for name in ("p", "q", "r")]
    with pytest.raises(CandidateError, match=r"line 11: which argument .* `p`, `q`, `r` are cannot be told: .*--map"):
        matched(*pointers, W, A)
    number = Parameter("n", "scalar", 15, "i32")
    with pytest.raises(CandidateError, match=r"line 15: .*`n` is cannot be told"):
        matched(X, W, Y, A, number)
    with pytest.raises(CandidateError, match=r"what `BLOCK` stands for cannot be told: .* `--map 128=BLOCK`"):
        matched(X, W, Y, A, generics=(*TILE, Generic("BLOCK", "const", "i32")))


def test_what_is_given_is_taken() -> None:
    n, m = Parameter("n", "scalar", 15, "i32"), Parameter("m", "scalar", 16, "i64")
    given = {"x.shape[1]": "n,m", "7": "BLOCK"}
    generics = (*TILE, Generic("BLOCK", "const", "i32"))
    found = match(entry(X, W, Y, A, n, m, generics=generics), SIGNATURE, OUTPUTS, given)
    assert [one.passed for one in found.parameters[4:]] == [ArrayWord("x", 1), ArrayWord("x", 1)]
    assert found.generics["BLOCK"] == 7


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x": "nothing"}, "the entry `scale` has no `nothing`"),
        ({"a": "x"}, "the Python passes a number for `a`"),
        ({"x.shape[2]": "n"}, "the Python has no `x.shape[2]`"),
        ({"z.shape[0]": "n"}, "the Python has no `z.shape[0]`"),
        ({"nobody": "n"}, "`nobody` is no argument of the Python"),
        ({"1.5": "n"}, "`n` is `i32`, and is passed 1.5"),
    ],
)
def test_what_is_given_wrongly_is_said(given: dict[str, str], words: str) -> None:
    with pytest.raises(CandidateError) as found:
        match(entry(X, W, Y, A, Parameter("n", "scalar", 15, "i32")), SIGNATURE, OUTPUTS, given)
    assert words in found.value.message


def test_a_scalar_called_as_an_extent_is_passed_it() -> None:
    found = matched(X, W, Y, A, Parameter("N", "scalar", 15, "i32"))
    assert found.parameters[4].passed == ArrayWord("x", 1)


def test_types_must_be_the_pythons() -> None:
    with pytest.raises(CandidateError, match="line 12: `w`: its elements are `f16` in the Python, `f32` in the Rust"):
        matched(X, Parameter("w", "tensor", 12, "f32", (-1,)), Y, A)
    with pytest.raises(CandidateError, match="line 14: `a`: it is `f32` in the Python, `f64` in the Rust"):
        matched(X, W, Y, Parameter("a", "scalar", 14, "f64"))
    with pytest.raises(CandidateError, match="line 11: `x`: it has 2 axes in the Python, 3 in the Rust"):
        matched(Parameter("x", "tensor", 11, "f32", (-1, -1, -1)), W, Y, A)


def test_one_type_parameter_is_one_type() -> None:
    generic = (Generic("E", "type"), *TILE)
    x, w = Parameter("x", "tensor", 11, "E", (-1, -1)), Parameter("w", "tensor", 12, "E", (-1,))
    own = entry(x, w, Y, A, generics=generic)
    module = ModuleText("k", Place(1, 0, 40, 1), (own,), {}, 0, ())
    with pytest.raises(CandidateError, match="line 12: `E` is both `f32` and `f16`"):
        launch_of(module, own, match(own, SIGNATURE, OUTPUTS, {}), SIGNATURE, ())


def test_the_launch_of_an_owned_output() -> None:
    found = launched(A, Y, X, W)
    assert found.entry.parameters == (
        RustParameter("a", "scalar", rust="a"),
        RustParameter("y", "tensor_mut", 2, (-1, 1), (4, 128), "y"),
        RustParameter("x", "tensor", 2, (-1, 1), rust="x"),
        RustParameter("w", "tensor", 1, (1,), rust="w"),
    )
    assert found.entry.generics == ("4", "128")
    assert (found.entry.hypotheses, found.entry.other_blocks, found.entry.grid) == ((), "", None)


def test_another_grid_leaves_the_proof_out() -> None:
    wide = Parameter("y", "tensor_mut", 13, "f32", (4, 256))
    found = launched(X, W, wide, A)
    assert found.entry.other_blocks.startswith(
        "the Rust's grid is (cdiv(M, 4), cdiv(N, 256)), the Python's (cdiv(M, 4)"
    )


def test_an_unknown_grid_of_the_python_is_a_fact_of_the_verdict() -> None:
    unknown = Signature("scale", SIGNATURE.arguments)
    assert launched(X, W, Y, A, signature=unknown).entry.hypotheses == (
        "grid.x = cdiv(M, 4)",
        "grid.y = cdiv(N, 128)",
        "bid.z = 0",
    )


def test_extents_in_types_narrow_the_claim_only_where_that_is_said() -> None:
    fixed = Parameter("x", "tensor", 11, "f32", (-1, 512))
    with pytest.raises(CandidateError, match=r"line 11: axis 1 of `x` is `N` long .* `--assume 'N = 512'`"):
        launched(fixed, W, Y, A)
    assert "N = 512" in launched(fixed, W, Y, A, assume=("N = 512",)).entry.hypotheses
    with pytest.raises(CandidateError, match="`N is large` is no fact of a launch"):
        launched(X, W, Y, A, assume=("N is large",))


def test_outputs_must_have_equally_many_tiles() -> None:
    signature = Signature("two", (ArrayArgument("x", F32, ("M",), D), ArrayArgument("y", F32, ("N",), D)))
    own = EntryText(
        "two",
        10,
        False,
        (),
        (Parameter("x", "tensor_mut", 11, "f32", (4,)), Parameter("y", "tensor_mut", 12, "f32", (4,))),
    )
    module = ModuleText("k", Place(1, 0, 40, 1), (own,), {}, 0, ())
    with pytest.raises(CandidateError, match=r"`x` has \(cdiv\(M, 4\)\) tiles and `y` \(cdiv\(N, 4\)\)"):
        launch_of(module, own, match(own, signature, None, {}), signature, ())


def test_a_merged_tensor_must_be_contiguous() -> None:
    signature = Signature(
        "rows",
        (ArrayArgument("x", F32, ("A", "B", "N"), D), ScalarArgument("n", I32, D)),
        ((GridFactor("A"), GridFactor("B")), (GridFactor("N", 64),)),
    )
    own = EntryText("rows", 10, False, (), (Parameter("x", "tensor_mut", 11, "f32", (1, 64)),))
    module = ModuleText("k", Place(1, 0, 40, 1), (own,), {}, 0, ())
    found = launch_of(module, own, match(own, signature, None, {}), signature, ())
    assert found.entry.hypotheses == ("x is contiguous",)
    assert found.entry.other_blocks == "" and found.entry.block_maps == ()

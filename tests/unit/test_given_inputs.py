"""Inputs that a user gives: what is taken, and what is refused with which words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from ferrotile.program.dtypes import BF16, F32, I32
from ferrotile.signatures.directive import read_directive
from ferrotile.signatures.model import (
    ArrayArgument,
    ConstantArgument,
    GridFactor,
    ScalarArgument,
    Signature,
    Source,
)
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module
from ferrotile_runner.given_inputs import case_of, read_npz
from ferrotile_runner.input_error import InputError
from ferrotile_runner.input_factory import make_inputs
from ferrotile_runner.launch_facts import broken_facts, facts_of
from ferrotile_runner.process import Ending, ProcessError

U = Source.DIRECTIVE
SIGNATURE = Signature(
    "scale",
    (
        ArrayArgument("x", F32, ("M", "N"), U),
        ArrayArgument("w", BF16, ("N",), U),
        ScalarArgument("s", F32, U),
        ScalarArgument("n", I32, U, extent="N"),
        ConstantArgument("TILE", 16, U),
    ),
    ((GridFactor("M", 16),),),
)
GOOD: Mapping[str, object] = {
    "x": np.ones((20, 3), np.float32),
    "w": np.array([1, 2, 3], ml_dtypes.bfloat16),
    "s": np.float64(2.5),
}


def saved(folder: Path, **changes: object) -> Path:
    path = folder / "in.npz"
    np.savez(path, **{k: v for k, v in {**GOOD, **changes}.items() if v is not None})  # type: ignore[arg-type]
    return path


def test_a_file_becomes_a_launch(tmp_path: Path) -> None:
    case = case_of("in.npz", read_npz(saved(tmp_path)), SIGNATURE, facts_of(("bid.y = 0", "N <= 4")))
    assert case.sizes == {"M": 20, "N": 3} and case.grid == (2, 1, 1)
    assert case.scalars == {"s": 2.5, "n": 3}, "an extent that the launch passes need not be given"
    assert case.arrays["w"].dtype == ml_dtypes.bfloat16
    assert case.arrays["w"].astype(np.float32).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"w": None}, "w is missing: an array of bf16[N]"),
        ({"s": None}, "s is missing: a number of type f32"),
        ({"y": 1}, "y: no parameter of scale; it has TILE, n, s, w, x"),
        ({"x": np.ones(3, np.float32)}, "x has 1 axes; the signature says f32[M, N]"),
        ({"x": np.ones((20, 3))}, "x has elements of float64; the signature says f32"),
        ({"w": np.ones(3, np.float16)}, "w has elements of float16; the signature says bf16"),
        ({"x": np.ones((20, 4), np.float32)}, "w has 3 elements along N, which is 4 elsewhere"),
        ({"s": np.ones(1)}, "s is a number of type f32, not an array of 1 axes"),
        ({"s": "2"}, "s is a number of type f32, not"),
        ({"n": 5}, "n: the launch passes N, which is 3, not 5"),
        ({"n": 2.5}, "n: 2.5 is no i32"),
        ({"n": 2**40}, "n: 1099511627776 is no i32"),
        ({"TILE": 32}, "TILE is the constant 16"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as caught:
        case_of("in.npz", read_npz(saved(tmp_path, **changes)), SIGNATURE, facts_of(()))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("fact", "broken"),
    [
        ("N = 4", "N = 4"),
        ("N <= 2", "N <= 2"),
        ("N >= 9", "N >= 9"),
        ("N % 2 = 0", "N % 2 = 0"),
        ("M = N", "N = M"),
        ("bid.x = 0", "one block along x"),
        ("grid.x = cdiv(N, 16)", "1 blocks along x, not 2"),
        ("N = 3", None),
        ("grid.x = cdiv(M, 16)", None),
        ("K = 3", None),
    ],
)
def test_facts_of_the_translation_are_checked(fact: str, broken: str | None) -> None:
    found = broken_facts(facts_of((fact,)), {"M": 20, "N": 3}, (2, 1, 1))
    assert found == (() if broken is None else (broken,))


def test_a_launch_that_the_translation_does_not_claim_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="rests on N = 4"):
        case_of("in.npz", read_npz(saved(tmp_path)), SIGNATURE, facts_of(("N = 4",)))


def test_arrays_that_the_kernel_writes_may_be_left_out(tmp_path: Path) -> None:
    case = case_of("in.npz", read_npz(saved(tmp_path, w=None)), SIGNATURE, facts_of(()), frozenset({"w"}))
    assert case.arrays["w"].shape == (3,) and case.blank == {"w"}
    with pytest.raises(InputError, match=r"x is missing: an array of f32\[M, N\], and no other array has M"):
        case_of("in.npz", read_npz(saved(tmp_path, x=None)), SIGNATURE, facts_of(()), frozenset({"x"}))


def test_a_grid_that_is_not_known_may_be_given(tmp_path: Path) -> None:
    free = Signature("scale", SIGNATURE.arguments)
    with pytest.raises(InputError, match="the grid is not known"):
        case_of("in.npz", read_npz(saved(tmp_path)), free, facts_of(()))
    assert case_of("in.npz", read_npz(saved(tmp_path, grid=[2, 3])), free, facts_of(())).grid == (2, 3, 1)
    for wrong in ([1, 2, 3, 4], [-1], [1.5], []):
        with pytest.raises(InputError, match="grid: one to three numbers of blocks"):
            case_of("in.npz", read_npz(saved(tmp_path, grid=wrong)), free, facts_of(()))


def test_files_that_are_no_inputs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_npz(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(InputError, match=r"text.npz is no file of numpy\.savez"):
        read_npz(tmp_path / "text.npz")
    np.savez(tmp_path / "pickled.npz", x=np.array([{}], object))
    with pytest.raises(InputError, match="Python objects, which are not loaded"):
        read_npz(tmp_path / "pickled.npz")
    np.save(tmp_path / "one.npy", np.ones(3))
    with pytest.raises(InputError, match="one array without a name"):
        read_npz(tmp_path / "one.npy")


def test_a_directive_names_the_function() -> None:
    def inputs(line: str) -> tuple[str | None, object]:
        document = Document(f"# ferrotile: {line}\ndef k(): ...\n")
        found = read_directive(document.comments_above(document.data.index(b"def")))
        assert not found.diagnostics
        return found.inputs, found.constants.get("inputs", (None,))[0]

    assert inputs("x: f32[N], inputs=make_inputs, grid=(N/16)") == ("make_inputs", None)
    assert inputs("inputs=3") == (None, 3), "a parameter may be called so"
    assert inputs("inputs=True") == (None, True)


FILE = """
import numpy as np
import torch

COUNT = 3

def helper(rng):
    return rng.standard_normal(COUNT).astype(np.float32)

def make(seed):
    return {"x": helper(np.random.default_rng(seed)), "file": 2}

def several():
    for n in (1, 2):
        yield {"x": np.zeros(n, np.float32)}

def fails():
    values = {}
    return values["nothing"]

def wrong():
    return 7

def objects():
    return {"x": object()}

def foreign():
    return {"x": torch.zeros(3)}

def hangs():
    while True:
        pass

launched = open("launched", "w")
"""
MODULE = parse_module(Document(FILE))


def test_a_function_makes_inputs_from_the_seed(tmp_path: Path) -> None:
    (path,) = make_inputs(MODULE, "make", 5, tmp_path)
    found = read_npz(path)
    assert found["x"].tolist() == np.random.default_rng(5).standard_normal(3).astype(np.float32).tolist()
    assert found["file"] == 2
    assert not Path("launched").exists(), "what the function does not name is not run"


def test_a_function_may_make_several_launches(tmp_path: Path) -> None:
    made = make_inputs(MODULE, "several", 0, tmp_path)
    assert [read_npz(path)["x"].size for path in made] == [1, 2]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nobody", "no function of that name"),
        ("fails", "fails: KeyError: 'nothing' (line 19)"),
        ("wrong", "wrong: it gave int, not a mapping"),
        ("objects", "objects: x is no array of numbers but object"),
        ("foreign", "foreign needs torch, which is not run: make the arrays with numpy"),
    ],
)
def test_functions_that_give_no_inputs(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        make_inputs(MODULE, name, 0, tmp_path)
    assert words in str(caught.value)


def test_a_function_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ferrotile_runner.input_factory.SECONDS", 0.5)
    with pytest.raises(ProcessError) as caught:
        make_inputs(MODULE, "hangs", 0, tmp_path)
    assert caught.value.ending is Ending.TIMEOUT

"""The author's comments in the Rust: each stands where its code went, and goes where its code went away."""

from __future__ import annotations

from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document

SOURCE = """import cuda.tile as ct

FAST = False


# ferrotile: x: f32[M], y: f32[M], n: i32, T=64, grid=(M/T,)
@ct.kernel
def k(
    x,  # the input: (M,)
    # how many rows count
    n,
    # the output
    y,
    T: ct.Constant[int],  # the tile's length
):
    # the block's own tile
    i = ct.bid(0)
    t = ct.load(x, index=(i,), shape=(T,))  # noqa: E501
    # only on fast machines
    if FAST:
        # twice as fast
        t = ct.cos(t)
    else:
        # the slow way
        t = ct.sin(t)
    # a helper follows
    if not FAST:
        # called
        t = less(t)
    if FAST:
        t = t + 1.0  # never there
    for _ in range(n):
        # each time
        t = t + 5.0
    ct.store(y, index=(i,), tile=t)  # at last


def less(t):
    # by seven
    return t - 7.0  # end of less
"""


def _lines(source: str = SOURCE) -> list[str]:
    (kernel,) = translate_document(Document(source)).kernels
    assert kernel.rust is not None, kernel.diagnostics
    return [line.strip() for line in kernel.rust.splitlines()]


def _before(text: str, lines: list[str]) -> str:
    """The line of code that comes next after a comment."""
    return next(line for line in lines[lines.index(f"// {text}") :] if not line.startswith("//"))


def test_comments_stand_before_their_code() -> None:
    lines = _lines()
    assert "program_id(0)" in _before("the block's own tile", lines)
    assert "sin(t)" in _before("the slow way", lines)
    assert "constant(5.0, shape![T])" in _before("each time", lines)
    assert _before("at last", lines) == "y.store(t);"


def test_comments_of_code_that_went_away_go_too() -> None:
    lines = _lines()
    assert not {"// twice as fast", "// never there"} & set(lines)
    assert "// only on fast machines" in lines  # its `else` is what is left


def test_notes_to_tools_are_no_comments() -> None:
    assert not any("noqa" in line or "ferrotile" in line for line in _lines())


def test_parameters_keep_their_comments() -> None:
    lines = _lines()
    assert _before("the input: (M,)", lines) == "x: &Tensor<f32, { [-1] }>,"
    assert _before("how many rows count", lines) == "n: i32,"
    assert _before("the output", lines) == "y: &mut Tensor<f32, { [T] }>,"


def test_a_constant_that_is_a_parameter_has_its_comment_above_the_entry() -> None:
    lines = _lines()
    assert "fn k<const T: i32>(" in lines
    assert _before("T: the tile's length", lines) == "#[cutile::entry()]"


def test_a_helper_brings_its_comments_and_keeps_those_before_its_call() -> None:
    lines = _lines()
    assert "constant(7.0, shape![T])" in _before("by seven", lines)
    assert "constant(7.0, shape![T])" in _before("end of less", lines)
    assert {"// a helper follows", "// called"} <= set(lines)
    assert lines.count("// by seven") == 1


def test_a_helper_below_the_kernel_does_not_pull_its_comments_up() -> None:
    lines = _lines()
    assert lines.index("// by seven") < lines.index("// each time")
    assert lines.index("// each time") > next(k for k, line in enumerate(lines) if line.startswith("for "))

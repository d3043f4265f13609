"""A tuner's choices: what the Rust becomes with them, and the comment that keeps them."""

from __future__ import annotations

import pytest
from ferrotile.choices import Choices, read_choices
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Options
from ferrotile_runner.gpu.tuning import single_choices
from ferrotile_server.cli.tuned_comment import with_comment

ROWS = """\
import cuda.tile as ct

{before}
# ferrotile: x: f32[M, N], w: f32[N], y: f32[M, N], TN=256, grid=(M,)
{tuned}@ct.kernel(occupancy=2)
def rows(x, w, y, TN: ct.Constant[int]):
    i = ct.bid(0)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, TN))):
        scale = ct.load(w, index=(j,), shape=(TN,))
        tile = ct.load(x, index=(i, j), shape=(1, TN))
        ct.store(y, index=(i, j), tile=tile * ct.reshape(scale, (1, TN)))
"""


def text(tuned: str = "", before: str = "") -> str:
    return ROWS.format(tuned=f"{tuned}\n" if tuned else "", before=before)


def translated(source: str, options: Options | None = None) -> KernelTranslation:
    (only,) = translate_document(Document(source), options or Options()).kernels
    return only


def test_the_policy_alone_keeps_rows_and_the_shared_vector_from_tma() -> None:
    rust = translated(text()).rust or ""
    assert "load_row(&px" in rust and "load_vec(&pw" in rust and "sm_90" not in rust


def test_choices_stand_in_the_place_of_policy_and_author() -> None:
    rust = translated(text("# ferrotile tuned: sm_90 w.load=tma x.load=tma occupancy=4")).rust or ""
    assert "px.load([i, j])" in rust and "pw.load([j])" in rust
    assert "default = (occupancy = 2,), sm_90 = (occupancy = 4,)," in rust
    assert "tma::Disabled" in rust  # of the store, which nothing was chosen for


def test_choices_for_another_target_mean_nothing() -> None:
    assert translated(text("# ferrotile tuned: sm_100 x.load=tma")).rust == translated(text()).rust


def test_options_choose_as_the_comment_does() -> None:
    chosen = Choices(tma=(("x.load", True),), entry=(("occupancy", 4),))
    line = chosen.comment("sm_90")
    assert line == "# ferrotile tuned: sm_90 x.load=tma occupancy=4"
    assert translated(text(), Options(choices=chosen)).rust == translated(text(line)).rust


@pytest.mark.parametrize(
    "word", ["x.load=no", "x=tma", "occupancy=0", "occupancy=33", "rows=both", "latency=2", "x.load", "=tma", "1.x=no"]
)
def test_a_word_that_is_not_understood_is_told_at_its_place(word: str) -> None:
    source = text(f"# ferrotile tuned: sm_90 y.store=tma {word}", before="# é")
    (found,) = [d for d in translated(source).diagnostics if d.code == "FT104"]
    assert source.encode()[found.span.start : found.span.end].decode() == word


def test_a_word_that_is_no_target() -> None:
    source = text("# ferrotile tuned: x.load=tma")
    (found,) = [d for d in translated(source).diagnostics if d.code == "FT104"]
    assert source[found.span.start : found.span.end] == "x.load=tma"


def test_choices_are_read_as_they_are_written() -> None:
    chosen = Choices((("x.load", True), ("y.store", False)), False, (("occupancy", 8), ("num_ctas", 2)))
    document = Document(chosen.comment("sm_90") + "\nx = 1\n")
    assert read_choices(document.comments_above(document.data.index(b"x = 1")), "sm_90") == (chosen, ())


def test_later_choices_win() -> None:
    first, second = Choices((("x.load", True),), True), Choices((("x.load", False),), None, (("occupancy", 1),))
    assert first.joined(second) == Choices((("x.load", False),), True, (("occupancy", 1),))


def test_every_array_has_its_choices() -> None:
    program = translated(text()).program
    assert program is not None
    words = [str(one) for one in single_choices(program)]
    assert words[-6:] == ["w.load=tma", "w.load=plain", "x.load=tma", "x.load=plain", "y.store=tma", "y.store=plain"]
    assert sorted(words[:-6]) == sorted(f"occupancy={n}" for n in (1, 2, 4, 8, 16))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_comment_is_put_above_the_kernel(ending: str) -> None:
    source = text(before="# ä").replace("\n", ending)
    chosen = Choices(entry=(("occupancy", 4),))
    made = with_comment(source, translated(source), chosen, "sm_90")
    assert made == source.replace("@ct.kernel", f"{chosen.comment('sm_90')}{ending}@ct.kernel")


def test_the_comment_of_a_target_is_replaced_and_that_of_another_stays() -> None:
    source = text("# ferrotile tuned: sm_90 occupancy=1\n# ferrotile tuned: sm_100 occupancy=2")
    made = with_comment(source, translated(source), Choices(rows=True), "sm_90")
    assert made == source.replace("sm_90 occupancy=1", "sm_90 rows=view")


def test_an_indented_kernel_gets_an_indented_comment() -> None:
    source = "import cuda.tile as ct\n\n\nclass K:\n    @ct.kernel\n    def k(x):\n        ct.bid(0)\n"
    (kernel,) = translate_document(Document(source)).kernels
    assert "class K:\n    # ferrotile tuned: sm_90 rows=view\n    @ct.kernel\n" in with_comment(
        source, kernel, Choices(rows=True), "sm_90"
    )

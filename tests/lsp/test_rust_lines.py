"""Lines of generated files and kernels of the real translator."""

from __future__ import annotations

import pytest
from ferrotile.syntax.document import Document
from ferrotile_server.application import Analysis, Application
from ferrotile_server.rust_lines import locate, translated

KERNELS = """import cuda.tile as ct


# ferrotile: x: f32[N], y: f32[N], T=256, grid=(N/T,)
@ct.kernel
def flat(x, y, T: ct.Constant[int]):
    ct.store(y, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(T,)))


# ferrotile: x: f16[M, N], y: f32[M], TN=64, grid=(M,)
@ct.kernel
def rows(x, y, TN: ct.Constant[int]):
    t = ct.load(x, index=(ct.bid(0), 0), shape=(1, TN))
    ct.store(y, index=(ct.bid(0),), tile=ct.sum(t.astype(ct.float32), axis=1))
"""
CALL = " = load_row(&x"


def written() -> tuple[str, Analysis]:
    application = Application()
    analysis = application.check_document(Document(KERNELS))
    text = application.rust_file(analysis, "k")
    assert text is not None and text.count(CALL) == 1
    return text, analysis


def store_of(text: str, analysis: Analysis, name: str) -> str | None:
    """The line of `text` that the kernel's `ct.store` leads to."""
    found = locate(text, translated(analysis).values()).of(name)
    if found is None:
        return None
    head = analysis.document.data.index(f"def {name}".encode())
    number = analysis.document.lines.line_of(analysis.document.data.index(b"ct.store(", head))
    lines = analysis.document.lines
    line = max(n for n, s in found.pairs if lines.line_of(s.start) == number)
    assert found.head < line < found.last
    assert text.split("\n")[found.last] == "    }"
    return text.split("\n")[line].strip()


def test_kernels_are_found_wherever_they_stand() -> None:
    text, analysis = written()
    for made in (text, text.replace("mod k {", "mod k {\n    // more\n")):
        assert [k.kernel.name for k in locate(made, translated(analysis).values()).kernels] == ["flat", "rows"]
        assert (store_of(made, analysis, "rows") or "").startswith("y.store(")
        assert (store_of(made, analysis, "flat") or "").startswith("y.store(")


@pytest.mark.parametrize("call", [" = load_row_2(&x", " =\n            load_row_2(&x"])
def test_a_renamed_helper_and_the_line_that_it_breaks(call: str) -> None:
    text, analysis = written()
    assert (store_of(text.replace(CALL, call), analysis, "rows") or "").startswith("y.store(")


@pytest.mark.parametrize(
    ("before", "after"),
    [(CALL, " = load_rows(&x"), ("reduce_sum(t, 1)", "reduce_sum(t, 0)"), ("    y.store(sum);\n", "")],
)
def test_a_kernel_that_reads_otherwise_is_not_found(before: str, after: str) -> None:
    text, analysis = written()
    assert before in text
    other = text.replace(before, after)
    assert [k.kernel.name for k in locate(other, translated(analysis).values()).kernels] == ["flat"]
    assert (store_of(other, analysis, "flat") or "").startswith("y.store(")


def test_a_text_cut_short() -> None:
    text, analysis = written()
    kernels = translated(analysis).values()
    lines = text.split("\n")
    for count in range(len(lines)):
        found = locate("\n".join(lines[:count]), kernels)
        assert all(k.last < count for k in found.kernels)

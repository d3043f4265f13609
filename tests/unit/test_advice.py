"""FT404: where the Python would be faster without TMA, with a fix that is valid Python."""

from __future__ import annotations

import ast

import pytest
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import Options

TEXT = """\
import cuda.tile as ct


# ferrotile: x: f32[M, N], w: f32[N], y: f32[M, N], TN=256, grid=(M,)
@ct.kernel
def rows(x, w, y, TN: ct.Constant[int]):
    i = ct.bid(0)
    scale = ct.load(w, index=(0,), shape=(TN,), padding_mode=ct.PaddingMode.NEG_INF)
    tile = LOAD
    ct.store(y, index=(i, 0), tile=tile * ct.reshape(scale, (1, TN)), allow_tma=True)
"""


def told(load: str, options: Options | None = None) -> tuple[bytes, list[Diagnostic]]:
    data = TEXT.replace("LOAD", load).encode()
    (kernel,) = translate_document(Document(data.decode()), options or Options()).kernels
    assert kernel.rust is not None
    return data, [d for d in kernel.diagnostics if d.code == "FT404"]


@pytest.mark.parametrize(
    ("load", "fixed"),
    [
        ("ct.load(x, (i, 0), (1, TN))", "ct.load(x, (i, 0), (1, TN), allow_tma=False)"),
        ("ct.load(x, (i, 0), (1, TN),)", "ct.load(x, (i, 0), (1, TN), allow_tma=False)"),
        (
            "ct.load(\\n        x,\\n        (i, 0),\\n        (1, TN),\\n    )".replace("\\n", "\n"),
            "ct.load(\n        x,\n        (i, 0),\n        (1, TN), allow_tma=False\n    )",
        ),
    ],
)
def test_a_load_of_a_row_is_told_and_the_fix_adds_the_keyword(load: str, fixed: str) -> None:
    data, (found,) = told(load)
    assert data[found.span.start : found.span.end].decode() == load
    assert found.fix is not None
    made = (data[: found.fix.span.start] + found.fix.text.encode() + data[found.fix.span.end :]).decode()
    assert made == TEXT.replace("LOAD", fixed)
    ast.parse(made)
    assert not told(fixed)[1]


def test_a_comment_behind_the_last_argument_leaves_no_place_for_a_fix() -> None:
    _, (found,) = told("ct.load(x, (i, 0), (1, TN)  # a row\n    )")
    assert found.fix is None


@pytest.mark.parametrize(
    "load",
    [
        "ct.load(x, (i, 0), (1, TN), allow_tma=True)",  # the author's word
        "ct.load(x, (i, 0), (1, TN), padding_mode=ct.PaddingMode.NEG_INF)",  # which TMA cannot do
        "ct.gather(x, (i, ct.arange(TN, dtype=ct.int32))).reshape((1, TN))",  # which is no TMA
    ],
)
def test_nothing_is_told_where_the_python_has_no_such_tma(load: str) -> None:
    assert not told(load)[1]


def test_nothing_is_told_for_a_target_without_measurements() -> None:
    assert not told("ct.load(x, (i, 0), (1, TN))", Options(target="sm_100"))[1]

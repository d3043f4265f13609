"""FT401: which stores two blocks can make to the same tile, and which they cannot."""

from __future__ import annotations

import pytest
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document

HEAD = "import cuda.tile as ct\n\n\n"
VECTOR = (
    "# ferrotile: x: f32[N], ids: i32[N], y: f32[N], T=16, grid=(N/T,)\n"
    "@ct.kernel\ndef k(x, ids, y, T: ct.Constant[int]):\n    i = ct.bid(0)\n"
    "    t = ct.load(x, index=(i,), shape=(T,))\n"
)
MATRIX = (
    "# ferrotile: x: f32[M, N], y: f32[M, N], TM=16, TN=32, grid=(M/TM, N/TN)\n"
    "@ct.kernel\ndef k(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):\n    i, j = ct.bid(0), ct.bid(1)\n"
    "    t = ct.load(x, index=(i, j), shape=(TM, TN))\n"
)


def races(text: str) -> list[Diagnostic]:
    (kernel,) = translate_document(Document(HEAD + text)).kernels
    assert kernel.rust is not None, kernel.diagnostics
    return [d for d in kernel.diagnostics if d.code == "FT401"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (MATRIX + "    ct.store(y, index=(i, 0), tile=t)\n", "does not depend on `ct.bid(1)`"),
        (MATRIX + "    ct.store(y, index=(0, 0), tile=t)\n", "does not depend on `ct.bid(0)`"),
        (VECTOR + "    ct.store(y, index=(i // 2,), tile=t)\n", "divides `ct.bid(0)`"),
        (VECTOR + "    ct.store(y, index=(i % 4,), tile=t)\n", "wraps `ct.bid(0)`"),
        (VECTOR + "    ct.store(y, index=(min(i, 7),), tile=t)\n", "clamps `ct.bid(0)`"),
        (
            VECTOR + "    r = ct.load(ids, index=(0,), shape=(1,)).item()\n    ct.store(y, index=(r,), tile=t)\n",
            "equal values collide",
        ),
    ],
)
def test_an_index_that_repeats(body: str, why: str) -> None:
    (found,) = races(body)
    assert why in found.message
    start = (HEAD + body).index("ct.store")
    assert found.span.start == start


def test_a_neighbours_tile() -> None:
    body = VECTOR + "    ct.store(y, index=(i,), tile=t)\n    ct.store(y, index=(i + 1,), tile=t)\n"
    (found,) = races(body)
    assert "an earlier one of another" in found.message
    assert found.span.start == (HEAD + body).index("ct.store(y, index=(i + 1,)")
    ((related, _),) = found.related
    assert related.start == (HEAD + body).index("ct.store(y, index=(i,)")


@pytest.mark.parametrize(
    "body",
    [
        MATRIX + "    ct.store(y, index=(i, j), tile=t)\n",
        MATRIX + "    ct.store(y, index=(i + 1, j), tile=t)\n",
        MATRIX + "    if j == 0:\n        ct.store(y, index=(i, 0), tile=t)\n",
        VECTOR + "    ct.store(y, index=(2 * i,), tile=t)\n    ct.store(y, index=(2 * i + 1,), tile=t)\n",
        VECTOR + "    if i > 3:\n        ct.store(y, index=(i,), tile=t)\n"
        "    else:\n        ct.store(y, index=(i,), tile=-t)\n",
        VECTOR.replace("grid=(N/T,)", "grid=(1,)") + "    ct.store(y, index=(0,), tile=t)\n",
        VECTOR + "    for k in range(i, ct.num_tiles(x, axis=0, shape=(T,)), ct.num_blocks(0)):\n"
        "        ct.store(y, index=(k,), tile=t)\n",
        MATRIX + "    b = i * 4 + j % 4\n    ct.store(y, index=(b // 4, j), tile=t)\n",
    ],
)
def test_no_false_alarm(body: str) -> None:
    assert races(body) == []

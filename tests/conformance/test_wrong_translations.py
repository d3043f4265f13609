"""What the proof says of wrong translations: both places, and what differs. The expected places are read off the
sources: the line of the statement that was changed, and the statement that it translates."""

from __future__ import annotations

from pathlib import Path

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Options
from ferrotile_runner.report import RungResult
from ferrotile_runner.session import Session
from ferrotile_runner.verify import verify_kernels
from msgspec import Struct
from msgspec.structs import replace

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

pytestmark = pytest.mark.compilers


class Wrong(Struct, frozen=True):
    """`old` in the generated Rust becomes `new`; the report shows `python` and `rust`, and says `words`."""

    kernel: str
    old: str
    new: str
    python: str | None
    rust: str | None
    words: str


WRONG = (
    Wrong("vector_add", "tx + ty", "tx - ty", "tx + ty", "tx - ty", "the Python computes `+`, the Rust `-`"),
    Wrong(
        "vector_add",
        "y.partition(shape![TILE])",
        "x.partition(shape![TILE])",
        "ct.load(y, index=(i,), shape=(TILE,))",
        "x.partition(shape![TILE]).load([i])",
        "the Python loads `y`, the Rust `x`",
    ),
    Wrong(
        "softmax",
        "reduce_max(t, 1)",
        "reduce_min(t, 1)",
        "ct.max(t, axis=1, keepdims=True)",
        "reduce_min(t, 1)",
        "the Python computes `max(x[bid.x, 0])`, the Rust `min(x[bid.x, 0])`",
    ),
    Wrong(
        "softmax",
        "padding::NegInf",
        "padding::Zero",
        "ct.load(x, index=(row, 0), shape=(1, TN), padding_mode=ct.PaddingMode.NEG_INF)",
        "load_row_neg_inf(x, shape![1, TN], [row, 0i32])",
        "the padding of the load of `x` is `-inf` in the Python, `0.0` in the Rust",
    ),
    Wrong(
        "softmax",
        "[row, 0i32]",
        "[0i32, row]",
        "ct.load(x, index=(row, 0), shape=(1, TN), padding_mode=ct.PaddingMode.NEG_INF)",
        "load_row_neg_inf(x, shape![1, TN], [0i32, row])",
        "the indices of the load of `x` are exchanged",
    ),
    Wrong(
        "softmax",
        "e / sum.reshape",
        "t / sum.reshape",
        "e / ct.sum(e, axis=1, keepdims=True)",
        "t / sum.reshape(shape![1, 1]).broadcast(shape![1, TN])",
        "the first operand of `/` is `exp(",
    ),
    Wrong(
        "softmax",
        "store_row(y, e / sum.reshape(shape![1, 1]).broadcast(shape![1, TN]));",
        "let _ = sum;",
        "ct.store(y, index=(row, 0), tile=e / ct.sum(e, axis=1, keepdims=True))",
        None,
        "the Python stores to `y` where the Rust does not",
    ),
    Wrong(
        "layer_norm",
        "lt_tile(t2",
        "le_tile(t2",
        "j * TN + ct.arange(TN, dtype=ct.int32) < N",
        "le_tile(t2, 1000i32.broadcast(shape![256]))",
        "the Python compares with `<`, the Rust with `<=`",
    ),
    Wrong(
        "layer_norm",
        "let rstd = sum.reshape(shape![1, 1]) / constant(1000.0, shape![1, 1])",
        "let rstd = sum.reshape(shape![1, 1]) / constant(1001.0, shape![1, 1])",
        "ct.sum(square, axis=1, keepdims=True) / N",
        "sum.reshape(shape![1, 1]) / constant(1001.0, shape![1, 1])",
        "the second operand of `/` is `1000.0` in the Python, `1001.0` in the Rust",
    ),
    Wrong(
        "layer_norm",
        "fma_2(d, d, square)",
        "fma_2(d, square, d)",
        None,
        "fma_2(d, square, d)",
        "the second factor and the addend of `fma` are exchanged",
    ),
    Wrong(
        "matmul",
        "0..num_tiles(&pa, 1)",
        "1..num_tiles(&pa, 1)",
        "for k in range(num_tiles):",
        "for k in 1..num_tiles(&pa, 1)",
        "the start of the loop is `0` in the Python, `1` in the Rust",
    ),
    Wrong(
        "matmul",
        "0..num_tiles(&pa, 1)",
        "0..num_tiles(&pb, 1)",
        "ct.num_tiles(a, axis=1, shape=(TM, TK))",
        "num_tiles(&pb, 1)",
        "the end of the loop is `cdiv(K, 64)` in the Python, `cdiv(N, 128)` in the Rust",
    ),
    Wrong(
        "adamw",
        "unsafe { z.set_token(done) };",
        "let _ = done;",
        "ct.store(p, index=(i,), tile=tp - lr * step)",
        "p.store(fma_1(negf(lr.broadcast(shape![TILE])), step, tp))",
        "nothing orders the load",
    ),
    Wrong(
        "adamw",
        "v.store(tv);",
        "v.store(tv); v.store(tv);",
        None,
        "v.store(tv)",
        "the Rust stores to `v` where the Python does not",
    ),
    Wrong(
        "embedding",
        "min(row, table.shape()[0] - 1)",
        "row",
        None,
        "load_row(&table.partition(shape![1, TD]), [at, j])",
        "the Rust loads `table` at",
    ),
)


def proof(session: Session, document: Document, kernel: KernelTranslation) -> RungResult:
    (report,) = verify_kernels(document, (kernel,), ("proved",), session.toolchain, session=session)
    assert [d.code for d in report.diagnostics if d.code == "FT504"] == ["FT504"]
    return report.rungs["proved"]


@pytest.mark.parametrize("wrong", WRONG, ids=[f"{w.kernel}-{w.new[:24]}" for w in WRONG])
def test_a_wrong_translation_is_shown_at_both_places(session: Session, wrong: Wrong) -> None:
    source = (EXAMPLES / f"{wrong.kernel}.py").read_text()
    document = Document(source)
    kernel = next(k for k in translate_document(document, Options()).kernels if k.rust is not None)
    assert kernel.rust is not None and wrong.old in kernel.rust, "the change no longer fits the generated text"
    rust = kernel.rust.replace(wrong.old, wrong.new, 1)
    difference = proof(session, document, replace(kernel, rust=rust)).difference
    assert difference is not None
    assert wrong.words in difference.words
    for place, shown, text in ((difference.python, wrong.python, source), (difference.rust, wrong.rust, rust)):
        if shown is not None:
            assert place is not None
            assert place.text == shown
            line = text.splitlines()[place.line - 1]
            assert line[place.column - 1 :].startswith(shown[:12])

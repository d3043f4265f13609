"""Extents that a signature fixes are in the types of the tensors, where cutile 0.5 reads them right."""

from __future__ import annotations

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import Options

ROWS = "    i = ct.bid(0)\n    t = ct.load(x, index=(i, 0), shape=(1, 64){0})\n    ct.store(y, index=(i, 0), tile=t)\n"


def rust(directive: str, body: str, parameters: str = "x, y", unsafe: str = "proved") -> str:
    text = f"import cuda.tile as ct\n\n\n# ferrotile: {directive}\n@ct.kernel\ndef kernel({parameters}):\n{body}"
    (only,) = translate_document(Document(text), Options(unsafe=unsafe)).kernels
    assert only.rust is not None, only.diagnostics
    return only.rust


def test_a_number() -> None:
    text = rust("x: f32[M, 64], y: f32[M, 64], grid=(M,)", ROWS.format(""))
    assert "x: &Tensor<f32, { [-1, 64] }>," in text


def test_a_constant_that_a_launch_passes_as_an_extent() -> None:
    text = (
        "import cuda.tile as ct\nimport torch\n\n\n@ct.kernel\ndef kernel(x, y, N: ct.Constant[int]):\n"
        f"{ROWS.format('').replace('64', 'N')}\n\n"
        "def run(m: int):\n    x = torch.empty((m, 64), dtype=torch.float32)\n    y = torch.empty_like(x)\n"
        "    ct.launch(torch.cuda.current_stream(), (m, 1, 1), kernel, (x, y, x.shape[1]))\n"
    )
    (only,) = translate_document(Document(text)).kernels
    assert only.rust is not None, only.diagnostics
    assert "const N: i32" in only.rust and ", { [-1, N] }>," in only.rust


def test_a_number_that_may_be_a_constant_stays_a_word() -> None:
    """The directive says `[M, N]`, its reader 64: for another N the tensor has other extents."""
    body = ROWS.format("").replace("64", "N")
    text = rust("x: f32[M, N], y: f32[M, N], N=64, grid=(M,)", body, "x, y, N: ct.Constant[int]")
    assert "const N: i32" in text and "x: &Tensor<f32, { [-1, -1] }>," in text


def test_what_the_launch_says_stays_a_word() -> None:
    assert "x: &Tensor<f32, { [-1, -1] }>," in rust("x: f32[M, N], y: f32[M, 64], grid=(M,)", ROWS.format(""))


def test_no_extent_in_front_of_one_that_is_not_fixed() -> None:
    """cutile 0.5 numbers `shape()` and divisors by the run-time axes alone."""
    body = "    i = ct.bid(0)\n    ct.store(y, index=(i, 0), tile=ct.load(x, index=(0, i), shape=(1, 64)))\n"
    text = rust("x: f32[1, N], y: f32[M, 64], grid=(M,)", body)
    assert "x: &Tensor<f32, { [-1, -1] }>," in text


def test_an_extent_that_the_kernel_asks_for_stays_a_word() -> None:
    body = ROWS.format("") + "    ct.store(n, index=(i,), tile=ct.full((1,), x.shape[{axis}], ct.int32))\n"
    directive = "x: f32[4, 64], y: f32[4, 64], n: i32[4], grid=(4,)"
    last = rust(directive, body.format(axis=1), "x, y, n")
    assert "x.shape()[1]" in last and "x: &Tensor<f32, { [-1, -1] }>," in last
    first = rust(directive, body.format(axis=0), "x, y, n")
    assert "x.shape()[0]" in first and "x: &Tensor<f32, { [-1, 64] }>," in first


def test_elements_are_read_from_a_tensor_of_any_extents() -> None:
    body = (
        "    i = ct.bid(0)\n    at = (i, ct.arange(64, dtype=ct.int32) * 3)\n"
        "    ct.scatter(y, (i, ct.arange(64, dtype=ct.int32)), ct.gather(x, at))\n"
    )
    assert "x: &Tensor<f32, { [-1, -1] }>," in rust("x: f32[M, 99], y: f32[M, 64], grid=(M,)", body)


@pytest.mark.parametrize("unsafe", ["proved", "never"])
def test_other_padding(unsafe: str) -> None:
    body = ROWS.format(", padding_mode=ct.PaddingMode.NEG_INF")
    text = rust("x: f32[M, 50], y: f32[M, 64], grid=(M,)", body, unsafe=unsafe)
    assert "x: &Tensor<f32, { [-1, 50] }>," in text
    if unsafe == "never":
        assert "50i32.broadcast(shape![64])" in text and "x.shape()[1]" not in text
    else:
        assert "x: &Tensor<E, D>,\n" in text and "const D: [i32; 2]" in text

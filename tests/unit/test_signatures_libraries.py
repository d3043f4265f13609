"""Host code in the styles of libraries, scripts, tests and notebooks: what it passes is found as a reader would."""

from __future__ import annotations

import pytest
from ferrotile.frontends.cutile.discover import find_kernels
from ferrotile.signatures.infer import infer_signatures
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module
from ferrotile.translate import translate_document
from signature_support import COPY, HEAD, ROWS, all_shown, infer, launched

KNOWN = "x: f16[M, N], y: f16[M, N], n: i32, T=64 | (M)"
RUN = "def f(x):\n    M, N = x.shape\n    ct.launch(0, (M,), k, (x, torch.empty_like(x), N, 64))\n"


@pytest.mark.parametrize(
    "body",
    [
        # rows of a test, by a string, a list, and one by one
        "import pytest\n@pytest.mark.parametrize('M, N', [(4, 64), (8, 128)])\n"
        "@pytest.mark.parametrize('dtype', [torch.float16])\n"
        "def test(M, N, dtype):\n    f(torch.rand(M, N, dtype=dtype))\n",
        "import pytest\n@pytest.mark.parametrize(['M', 'N'], [pytest.param(4, 64, id='small')])\n"
        "def test(M, N):\n    f(torch.rand(M, N).half())\n",
        # a fixture, of another fixture, and one that yields
        "import pytest\n@pytest.fixture(params=[4])\ndef M(request):\n    return request.param\n"
        "@pytest.fixture\ndef data(M):\n    yield torch.zeros(M, 64, dtype=torch.float16)\n"
        "def test(data):\n    f(data)\n",
        # a test class
        "import unittest\nclass Case(unittest.TestCase):\n    def setUp(self):\n"
        "        self.x = torch.zeros(4, 64).half()\n    def test(self):\n        f(self.x)\n",
        # a command line
        "import argparse\ndef main():\n    p = argparse.ArgumentParser()\n    g = p.add_argument_group('sizes')\n"
        "    g.add_argument('-m', '--rows', type=int, default=4)\n"
        "    p.add_argument('--n-cols', type=int, default=64)\n"
        "    p.add_argument('--check', action='store_true')\n    args = p.parse_args()\n"
        "    f(torch.rand(args.rows, args.n_cols, dtype=torch.float16))\nif __name__ == '__main__':\n    main()\n",
        # keyword arguments from a command line
        "import argparse\ndef main(M, N):\n    f(torch.rand(M, N).half())\np = argparse.ArgumentParser()\n"
        "p.add_argument('--M', default=4)\np.add_argument('--N', default=64)\nmain(**vars(p.parse_args()))\n",
        # a benchmark
        "import triton\n@triton.testing.perf_report(triton.testing.Benchmark(x_names=['N'], x_vals=[64, 128],\n"
        "    line_arg='provider', line_vals=['tile'], args={'M': 4}))\n"
        "def bench(M, N, provider):\n    return triton.testing.do_bench(lambda: f(torch.rand(M, N).half()))\n",
        # modules: cast as a whole, called, with layers of their own
        "class Op(torch.nn.Module):\n    def __init__(self, N):\n        super().__init__()\n"
        "        self.w = torch.nn.Parameter(torch.ones(4, N))\n    def forward(self, a):\n        f(self.w)\n"
        "Op(64).cuda().half()(torch.zeros(2))\n",
        "lin = torch.nn.Linear(32, 64, bias=False, dtype=torch.float16)\nf(lin(torch.zeros(4, 32)))\n",
        # tables of functions, and names for calls of them
        "RUN = {n: functools.partial(g, n) for n, g in {'a': lambda n, x: f(x)}.items()}\n"
        "def test():\n    RUN['a'](torch.zeros(4, 64, dtype=torch.float16))\n",
        # a generator of random numbers of NumPy's kind, and element types by position
        "import cupy as cp\nrng = cp.random.default_rng(0)\n"
        "f(rng.random((4, 64), dtype=cp.float32).astype(cp.float16))\n",
        "import cupy as cp\nf(cp.zeros((4, 64), cp.float16))\n",
        "import cupy as cp\nf(cp.zeros((4, 64), dtype='<f2'))\n",
        "import numpy as np\nfrom numba import cuda\nf(cuda.to_device(np.ones((4, 64), np.float16)))\n",
        # arithmetic of tensors that are broadcast
        "f(torch.zeros(4, 64).half() + 2 * torch.ones(64).half())\n",
        # a loop of steps that swaps its arrays
        "def train(x, steps):\n    for _ in range(steps):\n        f(x)\n        x = x.clone()\n"
        "train(torch.zeros(4, 64, dtype=torch.float16), 10)\n",
    ],
)
def test_styles(body: str) -> None:
    assert launched(RUN + body)[0] == KNOWN


def test_a_kernel_in_a_class_is_not_bound() -> None:
    inside = ROWS.replace("\n", "\n    ")
    body = "class Ops:" + inside + "\nct.launch(0, (4,), Ops.k, (torch.zeros(4, 8), torch.zeros(4, 8), 8, 64))\n"
    module = parse_module(Document(HEAD + body))
    found = infer_signatures(module, find_kernels(module)[0])
    assert all_shown(found) == ["x: f32[D0, D1], y: f32[D0, D1], n: i32, T=64 | (4)"]


@pytest.mark.parametrize(
    ("size", "grid", "expected"),
    [
        # whole tiles: `//` is the same as rounding up
        ("n = 4096\nx = torch.zeros(n)\n", "(n // 64,)", "x: f32[n], y: f32[n], T=64 | (n/64)"),
        ("x = torch.zeros(4096)\n", "(4096 // 64,)", "x: f32[D0], y: f32[D0], T=64 | (D0/64)"),
        ("x = torch.zeros(4096)\n", "(ct.cdiv(4096, 64),)", "x: f32[D0], y: f32[D0], T=64 | (D0/64)"),
        ("x = torch.zeros(unknown())\n", "((x.shape[0] + 63) // 64,)", "x: f32[D0], y: f32[D0], T=64 | (D0/64)"),
        ("x = torch.zeros(unknown())\n", "((x.shape[0] + 64) // 64,)", "x: f32[D0], y: f32[D0], T=64 | ?"),
        # a tail that the launch leaves out: another grid
        ("n = 4100\nx = torch.zeros(n)\n", "(n // 64,)", "x: f32[n], y: f32[n], T=64 | ?"),
        # a number of elements
        ("x = torch.zeros(32, 128).view(-1)\n", "(ct.cdiv(x.numel(), 64),)", "x: f32[D0], y: f32[D0], T=64 | (D0/64)"),
        (
            "a = torch.zeros(32, 128)\nx = a.flatten()\n",
            "(ct.cdiv(a.numel(), 64),)",
            "x: f32[D0], y: f32[D0], T=64 | (D0/64)",
        ),
    ],
)
def test_grids(size: str, grid: str, expected: str) -> None:
    body = f"{size}ct.launch(0, {grid}, k, (x, torch.empty_like(x), 64))\n"
    assert launched(body, COPY) == [expected]


def test_a_grid_that_is_not_rounded_up_needs_whole_tiles() -> None:
    """`n // 64` blocks leave out a tail, which a launcher of `cdiv(n, 64)` blocks would write: there must be none."""
    text = f"{HEAD}{COPY}n = 4096\nx = torch.zeros(n)\nct.launch(0, (n // 64,), k, (x, torch.empty_like(x), 64))\n"
    (one,) = translate_document(Document(text)).kernels
    assert one.entry is not None and "n % 64 = 0" in one.entry.hypotheses
    (rounded,) = translate_document(Document(text.replace("n // 64", "-(-n // 64)"))).kernels
    assert rounded.entry is not None and rounded.entry.hypotheses == ()


def test_products_of_extents_are_one_extent() -> None:
    body = (
        "def f(x):\n    B, H, S, D = x.shape\n    a, b = x.view(B * H, S * D), x.reshape(-1, D * S)\n"
        "    ct.launch(0, (B * H,), k, (a, b, 1, 64))\nf(torch.zeros(2, 3, 4, 16))\n"
    )
    assert launched(body) == ["x: f32[D0, D1], y: f32[D0, D1], n: i32, T=64 | (D0)"]


def test_an_extent_that_is_passed_as_a_constant_has_its_name() -> None:
    kernel = ROWS.replace("y, n, T", "y, W: ct.Constant[int], T")
    body = "def f(x):\n    m, n = x.shape\n    ct.launch(0, (m,), k, (x, torch.empty_like(x), n, 64))\n"
    body += "f(torch.zeros(4, 64))\n"
    assert launched(body, kernel) == ["x: f32[m, W], y: f32[m, W], W=64, T=64 | (m)"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("torch.finfo(torch.float16).max", "65504.0"),
        ("torch.finfo(torch.float8_e4m3fn).max", "448.0"),
        ("torch.iinfo(torch.int8).max", "127"),
        ("-math.pi", str(-3.141592653589793)),
        ("int(math.log2(512))", "9"),
        ("1 << math.ceil(math.log2(100))", "128"),
        ("math.sqrt(0.25)", "0.5"),
        ("torch.zeros(4).element_size()", "4"),
        ("torch.float64.itemsize", "8"),
        ("Mode.SLOW.value", "3"),
        ("[c.value for c in (Mode.SLOW, Mode.FAST)][1]", "5"),
        ("torch.zeros(8, 16).view(-1, 4).shape[0]", "32"),
        ("torch.zeros(2, 3, 5).flatten(0, 1).shape[0]", "6"),
        ("torch.outer(torch.zeros(4), torch.zeros(7)).shape[1]", "7"),
    ],
)
def test_values(value: str, expected: str) -> None:
    kernel = COPY.replace("T: ct.Constant[int]", "T: ct.Constant[int], c: ct.Constant")
    body = (
        "import enum\nclass Mode(enum.Enum):\n    SLOW = 3\n    FAST = 5\n"
        f"x = torch.zeros(64)\nct.launch(0, (1,), k, (x, x, 64, {value}))\n"
    )
    (only,) = launched(body, kernel)
    assert only.split(" | ")[0].rpartition("c=")[2] == expected


def test_the_jax_launcher() -> None:
    body = (
        "import jax\nfrom cuda.tile.jax import cutile_call, OutputPlaceholder\n"
        "def f(x):\n    out = OutputPlaceholder(x.shape, x.dtype)\n"
        "    return cutile_call((ct.cdiv(x.shape[0], 64),), k, (x, out, 64))\n"
        "f(jax.numpy.zeros((256,), jax.numpy.float16))\n"
    )
    assert launched(body, COPY) == ["x: f16[D0], y: f16[D0], T=64 | (D0/64)"]


def test_a_loop_is_read_in_its_first_round_and_in_a_later_one() -> None:
    kernel = COPY.replace("T: ct.Constant[int]", "T: ct.Constant[int], first: ct.Constant[bool]")
    body = (
        "def f(x, steps):\n    first = True\n    while steps > 0:\n"
        "        ct.launch(0, (ct.cdiv(x.shape[0], 64),), k, (x, torch.empty_like(x), 64, first))\n"
        "        first = False\n        steps -= 1\nf(torch.zeros(64), 3)\n"
    )
    assert [s.partition("first=")[2] for s in launched(body, kernel)] == ["True | (D0/64)"]


def test_an_array_that_is_loaded_and_subscripted_is_no_list() -> None:
    found = infer(HEAD + COPY.replace("    i = ct.bid(0)\n", "    i = ct.bid(0)\n    z = x[i]\n"))
    assert len(found.signatures) == 1

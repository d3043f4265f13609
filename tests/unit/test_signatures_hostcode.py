"""Launches are followed through host code of every form that libraries use; what is not known stays unknown."""

from __future__ import annotations

import pytest
from ferrotile.signatures.model import ScalarArgument
from signature_support import COPY, HEAD, ROWS, all_shown, infer, launched

F16_ROWS = "x: f16[M, N], y: f16[M, N], n: i32, T=64 | (M)"
LAUNCH = "ct.launch(0, (x.shape[0],), k, (x, torch.empty_like(x), x.shape[1], 64))"


@pytest.mark.parametrize(
    "body",
    [
        # a wrapper that gets kernel, grid and arguments
        "def go(kernel, grid, args):\n    ct.launch(0, grid, kernel, args)\n"
        "def f(x):\n    M, N = x.shape\n    go(k, (M,), (x, torch.empty_like(x), N, 64))\n",
        # partial
        "def go(T, x):\n    M, N = x.shape\n    ct.launch(0, (M,), k, (x, torch.empty_like(x), N, T))\n"
        "f = functools.partial(go, 64)\n",
        # a method with state, a property and a class constant
        "class Op:\n    T = 64\n    def __init__(self, scale):\n        self.scale = scale\n"
        "    @property\n    def tile(self):\n        return self.T\n    def run(self, x):\n        M, N = x.shape\n"
        "        ct.launch(0, (M,), k, (x, torch.empty_like(x), N, self.tile))\ndef f(x):\n    Op(1.0).run(x)\n",
        # a namespace, a dict, a dict of dicts
        "CFG = {'fast': {'T': 64}}\ndef f(x):\n    M, N = x.shape\n    c = types.SimpleNamespace(**CFG['fast'])\n"
        "    ct.launch(0, (M,), k, (x, torch.empty_like(x), N, c.T))\n",
        # tuple unpacking with a star, views
        "def f(x):\n    *lead, N = x.shape\n    x = x.reshape(-1, N).contiguous()\n    M = x.shape[0]\n"
        "    ct.launch(0, (M,), k, (x, torch.empty_like(x), N, 64))\n",
        # an alias of the kernel, hints
        "def f(x):\n    M, N = x.shape\n    other = k\n    other = other.replace_hints(occupancy=2)\n"
        "    ct.launch(0, (M,), other, (x, torch.empty_like(x), N, 64))\n",
        # a launcher of unknown code that is named like one
        "from elsewhere import ct_launch\ndef f(x):\n    M, N = x.shape\n"
        "    ct_launch(k, (M,), (x, torch.empty_like(x), N, 64))\n",
    ],
)
def test_forms_of_host_code(body: str) -> None:
    assert launched(body + "f(torch.zeros(32, 64, dtype=torch.float16))\n") == [F16_ROWS]


def test_autograd_function_passes_what_is_saved_to_the_backward() -> None:
    body = """
@ct.kernel
def back(g, x, T: ct.Constant[int]):
    ct.store(g, (0, 0), ct.load(x, (0, 0), (1, T)))
class Op(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, tile):
        out = torch.empty_like(x)
        ctx.save_for_backward(x)
        ctx.tile = tile
        return out.float()
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        M, N = x.shape
        ct.launch(0, (M,), back, (grad, x, ctx.tile))
        return grad, None
Op.apply(torch.zeros(8, 32, dtype=torch.bfloat16), 32)
"""
    assert all_shown(infer(HEAD + body, "back")) == ["g: f32[M, N], x: bf16[M, N], T=32 | (M)"]


def test_both_branches_of_what_nothing_tells() -> None:
    body = """
def f(x, half):
    M, N = x.shape
    y = torch.empty((M, N), dtype=torch.float16 if half else torch.float32)
    ct.launch(0, (M,), k, (x, y, N, 64))
f(torch.zeros(4, 64), choose())
"""
    assert launched(body) == [
        "x: f32[M, N], y: f16[M, N], n: i32, T=64 | (M)",
        "x: f32[M, N], y: f32[M, N], n: i32, T=64 | (M)",
    ]


def test_a_repeated_question_has_one_answer_a_path() -> None:
    body = """
def f(x, half):
    M, N = x.shape
    dtype = torch.float16 if half else torch.float32
    y = torch.empty((M, N), dtype=dtype)
    if half:
        x = x.half()
    ct.launch(0, (M,), k, (x, y, N, 64))
f(torch.zeros(4, 64), choose())
"""
    assert launched(body) == [
        "x: f16[M, N], y: f16[M, N], n: i32, T=64 | (M)",
        "x: f32[M, N], y: f32[M, N], n: i32, T=64 | (M)",
    ]


@pytest.mark.parametrize(
    "guard",
    [
        "assert x.dim() == 2 and x.dtype == torch.float16",
        "assert x.ndim == 2, 'rank'\n    assert x.dtype in (torch.float16,)",
        "if x.ndim != 2 or x.dtype != torch.float16:\n        raise ValueError(x)",
        "assert len(x.shape) == 2\n    if not x.dtype == torch.float16:\n        raise ValueError(x)",
    ],
)
def test_assertions_and_guards_tell_rank_and_type(guard: str) -> None:
    kernel = ROWS.replace("index=(i, 0)", "index=where(i)")  # so that only the host code tells the rank
    body = f"def f(x):\n    {guard}\n    n = x.shape[1]\n    ct.launch(0, (8,), k, (x, x, n, 64))\n"
    assert launched(body, kernel) == ["x: f16[D0, n], y: f16[D0, n], n: i32, T=64 | (8)"]


def test_equal_extents_by_assertion() -> None:
    body = """
def f(a: torch.Tensor, b: torch.Tensor):
    M, K = a.shape
    K2, N = b.shape
    assert K == K2
    ct.launch(0, (M,), k, (a, b, K2, 64))
"""
    assert launched(body) == ["x: f32*[M, K], y: f32*[K, N], n: i32, T=64 | (M)"]


def test_a_tuner_launches_its_first_configuration() -> None:
    body = """
from cuda.tile.tune import exhaustive_search
def configs():
    for t in (64, 128, 256):
        yield types.SimpleNamespace(T=t)
def f(x):
    M, N = x.shape
    y = torch.empty_like(x)
    found = exhaustive_search(list(configs()), 0, lambda c: (M,), k, lambda c: (x, y, N, c.T))
    best = found.best.config
    ct.launch(0, (M,), k, (x, y, N, best.T))
f(torch.zeros(32, 64, dtype=torch.float16))
"""
    result = infer(HEAD + ROWS + body)
    assert all_shown(result) == [F16_ROWS]
    (told,) = [d for d in result.diagnostics if d.code == "FT107"]
    assert "2 other configurations" in told.message


def test_sizes_derived_from_extents_are_assumed_consistently() -> None:
    body = """
def next_power_of_2(n):
    return 1 << (n - 1).bit_length()
def f(x: torch.Tensor):
    M, N = x.shape
    ct.launch(0, (M,), k, (x, torch.empty_like(x), N, min(next_power_of_2(N), 1024)))
"""
    assert launched(body) == ["x: f32*[M, N], y: f32*[M, N], n: i32, T=256* | (M)"]


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        ("x.to(dtype)", "f32*[M, N]"),  # perhaps a type, perhaps a device
        ("x.to(device)", "f16[M, N]"),
        ("x.to(x.device)", "f16[M, N]"),
        ("x.to(torch.device('cuda'))", "f16[M, N]"),
        ("x * other()", "f32*[D0, D1]"),  # perhaps broadcast
        ("x.long() * 2.5", "f32*[M, N]"),
        ("x.long() / 2", "f32*[M, N]"),
        ("x.long() * 2", "i64[M, N]"),
        ("x.int().cumsum(0)", "f32*[M, N]"),
        ("x.float().softmax(-1)", "f32[M, N]"),
        ("x + x[:1]", "f16[M, N]"),
        ("x[None].squeeze(0)", "f16[M, N]"),
        ("x.unsqueeze(0).flatten()", "f16[D0]"),
        ("x.T", "f16[N, M]"),
        ("x.sum(dim=-1, keepdim=True)", "f16[M, D0]"),
        ("x[:, 2:]", "f16[M, D0]"),
        ("x[3]", "f16[N]"),
        ("mystery(x)", "f32*[D0, D1]"),
        ("torch.empty(M, N, dtype=dtype)", "f32*[M, N]"),
    ],
)
def test_what_tensors_become(tensor: str, expected: str) -> None:
    body = f"def f(x, dtype, device):\n    M, N = x.shape\n    z = {tensor}\n    ct.launch(0, (1,), k, (z, x, N, 64))\n"
    body += "f(torch.zeros(32, 64, dtype=torch.float16), pick(), which())\n"
    kernel = ROWS.replace("ct.load(x, index=(i, 0), shape=(1, T))", "ct.load(x, index=at(i), shape=at(T))")
    (only,) = launched(body, kernel)
    want = expected.replace("f32*", "f16*") if "f16" not in expected else expected  # the other array's type is likelier
    rank = "?" if expected.count(",") == 1 and "D0, D1" in expected else ""
    assert only.startswith((f"x: {want}{rank}, ", f"x: {want.replace('[D0, D1]', '[D0]')}?, ")), only


def test_a_changed_default_type_is_not_the_usual_one() -> None:
    body = "torch.set_default_dtype(torch.float64)\n" + f"def f(x):\n    {LAUNCH}\nf(torch.zeros(4, 64))\n"
    assert launched(body)[0].startswith("x: f32*[")


def test_a_loop_leaves_nothing_known_that_it_changes() -> None:
    body = """
def f(x):
    T = 16
    while T < x.shape[1]:
        T *= 2
    ct.launch(0, (1,), k, (x, x, 1, T))
f(torch.zeros(4, 64, dtype=torch.float16))
"""
    assert "T=64*" in launched(body)[0]


def test_the_number_of_signatures_is_bounded_and_told() -> None:
    types = ("float16", "float32", "bfloat16", "float64", "int32", "int8")
    body = f"for t in ({', '.join('torch.' + t for t in types)}):\n    x = torch.zeros(4, 64, dtype=t)\n    {LAUNCH}\n"
    result = infer(HEAD + ROWS + body)
    assert [s.split(":")[1].split("[")[0].strip() for s in all_shown(result)] == ["f16", "f32", "bf16", "f64"]
    assert "2 more launch signatures" in next(d.message for d in result.diagnostics if d.code == "FT107")


def test_launches_that_differ_in_sizes_only_are_one_structure() -> None:
    body = "".join(f"ct.launch(0, (1,), k, (torch.zeros(8), torch.zeros(8), {t}))\n" for t in (8, 16))
    assert len(infer(HEAD + COPY + body).signatures) == 1
    branching = COPY.replace("i = ct.bid(0)", "i = ct.bid(0) if T == 8 else 0")
    assert len(infer(HEAD + branching + body).signatures) == 2


def test_endless_host_code_ends() -> None:
    body = "def a(x, n):\n    return b(x, n + 1) if n < many() else x\ndef b(x, n):\n    return a(x, n)\n"
    body += f"def f(x):\n    x = a(x, 0)\n    {LAUNCH}\n" + "".join(f"if q{i}():\n    z = {i}\n" for i in range(40))
    assert infer(HEAD + ROWS + body).signatures


@pytest.mark.parametrize(("passed", "extent"), [("x.shape[1]", "N"), ("M", "M"), ("x.shape[1] - 1", None), ("7", None)])
def test_scalars_that_are_extents(passed: str, extent: str | None) -> None:
    body = f"def f(x):\n    M, N = x.shape\n    ct.launch(0, (M,), k, (x, torch.empty_like(x), {passed}, 64))\n"
    (found,) = infer(HEAD + ROWS + body + "f(torch.zeros(32, 64, dtype=torch.float16))\n").signatures
    assert [a.extent for a in found.arguments if isinstance(a, ScalarArgument)] == [extent]


def test_launches_behind_a_switch_that_is_off_by_default() -> None:
    """What the default does not reach is read with the switch on, so that its launch knows the arrays."""
    body = (
        "def go(x, N):\n    ct.launch(0, (x.shape[0],), k, (x, torch.empty_like(x), N, 64))\n"
        "def f(x: torch.Tensor, fast=None):\n    if fast is None:\n        fast = False\n"
        "    M, N = x.shape\n    if fast:\n        go(x, N)\n    return x\n"
    )
    (found,) = infer(HEAD + ROWS + body).signatures
    assert [a.extent for a in found.arguments if isinstance(a, ScalarArgument)] == ["N"]

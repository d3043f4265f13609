"""Signatures from directives, annotations, launch sites and usage."""

from __future__ import annotations

import pytest
from ferrotile.signatures.infer import SignatureResult, infer_signatures
from ferrotile.signatures.launch import collect_launches
from ferrotile.signatures.model import (
    ArrayArgument,
    ConstantArgument,
    GridFactor,
    ScalarArgument,
    Signature,
    Source,
)
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import Module, parse_module

HEAD = "import math\nimport cuda.tile as ct\nimport torch\n"
COPY = """
@ct.kernel
def k(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(T,)))
"""


def infer(text: str, name: str = "k") -> tuple[SignatureResult, Module]:
    module = parse_module(Document(text))
    assert not module.diagnostics
    kernel = module.function(name)
    assert kernel is not None
    return infer_signatures(module, kernel), module


def only(result: SignatureResult) -> Signature:
    (signature,) = result.signatures
    return signature


def shown(signature: Signature) -> list[str]:
    parts = []
    for argument in signature.arguments:
        match argument:
            case ArrayArgument(name=name, dtype=dtype, extents=extents):
                parts.append(f"{name}: {dtype}[{', '.join(map(str, extents))}]")
            case ScalarArgument(name=name, dtype=dtype):
                parts.append(f"{name}: {dtype}")
            case ConstantArgument(name=name, value=value):
                parts.append(f"{name}={value}")
    return parts


def host(body: str, kernel: str = COPY) -> str:
    return HEAD + kernel + body


def test_directive_gives_everything() -> None:
    kernel = "# ferrotile: x: f16[M], y: f32[M],\n# ferrotile: T=128, grid=(M/T)" + COPY
    result, _ = infer(HEAD + kernel)
    signature = only(result)
    assert shown(signature) == ["x: f16[M]", "y: f32[M]", "T=128"]
    assert signature.grid == ((GridFactor("M", 128),),)
    assert {a.source for a in signature.arguments} == {Source.DIRECTIVE} and not result.diagnostics


def test_directive_constants_stand_for_extents() -> None:
    kernel = "# ferrotile: x: f32[M, T], y: f32[M, T], T=64, grid=(M, 1)\n@ct.kernel\n"
    kernel += "def k(x, y, T: ct.Constant[int]):\n    ct.store(y, (0, 0), ct.load(x, (0, 0), (1, T)))\n"
    assert shown(only(infer(HEAD + kernel)[0])) == ["x: f32[M, 64]", "y: f32[M, 64]", "T=64"]


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        ("(ct.cdiv(M, T),)", ((GridFactor("M", 128),),)),
        ("(math.ceil(M / T), 1, 1)", ((GridFactor("M", 128),),)),
        ("((M + T - 1) // T,)", ((GridFactor("M", 128),),)),
        ("(-(-M // T),)", ((GridFactor("M", 128),),)),
        ("(M,)", ((GridFactor("M"),),)),
        ("(up(M, T),)", ((GridFactor("M", 128),),)),
        ("(ct.cdiv(M, T) * 4, 2)", ((GridFactor("M", 128), GridFactor(4)), (GridFactor(2),))),
        ("(min(M, NUM_SMS),)", None),
        ("(M + 1,)", None),
        ("(1,)", ()),
    ],
)
def test_grid_of_a_launch(grid: str, expected: object) -> None:
    result, _ = infer(
        host(f"""
def up(a, b):
    return (a + b - 1) // b
def run(x):
    M = x.shape[0]
    T = 128
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), {grid}, k, (x, y, T))
    return y
run(torch.randn(1000, device="cuda", dtype=torch.float16))
""")
    )
    signature = only(result)
    assert shown(signature) == ["x: f16[M]", "y: f16[M]", "T=128"]
    assert signature.grid == expected
    assert result.example_extents == {"M": 1000}
    assert [d.code for d in result.diagnostics] == ([] if expected is not None else ["FT106"])


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        ("torch.zeros(N, dtype=torch.bfloat16)", "bf16[N]"),
        ("torch.empty((N,), device='cuda')", "f32[N]"),
        ("torch.randn(N).half().cuda().contiguous()", "f16[N]"),
        ("torch.randn(N).to(torch.float64)", "f64[N]"),
        ("torch.randn(N).to('cuda')", "f32[N]"),
        ("torch.arange(N)", "i64[N]"),
        ("torch.arange(N, dtype=torch.int32)", "i32[N]"),
        ("torch.full((N,), 1.0)", "f32[N]"),
        ("torch.randint(0, 10, (N,), dtype=torch.int8)", "i8[N]"),
        ("torch.randn(N) * 2.0 + 1", "f32[N]"),
        ("torch.randn(N) > 0", "bool[N]"),
        ("cp.random.rand(N).astype(cp.float32)", "f32[N]"),
        ("cp.zeros(N)", "f64[N]"),
        ("np.ones((N,), np.float16) if False else cp.ones((N,), dtype='float16')", "f16[N]"),
        ("torch.tensor([1.0, 2.0])", "f32[D0]"),
        ("torch.randn(4, N)[0]", "f32[N]"),
        ("torch.randn(N // 2, 2).view(N)", "f32[N]"),
    ],
)
def test_tensor_constructors(tensor: str, expected: str) -> None:
    text = host(f"N = 512\na = {tensor}\nct.launch(0, (1,), k, (a, torch.empty_like(a), 64))\n")
    result, _ = infer("import cupy as cp\nimport numpy as np\n" + text)
    assert shown(only(result))[0] == f"x: {expected}"


def test_two_launch_signatures() -> None:
    body = "".join(
        f"a{d} = torch.zeros(64, dtype=torch.{d})\nct.launch(0, (1,), k, (a{d}, a{d}, 64))\n"
        for d in ("float16", "float32")
    )
    result, _ = infer(host(body + body))
    assert [s.arguments[0].dtype.name for s in result.signatures if isinstance(s.arguments[0], ArrayArgument)] == [
        "f16",
        "f32",
    ]


def test_equal_numbers_under_two_names_stay_two_symbols() -> None:
    kernel = COPY.replace("(i,)", "(i, 0)").replace("(T,)", "(1, T)")
    body = "M, N = 256, 256\nx = torch.zeros(M, N)\nct.launch(0, (M,), k, (x, torch.zeros(M, N), 64))\n"
    assert shown(only(infer(host(body, kernel))[0]))[:2] == ["x: f32[M, N]", "y: f32[M, N]"]


def test_an_extent_named_like_another_one_gets_its_own_symbol() -> None:
    body = "def a():\n    N = 64\n    return torch.zeros(N)\ndef b():\n    N = 32\n    return torch.zeros(N)\n"
    signature = only(infer(host(body + "ct.launch(0, (1,), k, (a(), b(), 32))\n"))[0])
    assert shown(signature)[:2] == ["x: f32[N]", "y: f32[N2]"]


def test_scalars_and_constants_of_a_launch() -> None:
    kernel = """
ConstInt = ct.Constant[int]
@ct.kernel
def k(x, n, eps, flag, T: ConstInt, F: ct.Constant[bool], s: float):
    ct.store(x, (0,), ct.load(x, (0,), (T,)) * eps)
"""
    body = "def f(x, eps=1e-5):\n    ct.launch(0, (1,), k, (x, x.shape[0], eps, True, 64, False, 2))\n"
    body += "f(torch.zeros(8))\n"
    signature = only(infer(host(body, kernel))[0])
    assert shown(signature)[1:] == ["n: i32", "eps: f32", "flag: bool", "T=64", "F=False", "s: f32"]


def test_an_uncalled_host_function_gives_symbols_and_assumes_the_dtype() -> None:
    kernel = COPY.replace("(i,)", "(i, 0)").replace("(T,)", "(1, T)")
    body = "def f(x):\n    M, N = x.shape\n    ct.launch(0, (M,), k, (x, torch.empty_like(x), 64))\n"
    result, _ = infer(host(body, kernel))
    signature = only(result)
    assert shown(signature) == ["x: f32[M, N]", "y: f32[M, N]", "T=64"]
    assert signature.grid == ((GridFactor("M"),),)
    assert signature.arguments[0].source is Source.ASSUMED
    assert [d.code for d in result.diagnostics] == ["FT101", "FT101"]


def test_usage_gives_rank_and_tile_sizes_are_assumed_distinct() -> None:
    kernel = """
@ct.kernel
def k(a, b, TM: ct.Constant[int], TN: ct.Constant[int]):
    M, N = a.shape
    ct.store(b, (0, 0), ct.load(a, index=(0, 0), shape=(TM, TN)))
"""
    result, _ = infer(HEAD + kernel)
    signature = only(result)
    assert shown(signature) == ["a: f32[M, N]", "b: f32[D0, D1]", "TM=64", "TN=32"]
    assert signature.arguments[2].source is Source.ASSUMED


def test_rank_through_a_helper() -> None:
    text = "def h(p, T):\n    return ct.load(p, (0, 0), (T, T))\n"
    text += "@ct.kernel\ndef k(a, T: ct.Constant[int]):\n    h(a, T)\n"
    assert shown(only(infer(HEAD + text)[0])) == ["a: f32[D0, D1]", "T=64"]


def test_the_fix_of_what_is_missing_mends_it() -> None:
    text = HEAD + COPY.replace("T: ct.Constant[int]", "s, F: ct.Constant[bool], T: ct.Constant[int]")
    result, module = infer(text)
    assert {a.source for a in only(result).arguments} == {Source.ASSUMED}
    assert {d.code for d in result.diagnostics} == {"FT101", "FT103", "FT106"}
    fix = result.diagnostics[0].fix
    assert fix is not None
    edited = module.document.edit(fix.span.start, fix.span.end, fix.text)
    mended, _ = infer(edited.text)
    assert shown(only(mended)) == shown(only(result))
    assert {a.source for a in only(mended).arguments} == {Source.DIRECTIVE}
    assert not [d for d in mended.diagnostics if d.code != "FT106"]


def test_unknown_rank() -> None:
    result, _ = infer(HEAD + "@ct.kernel\ndef k(a):\n    print(a.dtype)\n")
    (argument,) = only(result).arguments
    assert isinstance(argument, ArrayArgument) and argument.rank_source is Source.ASSUMED
    assert [d.code for d in result.diagnostics] == ["FT102", "FT101", "FT106"]


def test_a_directive_that_contradicts() -> None:
    for line in ("x: f32[M, N]", "T: i32"):
        result, _ = infer(HEAD + f"# ferrotile: {line}" + COPY)
        assert "FT105" in [d.code for d in result.diagnostics], line


def test_launch_through_benchmark_lambda_and_main() -> None:
    body = """
class Op(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ct.launch(0, (1,), k, (x, x, 32))
def main():
    a = torch.zeros(64)
    bench(lambda: ct.launch(0, grid=(1,), kernel=k, args=(a, a, 64)))
if __name__ == "__main__":
    main()
"""
    module = parse_module(Document(host(body)))
    assert len(collect_launches(module).sites) == 2


def test_recursive_and_endless_host_code_ends() -> None:
    body = "def f(x):\n    f(x)\n    f(x)\n    ct.launch(0, (1,), k, (x, x, 64))\nf(torch.zeros(64))\n"
    body += "x = 1\nwhile True:\n    x = x << 60\n"
    result, _ = infer(host(body))
    assert result.signatures

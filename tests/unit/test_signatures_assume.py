"""What is assumed where nothing tells: by use, visibly, and so that the kernel is a valid one."""

from __future__ import annotations

import pytest
from ferrotile.signatures.assume import fitting
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from signature_support import HEAD, all_shown, infer, shown


def kernel(parameters: str, *lines: str) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"{HEAD}MODE = 'wide'\n@ct.kernel\ndef k({parameters}):\n    b = ct.bid(0)\n{body}\n"


def assumed(parameters: str, *lines: str) -> str:
    (only,) = all_shown(infer(kernel(parameters, *lines)))
    return only.removesuffix(" | ?")


@pytest.mark.parametrize(
    ("annotation", "lines", "expected"),
    [
        ("int", ["t = ct.zeros((C, 4), ct.float32)"], "C=64*"),
        ("int", ["h = C // 2", "t = ct.zeros((h,), ct.float32)"], "C=64*"),
        ("bool", ["if C:", "    pass"], "C=False*"),
        ("int", ["if C:", "    pass"], "C=0*"),
        ("int", ["if C == 3:", "    pass", "elif C == 5:", "    pass"], "C=3*"),
        ("str", ["if C == MODE:", "    pass"], "C=wide*"),
        ("str", ["t = 1 if C in ('a', 'b') else 2"], "C=a*"),
        ("float", ["t = ct.load(x, (b,), (8,)) * C"], "C=0.5*"),
        ("int", ["for i in range(C):", "    pass"], "C=256*"),
        ("int", ["for i in ct.static_iter(range(C)):", "    pass"], "C=4*"),
        ("int", ["head = b // C"], "C=8*"),
        ("int", ["t = ct.arange(8, dtype=ct.int32) < C"], "C=256*"),
        ("int", ["t = ct.load(x, (b,), (8,), latency=C)"], "C=2*"),
        ("", ["t = ct.zeros((8,), dtype=C)"], "C=f32*"),
        ("", ["t = ct.load(x, (b,), (8,)).astype(C)"], "C=f32*"),
        ("", ["if C is None:", "    pass"], "C=None*"),
        ("", ["p, q = C"], "C=(64, 32)*"),
    ],
)
def test_constants_by_use(annotation: str, lines: list[str], expected: str) -> None:
    marked = f"ct.Constant[{annotation}]" if annotation else "ct.Constant"
    assert assumed(f"x, C: {marked}", "ct.load(x, (b,), (8,))", *lines) == f"x: f32*[D0], {expected}"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["ct.load(x, (b + s,), (8,))"], "i32*"),
        (["for i in range(s):", "    pass"], "i32*"),
        (["n = ct.cdiv(s, 8)"], "i32*"),
        (["t = ct.arange(8, dtype=ct.int32) + s"], "i32*"),
        (["t = ct.load(x, (b,), (8,)) * s"], "f32*"),
        (["t = 2.0 * s"], "f32*"),
        (["if s:", "    pass"], "bool*"),
        (["if s > 3:", "    pass"], "i32*"),
        (["helper(s)"], "i32*"),
    ],
)
def test_scalars_by_use(lines: list[str], expected: str) -> None:
    text = kernel("x, s", "ct.load(x, (b,), (8,))", *lines)
    text = text.replace("@ct.kernel", "def helper(n):\n    return range(n // ct.num_blocks(0))\n@ct.kernel")
    assert all_shown(infer(text))[0].startswith(f"x: f32*[D0], s: {expected}")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["i = ct.load(a, (b,), (1,)).item()", "ct.load(x, (i,), (8,))"], "i32*[D0]"),
        (["i = ct.gather(a, (b, ct.arange(8, dtype=ct.int32)))", "ct.gather(x, i + 1)"], "i32*[D0, D1]"),
        (["n = ct.load(a, (b,), ())", "for i in range(ct.cdiv(n, 8)):", "    pass"], "i32*[D0]"),
        (["t = ct.load(a, (b,), (8,)) & 3"], "i32*[D0]"),
        (["t = ct.where(ct.load(a, (b,), (8,)), 1.0, 0.0)"], "bool*[D0]"),
        (["ct.store(a, (b, 0), ct.load(x, (b,), (8,)).astype(ct.bfloat16))"], "bf16*[D0, D1]"),
        (["ct.gather(a, (b, 0), padding_value=ct.float8_e5m2(0.0))"], "f8e5m2*[D0, D1]"),
        (["part = a.slice(0, b, b + 8)", "ct.load(part, (0, 0, 0), (8, 1, 1))"], "f32*[D0, D1, D2]"),
        (["view = a.tiled_view((8, 8))", "view.load((b, 0))"], "f32*[D0, D1]"),
        (["M, N, K = a.shape"], "f32*[M, N, K]"),
        (["i = (b, 0, 0, 0)", "ct.load(a, i, (1, 1, 1, 8))"], "f32*[D0, D1, D2, D3]"),
        (["helper(a, (b, b))"], "f32*[D0, D1]"),
        (["n = a.shape[2]"], "f32*[D0, D1, n]?"),
    ],
)
def test_arrays_by_use(lines: list[str], expected: str) -> None:
    text = kernel("a, x", *lines, "ct.load(x, (b,), (8,))")
    text = text.replace("@ct.kernel", "def helper(p, at):\n    return inner(p, at)\ndef inner(p, at):\n"
                        "    return ct.gather(p, at)\n@ct.kernel")  # fmt: skip
    assert all_shown(infer(text))[0].startswith(f"a: {expected}, x: ")


def test_unknown_types_follow_the_known_ones() -> None:
    text = kernel("a, x", "ct.store(a, (b,), ct.load(x, (b,), (8,)))")
    text += "def f(y):\n    ct.launch(0, (1,), k, (y, torch.zeros(8, dtype=torch.bfloat16)))\n"
    (only,) = all_shown(infer(text))
    assert only.startswith("a: bf16*[D0], x: bf16[")


def test_every_assumption_is_told_and_the_fix_says_them_all() -> None:
    result = infer(kernel("x, s, C: ct.Constant[int]", "ct.load(x, (b,), (8,)) * s", "for i in range(C): pass"))
    told = [d for d in result.diagnostics if d.fix is not None]
    assert [(d.code, d.severity.name) for d in told] == [
        ("FT101", "WARNING"),
        ("FT101", "WARNING"),
        ("FT103", "WARNING"),
    ]
    assert all("assumed" in d.message for d in told)
    assert told[0].fix is not None and told[0].fix.text == "# ferrotile: x: f32[D0], s: f32, C=256\n"


@pytest.mark.parametrize(
    ("lines", "first", "valid", "told"),
    [
        # two assumed tiles that must be one size
        (["t = ct.load(x, (b,), (A,)) + ct.load(x, (b,), (B,))", "ct.store(x, (b,), t)"],
         "x: f32*[D0], A=64*, B=32*", "A=64*, B=64*", "64 is assumed"),
        # a type that the other operand has
        (["t = ct.full((A, A), 1.0, ct.bfloat16)", "u = ct.load(x, (b, 0), (A, B))",
          "ct.store(x, (b, 0), ct.mma(t, u, ct.zeros((A, B), ct.float32)).astype(x.dtype))"],
         "x: f16*[D0, D1], A=64*, B=32*", "x: bf16*[D0, D1], A=64*, B=32*", "not valid with another one"),
    ],
)  # fmt: skip
def test_other_assumptions_are_tried_where_the_kernel_is_not_valid(
    lines: list[str], first: str, valid: str, told: str
) -> None:
    text = kernel("x, A: ct.Constant[int], B: ct.Constant[int]", *lines)
    assert all_shown(infer(text)) == [f"{first} | ?"]
    (one,) = translate_document(Document(text)).kernels
    assert one.signature is not None and shown(one.signature).endswith(f"{valid} | ?")
    assert one.program is not None
    assert any(told in d.message for d in one.diagnostics)


def test_a_list_of_arrays_is_refused_at_the_parameter() -> None:
    text = kernel("xs, y", "for i in range(len(xs)):", "    ct.store(y, (i,), ct.load(xs[i], (b,), (8,)))")
    result = infer(text)
    assert not result.signatures
    (found,) = [d for d in result.diagnostics if d.severity.name == "ERROR"]
    assert found.code == "FT301" and Document(text).slice(found.span) == "xs"


@pytest.mark.parametrize(
    ("sizes", "known", "expected"),
    [
        ((256,), (), (256,)),  # a row of any length
        ((256, 256), (), (128, 128)),
        ((256, 64), (), (256, 64)),
        ((512, 64), (), (256, 64)),
        ((256,), (128,), (128,)),
        ((64, 32, 16), (), (64, 32, 16)),
        ((32,), (4096,), (16,)),  # never below 16
    ],
)
def test_assumed_sizes_make_no_huge_tile(
    sizes: tuple[int, ...], known: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    named = {str(k): size for k, size in enumerate(sizes)}
    assert tuple(fitting(named, known).values()) == expected


@pytest.mark.parametrize(
    ("operand", "element"),
    [
        ("t", "f16"),
        ("ct.transpose(t)", "f16"),
        ("t.astype(ct.float32)", "f32"),
        ("ct.zeros((8, 8), ct.float32)", "f32"),
    ],
)
def test_what_is_multiplied_as_it_is_loaded_is_half_precision(operand: str, element: str) -> None:
    lines = [
        "t = ct.load(x, (b, 0), (8, 8))",
        "z = ct.zeros((8, 8), ct.float32)",
        f"u = ct.mma({operand}, {operand}, z)",
    ]
    assert assumed("x", *lines) == f"x: {element}*[D0, D1]"

"""What a slice holds and what it leaves out."""

from __future__ import annotations

import math

from ferrotile.frontends.cutile.discover import find_kernels
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module
from ferrotile_runner.slice import Slice, slice_source

TEXT = '''"""A file."""
from __future__ import annotations
import os, math
import torch
import cuda.tile as ct
from cuda.tile import load as ld, store

SCALE = 2.0
FACTOR = SCALE * math.pi
OTHER = os.environ["HOME"]
launched = torch.zeros(3).cuda()


def helper(t):
    return t * FACTOR


def unused(t):
    return t


@ct.kernel(occupancy=2)
def k(x: torch.Tensor, y: "torch.Tensor", N: ct.Constant[int]) -> None:
    SHADOW = ld(x, index=(0,), shape=(N,))  # a comment
    ct.store(y, index=(0,), tile=helper(SHADOW))


print("the file runs")
'''


def made(text: str, name: str = "k") -> Slice:
    module = parse_module(Document(text))
    function = module.function(name)
    assert function is not None
    return slice_source(module, function)


def test_kernel_helpers_constants_and_imports_only() -> None:
    text = made(TEXT).text
    for kept in ("import math", "import cuda.tile as ct", "from cuda.tile import load as ld", "SCALE = 2.0",
                 "FACTOR = SCALE * math.pi", "def helper", "@ct.kernel(occupancy=2)", "# a comment"):  # fmt: skip
        assert kept in text
    for gone in ("torch.zeros", "import os", "import torch", "OTHER", "unused", "print", "store\n", "torch.Tensor)"):
        assert gone not in text
    assert made(TEXT).missing == ()


def test_lines_lead_back_to_the_file() -> None:
    result = made(TEXT)
    lines, file = result.text.split("\n"), TEXT.split("\n")
    assert len(result.lines) == result.text.count("\n")
    for at, line in enumerate(lines[:-1]):
        source = result.lines[at]
        if source is not None and not line.startswith(("import", "from")):
            assert line.rstrip()[-12:] in file[source] or "torch" in file[source]
    kernel = next(i for i, line in enumerate(lines) if "ld(x" in line)
    assert result.file_line(kernel) == next(i for i, line in enumerate(file) if "ld(x" in line)
    assert result.file_line(10**6) == result.lines[-1]


def test_foreign_annotations_are_blanked_in_place() -> None:
    line = next(row for row in made(TEXT).text.split("\n") if row.startswith("def k"))
    original = next(row for row in TEXT.split("\n") if row.startswith("def k"))
    assert line.index("N:") == original.index("N:")
    assert "ct.Constant[int]" in line and "torch" not in line.split('"')[0]


def test_the_slice_runs_alone() -> None:
    text = TEXT.replace("@ct.kernel(occupancy=2)\n", "").replace("N: ct.Constant[int]", "N")
    text = text.replace("ld(x, index=(0,), shape=(N,))", "x").replace(
        "ct.store(y, index=(0,), tile=helper(SHADOW))", "return helper(SHADOW)"
    )
    scope: dict[str, object] = {}
    exec(made(text).text, scope)
    kernel = scope["k"]
    assert callable(kernel) and kernel(1.0, None, 4) == 2 * math.pi


def test_names_that_nothing_defines_are_told() -> None:
    assert made("import torch\ndef k(x):\n    return torch.add(x, y)\n").missing == ("torch", "y")


def test_functions_under_if_are_dedented() -> None:
    text = "if True:\n    def k(x):\n        return x\n"
    assert made(text).text == "def k(x):\n    return x\n"


def test_decorators_that_are_given_the_finished_kernel_are_blanked() -> None:
    text = "import cuda.tile as ct\nfrom there import mark\n\n@mark('x',\n      y=3)\n@ct.kernel\ndef k(x):\n    pass\n"
    result = made(text)
    assert "mark" not in result.text
    assert result.missing == ()
    lines = result.text.split("\n")
    assert result.lines[lines.index("@ct.kernel")] == text.split("\n").index("@ct.kernel")


def test_a_decorator_that_is_given_the_function_stays() -> None:
    text = "import cuda.tile as ct\nfrom there import rewrite\n\n@ct.kernel\n@rewrite\ndef k(x):\n    pass\n"
    assert made(text).missing == ("rewrite",)


def test_element_types_of_a_foreign_module_are_stood_in_for() -> None:
    text = "import torch as th\nimport cuda.tile as ct\n\n@ct.kernel\ndef k(x: th.Tensor):\n    x.astype(th.half)\n"
    first = made(text).text.split("\n")[0]
    assert first.endswith("th.__dict__.update(half=_th_types.float16)")
    assert made(text).missing == ()
    assert made(text.replace("th.half", "th.half, th.cuda")).missing == ("th",), "nothing but element types"


def test_a_kernel_made_by_a_call_comes_with_its_function() -> None:
    text = "import cuda.tile as ct\n\ndef body(x):\n    pass\n\nk = ct.kernel(body)\n"
    module = parse_module(Document(text))
    (kernel,) = find_kernels(module)
    result = slice_source(module, kernel)
    assert kernel.name == "k"
    assert "def body(x):" in result.text and "k = ct.kernel(body)" in result.text
    assert result.missing == ()


def test_what_a_factory_captures_is_defined() -> None:
    text = (
        "import cuda.tile as ct\nHALF = 0.5\ndef scaled(t):\n    return t * HALF\n"
        "import enum\nfrom dataclasses import dataclass\nclass Act(enum.Enum):\n    A = 1\n"
        "@dataclass(frozen=True)\nclass Cfg:\n    n: int\n    act: Act = Act.A\n"
        "def make(fn, dtype, cfg=Cfg(4), size=16):\n    @ct.kernel\n    def k(x):\n"
        "        ct.store(x, 0, fn(ct.zeros((size,), dtype), cfg.n))\n    return k\n"
        "def run():\n    return make(scaled, ct.float16)\n"
    )
    module = parse_module(Document(text))
    result = slice_source(module, find_kernels(module)[0])
    assert result.missing == ()
    scope: dict[str, object] = {}
    exec(compile(result.text, "slice", "exec"), scope)
    assert scope["fn"] is scope["scaled"] and scope["size"] == 16 and scope["HALF"] == 0.5
    assert str(scope["dtype"]) == "float16"
    assert repr(scope["cfg"]) == "Cfg(n=4, act=<Act.A: 1>)"


def test_annotations_of_a_class_that_cannot_be_evaluated_are_left_out() -> None:
    text = (
        "import dataclasses\nimport cuda.tile as ct\nfrom there import Thing\n\n"
        "@dataclasses.dataclass(frozen=True)\nclass C:\n    a: Thing = 3\n    x: int = 4\n"
        "    def f(self, x: Thing) -> Thing:\n        return x\n\nx = launch()\nc = C()\n\n"
        "@ct.kernel\ndef k(y):\n    ct.store(y, 0, c.f(c.a))\n"
    )
    result = made(text)
    assert result.missing == () and "launch" not in result.text
    scope: dict[str, object] = {}
    exec(compile(result.text, "slice", "exec"), scope)
    assert repr(scope["c"]) == "C(a=3, x=4)"

"""Names of other files: attributes of modules, star imports, and what must not be taken over."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FunctionType, ModuleType

import pytest
from ferrotile.frontends.cutile.discover import KERNEL, find_kernels
from ferrotile.program.printer import print_program
from ferrotile.signatures.workspace import Workspace, module_names
from ferrotile.syntax.document import Document
from ferrotile.syntax.linking import link
from ferrotile.syntax.module import Module, parse_module
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation
from ferrotile_runner.slice import Slice, slice_source

HEAD = "import cuda.tile as ct\n"
BODY = """
# ferrotile: x: f32[N], T=64, grid=(N/T)
@ct.kernel
def k(x, T: ct.Constant[int]):
    ct.store(x, (ct.bid(0),), {})
"""
LOAD = "ct.load(x, (ct.bid(0),), (T,))"
MATHS = """import cuda.tile as tile
from .more import FACTOR
def scaled(t, by):
    return t * by
def twice(t):
    return scaled(t, FACTOR)
def largest(t):
    return max(t, 1.0)
"""
FILES = {"p/__init__.py": "", "p/maths.py": MATHS, "p/more.py": "BASE = 4.0\nFACTOR = BASE / 2\n"}


def workspace(files: Mapping[str, str]) -> Workspace:
    names, packages = module_names(files)
    return Workspace({n: Document(files[p]) for n, p in names.items()}, packages)


def kernel(imports: str, expression: str, files: Mapping[str, str] = FILES) -> KernelTranslation:
    whole = {**files, "p/ops.py": HEAD + imports + BODY.format(expression)}
    (one,) = translate_document(Document(whole["p/ops.py"]), workspace=workspace(whole), name="p.ops").kernels
    return one


def errors(one: KernelTranslation) -> list[tuple[str, str]]:
    return [(d.code, d.message) for d in one.diagnostics if d.severity.name == "ERROR"]


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from . import maths\n", "maths.twice({})"),
        ("from . import maths as m\n", "m.twice({})"),
        ("import p.maths\n", "p.maths.twice({})"),
        ("import p.maths as m, p.more as n\n", "m.scaled({}, n.FACTOR)"),
        ("from .maths import *\n", "twice({})"),
        ("from .maths import *\n", "scaled({}, FACTOR)"),
    ],
)
def test_every_way_to_name_a_helper_gives_the_same_program(imports: str, call: str) -> None:
    one = kernel(imports, call.format(LOAD))
    (inline,) = translate_document(Document(HEAD + BODY.format(f"{LOAD} * 2.0"))).kernels
    assert errors(one) == []
    assert one.program is not None and inline.program is not None
    assert print_program(one.program) == print_program(inline.program)
    assert one.rust == inline.rust


@pytest.mark.parametrize(
    ("imports", "call", "files", "said"),
    [
        # the helper's `max` is Python's own, this file's is not
        ("from .maths import largest\ndef max(a, b):\n    return a\n", "largest({})", {}, "`max`, which it needs"),
        # this file's `max` is Python's own, and the helper brings another
        ("from .maths import twice\n", "max(twice({}), 1.0)",
         {"p/maths.py": "def max(a, b):\n    return a\ndef twice(t):\n    return max(t, 0.0)\n"},
         "`max`, which it needs"),
        # a name that the helper's file sets twice, and this file once
        ("from .maths import twice\nF = 3.0\n", "twice({}) * F",
         {"p/maths.py": "F = 1.0\nF = 2.0\ndef twice(t):\n    return t * F\n"}, "neither a function nor bound once"),
        # two definitions, and which holds is not known
        ("from .maths import twice\n", "twice({})",
         {"p/maths.py": "import os\nif os.name:\n    def twice(t):\n        return t\nelse:\n    def twice(t):\n"
          "        return t + t\n"}, "binds `twice` more than once"),
        # two imports, and which holds is not known
        ("try:\n    from .fast import twice\nexcept ImportError:\n    from .maths import twice\n", "twice({})",
         {"p/fast.py": "def twice(t):\n    return t\n"}, "more than once"),
        ("from .maths import twice\n", "twice({})", {"p/maths.py": "def other(t):\n    return t\n"},
         "`p/maths.py` does not define `twice`"),
        ("from .absent import twice\n", "twice({})", {}, "no file of this project is the module `p.absent`"),
        ("from . import maths\n", "maths.thrice({})", {}, "`p/maths.py` does not define `thrice`"),
        ("from .absent import *\n", "twice({})", {}, "no file of this project is the module `p.absent`"),
        ("from .maths import twice\n", "twice({})",
         {"p/maths.py": "import cuda.tile as ct\n@ct.kernel\ndef twice(t):\n    return t\n"}, "is a kernel"),
    ],
)  # fmt: skip
def test_what_would_change_its_meaning_is_refused(imports: str, call: str, files: Mapping[str, str], said: str) -> None:
    one = kernel(imports, call.format(LOAD), {**FILES, **files})
    assert one.rust is None
    assert any(code == "FT205" and said in message for code, message in errors(one)), errors(one)


def linked(files: Mapping[str, str]) -> Module:
    given = workspace(files)
    return link(parse_module(Document(files["p/ops.py"])), given, "p.ops", KERNEL).module


def sliced(imports: str, expression: str) -> tuple[Slice, Module]:
    module = linked({**FILES, "p/ops.py": HEAD + imports + BODY.format(expression)})
    (function,) = find_kernels(module)
    return slice_source(module, function), module


@pytest.fixture
def fake_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `cuda.tile` whose tiles are numbers."""
    tile = ModuleType("cuda.tile")
    stored: list[float] = []
    names = {"kernel": lambda f: f, "Constant": {int: int}, "bid": lambda axis: axis, "stored": stored}
    tile.__dict__.update(names, load=lambda x, i, s: 5.0, store=lambda x, i, t: stored.append(t))
    cuda = ModuleType("cuda")
    cuda.__dict__["tile"] = tile
    monkeypatch.setitem(sys.modules, "cuda", cuda)
    monkeypatch.setitem(sys.modules, "cuda.tile", tile)


@pytest.mark.usefixtures("fake_tile")
@pytest.mark.parametrize(
    ("imports", "call", "expected"),
    [
        ("from .maths import twice as double\n", "double({})", 10.0),
        ("from . import maths, more\n", "maths.twice({}) + more.BASE", 14.0),
        ("import p.maths, p.more\n", "p.maths.scaled({}, p.more.FACTOR)", 10.0),
        ("from .maths import *\n", "largest(twice({}))", 10.0),
        ("from .maths import twice\nFACTOR = 2.0\n", "twice({})", None),
    ],
)
def test_a_slice_with_helpers_of_other_files_runs_alone(imports: str, call: str, expected: float | None) -> None:
    made, module = sliced(imports, call.format(LOAD))
    if expected is None:  # `FACTOR` reads differently there: the helper is not taken, and the slice says so
        assert made.missing == ("twice",)
        return
    assert made.missing == ()
    scope: dict[str, object] = {}
    exec(compile(made.text, "slice", "exec"), scope)
    run = scope["k"]
    assert isinstance(run, FunctionType)
    run(None, 64)
    assert sys.modules["cuda.tile"].__dict__["stored"] == [expected]
    assert len(made.lines) == made.text.count("\n")
    brought = made.text[: made.text.index("def ")].count("\n")
    assert made.file_line(brought) == module.document.text[: module.document.text.index(imports[:9])].count("\n")


def alone(imports: str, expression: str) -> KernelTranslation:
    (one,) = translate_document(Document(HEAD + imports + BODY.format(expression))).kernels
    return one


def test_a_function_that_is_bound_again_is_not_inlined() -> None:
    one = alone("def f(t):\n    return t\ndef g(h):\n    return h\nf = g(f)\n", f"f({LOAD})")
    assert [code for code, _ in errors(one)] == ["FT205"]


def test_a_star_import_of_cuda_tile_hides_builtins() -> None:
    starred = alone("from cuda.tile import *\n", f"max({LOAD}, 0, keepdims=True)")
    plain = alone("", f"ct.max({LOAD}, 0, keepdims=True)")
    assert starred.program is not None and plain.program is not None
    assert print_program(starred.program) == print_program(plain.program)


def test_a_star_import_of_an_unknown_module_may_hide_builtins() -> None:
    assert [code for code, _ in errors(alone("from elsewhere import *\n", f"max({LOAD}, 1.0)"))] == ["FT205"]
    assert errors(alone("from elsewhere import *\n", f"{LOAD} * len((1, 2))")) == []


def test_a_name_that_is_imported_as_two_things_is_refused() -> None:
    branches = "if __debug__:\n    from cuda.tile import exp as e\nelse:\n    from cuda.tile import exp2 as e\n"
    assert [code for code, _ in errors(alone(branches, f"e({LOAD})"))] == ["FT205"]
    assert errors(alone("from cuda.tile import exp as e\nfrom cuda.tile import exp as e\n", f"e({LOAD})")) == []


CLASSES = """from dataclasses import dataclass
from enum import Enum
import torch
from .more import FACTOR
class Act(Enum):
    NONE = 0
    TWICE = 1
@dataclass(frozen=True)
class Config:
    act: Act = Act.TWICE
    dtype: torch.dtype = torch.float32
    factor: float = FACTOR
    def apply(self, t):
        return t * self.factor if self.act == Act.TWICE else t
DEFAULT = Config()
class Lib:
    @staticmethod
    def twice(t):
        return t * FACTOR
"""


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from .classes import DEFAULT\n", "DEFAULT.apply({})"),
        ("from .classes import Config, Act\nCONFIG = Config(act=Act.TWICE)\n", "CONFIG.apply({})"),
        ("from .classes import Lib\n", "Lib.twice({})"),
        ("from .classes import Lib as L\n", "L.twice({})"),
        ("from . import classes\n", "classes.DEFAULT.apply({})"),
        ("import p.classes as c\n", "c.Lib.twice({})"),
        ("from .classes import *\n", "Lib.twice({})"),
    ],
)
def test_classes_of_other_files(imports: str, call: str) -> None:
    files = {**FILES, "p/classes.py": CLASSES}
    one = kernel(imports, call.format(LOAD), files)
    (inline,) = translate_document(Document(HEAD + BODY.format(f"{LOAD} * 2.0"))).kernels
    assert errors(one) == []
    assert one.program is not None and inline.program is not None
    assert print_program(one.program) == print_program(inline.program)


def test_a_class_that_means_another_here_is_not_taken_over() -> None:
    files = {**FILES, "p/classes.py": CLASSES}
    one = kernel("from .classes import DEFAULT\nclass Act:\n    TWICE = 0\n", f"DEFAULT.apply({LOAD})", files)
    assert [code for code, _ in errors(one)] == ["FT205"]


@pytest.mark.parametrize(
    "imports",
    ["from .classes import DEFAULT\n", "from .classes import Config\nimport torch\nDEFAULT = Config(torch.half)\n"],
)
def test_a_slice_with_classes_of_other_files_runs_alone(imports: str) -> None:
    whole = {**FILES, "p/classes.py": CLASSES, "p/ops.py": HEAD + imports + BODY.format(f"DEFAULT.apply({LOAD})")}
    module = linked(whole)
    made = slice_source(module, find_kernels(module)[0])
    assert made.missing == ()
    scope: dict[str, object] = {}
    exec(compile(made.text.replace("@ct.kernel\n", ""), "slice", "exec"), scope)
    assert getattr(scope["DEFAULT"], "factor", None) == 2.0

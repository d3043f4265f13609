"""Launches and helpers in other files of a workspace, given as plain values; what the cache makes of edits there."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from ferrotile.cache import Cache
from ferrotile.passes.uses import operations
from ferrotile.signatures.model import Site
from ferrotile.signatures.workspace import Workspace, module_names
from ferrotile.syntax.document import Document
from ferrotile.translate import DocumentTranslation, translate_document
from signature_support import COPY, HEAD, all_shown, infer, shown

KERNELS = HEAD + COPY
RUN = "from .kernels import k\nimport cuda.tile as ct\nimport torch\n"


def workspace(files: Mapping[str, str]) -> Workspace:
    names, packages = module_names(files)
    return Workspace({n: Document(files[p]) for n, p in names.items()}, packages)


def from_file(path: str, files: Mapping[str, str]) -> list[str]:
    names, _ = module_names(files)
    name = next(n for n, p in names.items() if p == path)
    return all_shown(infer(files[path], "k", workspace(files), name))


def test_module_names_start_at_the_outermost_package() -> None:
    names, packages = module_names(["src/a/__init__.py", "src/a/b/__init__.py", "src/a/b/c.py", "tools/run.py", "x.py"])
    assert names == {
        "a": "src/a/__init__.py", "a.b": "src/a/b/__init__.py", "a.b.c": "src/a/b/c.py", "run": "tools/run.py",
        "x": "x.py",
    }  # fmt: skip
    assert packages == {"a", "a.b"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # the launch is in another file, under an alias
        ({"p/host.py": RUN.replace("import k", "import k as kk")
          + "x = torch.zeros(64, dtype=torch.float16)\nct.launch(0, (1,), kk, (x, x, 32))\n"},
         "x: f16[D0], y: f16[D0], T=32 | (1)"),
        # the module is imported, and the call stands in a function of a third file
        ({"p/host.py": "from . import kernels\nimport cuda.tile as ct\n"
          "def go(x, T):\n    ct.launch(0, (1,), kernels.k, (x, x, T))\n",
          "demo.py": "import torch\nfrom p.host import go\ngo(torch.zeros(64, dtype=torch.int8), 16)\n"},
         "x: i8[D0], y: i8[D0], T=16 | (1)"),
        # a launcher that the kernel's own file imports
        ({"p/kernels.py": KERNELS + "from .launching import run\nrun(k, torch.zeros(64, dtype=torch.int32), 8)\n",
          "p/launching.py": "import cuda.tile as ct\ndef run(kernel, x, T):\n"
          "    ct.launch(0, (1,), kernel, (x, x, T))\n"},
         "x: i32[D0], y: i32[D0], T=8 | (1)"),
        # constants and configurations through a re-export
        ({"p/kernels.py": KERNELS + "from .config import TILE, pick\nx = torch.zeros(64)\n"
          "ct.launch(0, (1,), k, (x, x, pick(TILE)))\n",
          "p/config/__init__.py": "from .sizes import *\nfrom .sizes import TILE\n",
          "p/config/sizes.py": "TILE = 16\ndef pick(n):\n    return n * 2\n"},
         "x: f32[D0], y: f32[D0], T=32 | (1)"),
    ],
)  # fmt: skip
def test_launches_of_other_files(files: dict[str, str], expected: str) -> None:
    whole = {"p/__init__.py": "", "p/kernels.py": KERNELS, **files}
    assert from_file("p/kernels.py", whole) == [expected]


def test_a_launch_of_another_file_is_told_with_its_line() -> None:
    files = {"p/__init__.py": "", "p/kernels.py": KERNELS, "p/host.py": RUN + "\n\nx = torch.zeros(8)\n"
             "ct.launch(0, (1,), k, (x, x, 8))\n"}  # fmt: skip
    (signature,) = infer(KERNELS, "k", workspace(files), "p.kernels").signatures
    assert signature.site == Site(module="p.host", line=7)


def test_a_kernel_of_the_same_name_elsewhere_is_another_one() -> None:
    files = {"p/__init__.py": "", "p/kernels.py": KERNELS,
             "p/others.py": KERNELS + "x = torch.zeros(8)\nct.launch(0, (1,), k, (x, x, 8))\n"
             "from .kernels import COPY\n"}  # fmt: skip
    assert from_file("p/kernels.py", files) == ["x: f32*[D0], y: f32*[D1], T=64* | ?"]


def test_imports_that_go_round_in_a_circle_end() -> None:
    files = {"p/__init__.py": "from .kernels import k\n", "p/kernels.py": KERNELS + "from .b import go\ngo(1)\n",
             "p/b.py": "from .kernels import k, go as again\nfrom . import *\ngo = again\nY = X\nX = Y\n"}  # fmt: skip
    assert from_file("p/kernels.py", files)


# Helpers of other files

HELPED = """import cuda.tile as ct
from .maths import twice as double
# ferrotile: x: f32[N], T=64, grid=(N/T)
@ct.kernel
def k(x, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, (i,), double(ct.load(x, (i,), (T,))))
"""
MATHS = """import cuda.tile as tile
from .more import FACTOR
def scaled(t, by):
    return t * by
def twice(t):
    return scaled(tile.exp(t), FACTOR)
"""
FILES = {"p/__init__.py": "", "p/ops.py": HELPED, "p/maths.py": MATHS, "p/more.py": "FACTOR = 2.0\n"}
INLINE = """import cuda.tile as ct
# ferrotile: x: f32[N], T=64, grid=(N/T)
@ct.kernel
def k(x, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, (i,), ct.exp(ct.load(x, (i,), (T,))) * 2.0)
"""


def translated(files: Mapping[str, str], cache: Cache | None = None, name: str = "p.ops") -> DocumentTranslation:
    given = workspace(files)
    document = given.document(name)
    assert document is not None
    return translate_document(document, cache=cache, workspace=given, name=name)


def test_an_imported_helper_is_inlined_with_all_that_it_names() -> None:
    (one,) = translated(FILES).kernels
    (other,) = translate_document(Document(INLINE)).kernels
    assert one.program is not None and other.program is not None
    assert [o.opcode for o in operations(one.program.body)] == [o.opcode for o in operations(other.program.body)]
    assert "exp" in [o.opcode for o in operations(one.program.body)]


def test_an_error_in_an_imported_helper_stands_at_the_import() -> None:
    files = FILES | {"p/maths.py": MATHS.replace("tile.exp(t)", "tile.no_such(t)")}
    (one,) = translated(files).kernels
    (error,) = [d for d in one.diagnostics if d.severity.name == "ERROR"]
    assert error.code == "FT210" and "from .maths import twice" in Document(HELPED).slice(error.span)


@pytest.mark.parametrize(
    "own",
    [
        "FACTOR = 3.0\n",
        "def scaled(t, by):\n    return t + by\n",
        "import math as tile\n",
        "FACTOR = 1.0\nFACTOR = 2.0\n",
    ],
)
def test_a_helper_whose_names_mean_something_else_here_is_left_out(own: str) -> None:
    (one,) = translated(FILES | {"p/ops.py": own + HELPED}).kernels
    assert one.rust is None and "FT205" in [d.code for d in one.diagnostics]


def test_the_same_text_here_and_there_is_no_conflict() -> None:
    (one,) = translated(FILES | {"p/ops.py": "FACTOR = 2.0\n" + HELPED}).kernels
    assert not [d for d in one.diagnostics if d.severity.name == "ERROR"]


# The cache


def signatures(found: DocumentTranslation) -> list[str]:
    return [shown(k.signature) for k in found.kernels if k.signature is not None]


def test_an_edit_of_another_file_renews_what_depends_on_it() -> None:
    cache = Cache()
    host = RUN + "x = torch.zeros(64, dtype=torch.float16)\nct.launch(0, (1,), k, (x, x, 32))\n"
    files = {"p/__init__.py": "", "p/kernels.py": KERNELS, "p/host.py": host}
    assert signatures(translated(files, cache, "p.kernels")) == ["x: f16[D0], y: f16[D0], T=32 | (1)"]
    files["p/host.py"] = host.replace("float16", "bfloat16").replace("32", "16")
    assert signatures(translated(files, cache, "p.kernels")) == ["x: bf16[D0], y: bf16[D0], T=16 | (1)"]
    del files["p/host.py"]
    assert all("T=64*" in s for s in signatures(translated(files, cache, "p.kernels")))
    files["q.py"] = host.replace("from .k", "from p.k")
    assert signatures(translated(files, cache, "p.kernels")) == ["x: f16[D0], y: f16[D0], T=32 | (1)"]


def test_an_edit_of_an_imported_helper_renews_the_kernel() -> None:
    cache = Cache()
    (before,) = translated(FILES, cache).kernels
    (after,) = translated(FILES | {"p/more.py": "FACTOR = 4.0\n"}, cache).kernels
    (again,) = translated(FILES, cache).kernels
    assert before.program != after.program and before.program == again.program


def test_an_unchanged_workspace_translates_nothing_again() -> None:
    cache = Cache()
    translated(FILES, cache)
    entries = len(cache)
    translated(FILES, cache)
    assert len(cache) == entries


@pytest.mark.parametrize(
    "alias",
    [
        "run = k\nct.launch(0, (1,), run, (x, x, 32))\n",
        "def go(kernel=k):\n    ct.launch(0, (1,), kernel, (x, x, 32))\ngo()\n",
        "TABLE = {'copy': k}\nct.launch(0, (1,), TABLE['copy'], (x, x, 32))\n",
    ],
)
def test_a_kernel_launched_by_an_alias_is_never_stale(alias: str) -> None:
    cache = Cache()
    text = KERNELS + "x = torch.zeros(64, dtype=torch.float16)\n" + alias
    assert signatures(translate_document(Document(text), cache=cache)) == ["x: f16[D0], y: f16[D0], T=32 | (1)"]
    edits = [
        text.replace("float16", "int8"),
        text.replace("x, y, T:", "x, y, z, T:").replace("(x, x, 32)", "(x, x, x, 32)"),
        text.replace("(x, x, 32)", "(x, x, 16)"),
        text.replace("T: ct", "T2: ct").replace("(T,)", "(T2,)"),
    ]
    for edit in edits:
        kept = signatures(translate_document(Document(edit), cache=cache))
        assert kept == signatures(translate_document(Document(edit)))


def test_a_kernel_called_by_an_alias_beside_a_launch_is_a_dependency() -> None:
    cache = Cache()
    text = """import cuda.tile as ct
# ferrotile: x: f32[N], T=8, grid=(N/T)
@ct.kernel
def inner(x, T: ct.Constant[int]):
    ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0),), (T,)) * 2.0)
alias = inner  # before any launch
# ferrotile: x: f32[N], T=8, grid=(N/T)
@ct.kernel
def outer(x, T: ct.Constant[int]):
    alias(x, T)
"""
    translate_document(Document(text), cache=cache)
    edited = Document(text.replace("2.0", "3.0"))
    kept, fresh = translate_document(edited, cache=cache), translate_document(edited)
    assert [(k.rust, [d.code for d in k.diagnostics]) for k in kept.kernels] == [
        (k.rust, [d.code for d in k.diagnostics]) for k in fresh.kernels
    ]

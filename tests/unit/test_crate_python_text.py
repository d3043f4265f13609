"""The package for Python of exported crates: signatures, the Rust that calls host functions, stubs, metadata."""

from __future__ import annotations

import ast
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from crate_support import HEAD, python_file
from ferrotile.crate.project import Crate, contents_of, crate_files
from ferrotile.crate.python_package import python_package

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.py") if p.stem != "refused")
KERNELS = (
    HEAD
    + '''
# ferrotile: x: f32[M, N], y: f32[M, N], scale: f16, LAMBDA=64, grid=(M,)
@ct.kernel
def scaled(x, y, scale, LAMBDA: ct.Constant[int]):
    """Scales rows.

    More is said here."""
    i = ct.bid(0)
    t = ct.load(x, index=(i, 0), shape=(1, LAMBDA))
    ct.store(y, index=(i, 0), tile=t * ct.astype(scale, ct.float32))


# ferrotile: x: T[N], y: T[N], S=64, grid=(N/S,)
@ct.kernel
def copy(x, y, S: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(S,)))


# ferrotile: ids: i32[M], bins: i32[N], S=64
@ct.kernel
def count(bins, ids, S: ct.Constant[int]):
    ct.atomic_add(bins, ct.load(ids, index=(ct.bid(0),), shape=(S,)), 1)


# ferrotile: x: bf16[N], ids: i32[M], out: bf16[M], T=64, grid=(M/T,)
@ct.kernel
def take(x, ids, out, T: ct.Constant[int]):
    at = ct.load(ids, index=(ct.bid(0),), shape=(T,))
    ct.store(out, index=(ct.bid(0),), tile=ct.gather(x, at, check_bounds=False))
'''
)


def _crate(*texts: tuple[str, str], python: bool = True) -> Crate:
    return crate_files(contents_of("my-kernels", [python_file(text, stem) for stem, text in texts]), python=python)


def _text(crate: Crate, path: str) -> str:
    text = crate.files[path]
    assert isinstance(text, str)
    return text


@pytest.fixture(scope="module")
def kernels() -> Crate:
    return _crate(("mine", KERNELS))


def _stub(crate: Crate, name: str) -> ast.FunctionDef:
    tree = ast.parse(_text(crate, "python/my_kernels.pyi"))
    return next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)


def test_only_where_it_is_asked_for() -> None:
    assert not any(p.startswith("python/") for p in _crate(("mine", KERNELS), python=False).files)


def test_arguments_stand_as_in_python_and_constants_are_named(kernels: Crate) -> None:
    stub = _stub(kernels, "scaled").args
    assert [a.arg for a in stub.args] == ["x", "y", "scale"]
    # `lambda` is no name in Python, though it is one in Rust.
    assert [a.arg for a in stub.kwonlyargs] == ["lambda_2", "stream"]
    assert [None if d is None else ast.literal_eval(d) for d in stub.kw_defaults] == [64, None]
    rust = _text(kernels, "python/src/lib.rs")
    assert "#[pyo3(signature = (x, y, scale, *, lambda_2 = 64, stream = None))]" in rust
    assert "lambda: lambda_2" in rust and "f16::from_f32(scale)" in rust
    assert 'let x = call.read::<f32>("x", x)?;' in rust and 'let y = call.write::<f32>("y", y)?;' in rust


def test_a_grid_that_nothing_tells_is_asked_for(kernels: Crate) -> None:
    stub = _stub(kernels, "count").args
    assert [a.arg for a in stub.kwonlyargs] == ["grid", "s", "stream"] and stub.kw_defaults[0] is None


def test_a_promise_of_the_caller_is_told(kernels: Crate) -> None:
    rust = _text(kernels, "python/src/lib.rs")
    take = rust[rust.index("fn take(") :]
    assert "// SAFETY: what this asks for, the caller promises" in take and "unsafe {" in take
    said = ast.get_docstring(_stub(kernels, "take"))
    assert said is not None and "every index of `x`" in said.partition("Not checked, as in the Python:")[2]
    assert "unsafe" not in rust[: rust.index("fn take(")]


def test_generic_kernels_look_at_the_element_type(kernels: Crate) -> None:
    rust = _text(kernels, "python/src/lib.rs")
    copy = rust[rust.index("fn copy(") : rust.index("fn count(")]
    assert 'let element = call.given("x", x)?;' in copy and "with_float! { " in copy
    assert rust.count("macro_rules! with_float") == 1
    assert "macro_rules" not in _text(
        _crate(("softmax", (ROOT / "examples/softmax.py").read_text())), "python/src/lib.rs"
    )


def test_more_than_two_element_types_are_one() -> None:
    text = (
        HEAD
        + """
# ferrotile: x: A[N], y: B[N], u: C[N], v: D[N], S=64, grid=(N/S,)
@ct.kernel
def two(x, y, u, v, S: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.astype(ct.load(x, index=(i,), shape=(S,)), y.dtype))
    ct.store(v, index=(i,), tile=ct.astype(ct.load(u, index=(i,), shape=(S,)), v.dtype))
"""
    )
    plan = contents_of("my-kernels", [python_file(text)]).modules[0].kernels[0].planned
    variables = [g.name for g in plan.generics if g.type]
    assert len(variables) == 4
    rust = _text(_crate(("mine", text)), "python/src/lib.rs")
    # The compiler would make 81 kernels of four types that are chosen apart.
    assert rust.count("with_float! { ") == 1
    assert [f"type {v} = {variables[0]};" in rust for v in variables] == [False, True, True, True]


def test_two_kernels_of_one_name_have_names_of_their_own() -> None:
    one = (
        HEAD
        + "\n# ferrotile: x: f32[N], y: f32[N], S=64, grid=(N/S,)\n"
        + KERNELS.split("grid=(N/S,)\n")[1].split("\n\n\n")[0]
    )
    crate = _crate(("first", one), ("second", one + "\n"))
    rust = _text(crate, "python/src/lib.rs")
    assert "fn copy(" in rust and "fn second_copy(" in rust and "my_kernels::second::copy_op" in rust


def test_elements_that_dlpack_lacks_are_refused() -> None:
    text = HEAD + KERNELS.split("\n\n\n")[2].replace("x: T[N], y: T[N]", "x: tf32[N], y: tf32[N]")
    files = python_package("my-kernels", contents_of("my-kernels", [python_file(text)]).modules)
    assert files == {}


def test_metadata(kernels: Crate) -> None:
    manifest = tomllib.loads(_text(kernels, "python/Cargo.toml"))
    assert manifest["dependencies"]["my-kernels"] == {"path": ".."} and manifest["workspace"] == {}
    assert manifest["lib"]["crate-type"] == ["cdylib"]
    assert any(f.startswith("abi3-") for f in manifest["dependencies"]["pyo3"]["features"])
    project = tomllib.loads(_text(kernels, "python/pyproject.toml"))
    assert project["project"]["name"] == "my-kernels" and project["tool"]["maturin"]["module-name"] == "my_kernels"
    assert '#[pyo3::pymodule(name = "my_kernels")]' in _text(kernels, "python/src/lib.rs")


def test_unsafe_stands_at_the_border_alone_each_with_its_reason() -> None:
    crate = _crate(*((p.stem, p.read_text()) for p in EXAMPLES))
    assert "unsafe" not in _text(crate, "python/src/lib.rs")
    for path in ("python/src/call.rs", "python/src/tensor.rs"):
        lines = _text(crate, path).split("\n")
        for number, line in enumerate(lines):
            if "unsafe {" in line or "unsafe impl" in line:
                before = lines[max(0, number - 5) : number]
                assert any("// SAFETY:" in one for one in before), line


@pytest.mark.skipif(shutil.which("rustfmt") is None, reason="rustfmt is not installed")
def test_all_files_are_as_rustfmt_has_them(tmp_path: Path, kernels: Crate) -> None:
    examples = _crate(*((p.stem, p.read_text()) for p in EXAMPLES))
    roots = []
    for name, crate in (("kernels", kernels), ("examples", examples)):
        for path, text in crate.files.items():
            if path.startswith("python/") and isinstance(text, str):
                (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name / path).write_text(text)
        roots.append(str(tmp_path / name / "python/src/lib.rs"))
    done = subprocess.run(
        ["rustfmt", "--check", "--edition", "2021", *roots], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout

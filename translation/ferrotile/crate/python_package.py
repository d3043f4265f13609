"""`python/`: a package for Python, built by maturin, whose functions launch the crate's kernels."""

from __future__ import annotations

from collections.abc import Sequence

from ferrotile.crate.manifest import CUTILE, RUST
from ferrotile.crate.model import CrateFiles, Refused
from ferrotile.crate.modules import RustModule
from ferrotile.crate.names import snake
from ferrotile.crate.python_call import CALL
from ferrotile.crate.python_functions import PythonFunction, python_functions
from ferrotile.crate.python_tensor import TENSOR
from ferrotile.crate.writing import imported

PYO3 = "0.30"
DLPARK = "0.10"
PYTHON = (3, 10)
FOLDER = "python"


def python_package(crate: str, modules: Sequence[RustModule]) -> CrateFiles:
    """The files of the package; none where no kernel can have a function."""
    code = snake(crate)
    functions, refused = python_functions(code, modules)
    if not functions:
        return {}
    return {
        f"{FOLDER}/Cargo.toml": _manifest(crate),
        f"{FOLDER}/pyproject.toml": _project(crate),
        f"{FOLDER}/README.md": _readme(crate, functions, refused),
        f"{FOLDER}/{code}.pyi": _stub(crate, functions),
        f"{FOLDER}/src/lib.rs": _library(code, functions),
        f"{FOLDER}/src/call.rs": CALL,
        f"{FOLDER}/src/tensor.rs": TENSOR,
    }


def _manifest(crate: str) -> str:
    return f"""\
[package]
name = "{crate}-python"
version = "0.1.0"
edition = "2021"
rust-version = "{RUST}"
description = "The kernels of {crate} for Python"
publish = false

[lib]
name = "{snake(crate)}_python"
crate-type = ["cdylib"]
doc = false

[dependencies]
{crate} = {{ path = ".." }}
cutile = "={CUTILE}"
dlpark = {{ version = "{DLPARK}", features = ["pyo3"] }}
pyo3 = {{ version = "{PYO3}", features = ["abi3-py{PYTHON[0]}{PYTHON[1]}"] }}

# Apart from the workspace around it: libraries that Python loads are linked in another way.
[workspace]
"""


def _project(crate: str) -> str:
    return f"""\
[build-system]
requires = ["maturin>=1.9,<2"]
build-backend = "maturin"

[project]
name = "{crate}"
description = "GPU kernels in cuTile Rust"
requires-python = ">={PYTHON[0]}.{PYTHON[1]}"
dynamic = ["version"]

[tool.maturin]
module-name = "{snake(crate)}"
strip = true
"""


_FLOATS = """\
/// For the element type of what `$given` is, calls it `$element` in `$body`.
macro_rules! with_float {
    ($element:ident = $given:ident => $body:block) => {
        if $given.is::<f32>()? {
            type $element = f32;
            $body
        } else if $given.is::<f16>()? {
            type $element = f16;
            $body
        } else if $given.is::<bf16>()? {
            type $element = bf16;
            $body
        } else {
            Err($given.mistyped("float16, bfloat16 or float32"))
        }
    };
}
"""


def _library(code: str, functions: Sequence[PythonFunction]) -> str:
    generic = any(f.generic for f in functions)
    types = sorted({t for f in functions for t in f.types})
    uses = [*(imported("cutile::half", types, 4) if types else []), "use pyo3::prelude::*;"]
    lines = [
        f"//! The kernels of `{code}` for Python.",
        "",
        "mod call;",
        "mod tensor;",
        "",
        *([*_FLOATS.split("\n")] if generic else []),
        "/// GPU kernels in cuTile Rust.",
        f'#[pyo3::pymodule(name = "{code}")]',
        "mod python {",
        *(f"    {line}" for line in uses),
        "",
        "    use crate::call::Call;",
    ]
    for function in functions:
        lines += ["", *function.rust]
    return "\n".join([*lines, "}"]) + "\n"


def _stub(crate: str, functions: Sequence[PythonFunction]) -> str:
    lines = [
        f'"""GPU kernels of {crate}, in cuTile Rust, for tensors of any library with DLPack: torch, cupy, jax."""',
        "",
        "from typing import Any, Protocol",
        "",
        "class _Tensor(Protocol):",
        "    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...",
        "    def __dlpack_device__(self) -> tuple[Any, int]: ...",
        "",
        "_Stream = Any",
        '"""A stream of torch, cupy or cuda.core, or its handle as an integer."""',
    ]
    for function in functions:
        lines += ["", *function.stub]
    return "\n".join(lines) + "\n"


def _readme(crate: str, functions: Sequence[PythonFunction], refused: Sequence[Refused]) -> str:
    code, first = snake(crate), functions[0]
    rows = "".join(f"| `{f.module}` | `{f.shown}` |\n" for f in functions)
    text = f"""\
# {crate} for Python

The kernels of the Rust crate as functions that take tensors of any library with DLPack: torch, cupy, jax. Nothing is
copied: a kernel reads and writes the memory of the tensors themselves.

```sh
pip install maturin
maturin develop --release        # into the environment that is active; or: maturin build --release
```

The wheel works with Python {PYTHON[0]}.{PYTHON[1]} and newer. Building needs what the crate needs; running needs an
NVIDIA driver and `tileiras` (`CUTILE_TILEIRAS_PATH` or `PATH`), since kernels are compiled when first launched.

```python
import {code}

{code}.{first.shown}
```

Arguments stand in the order of the Python kernel. Constants that the Rust leaves open are named, with the Python's
value as default; those that are fixed are left out, as are arguments that are an extent of a tensor.

- `stream=torch.cuda.current_stream()` (or one of cupy or cuda.core, or a handle): the kernel is put on it and not
  waited for, as by `ct.launch`. Tensors must be of that stream, or synchronised with it, as for any launch.
- Without `stream` the call returns when the kernel is done.
- Tensors that require a gradient: pass `t.detach()`.

Errors name the argument: `TypeError` for what is no tensor or has elements of another type; `ValueError` for tensors
of the CPU, of several GPUs, read-only ones that a kernel writes, memory that a kernel writes and that two arguments
share, and for shapes, strides and sizes that the kernel was not proved for; `RuntimeError` for what CUDA or the
compiler say. Nothing is launched then.

| module | function |
|---|---|
{rows}"""
    if refused:
        text += "\n## Without functions\n\n"
        text += "".join(f"- `{r.module}::{r.entry}`: {r.reason}.\n" for r in refused)
    return text

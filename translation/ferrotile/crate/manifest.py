"""`Cargo.toml`, `lib.rs` and `README.md`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ferrotile.crate.model import Refused
from ferrotile.crate.modules import SHARED, RustModule

CUTILE = "0.5.0"
RUST = "1.89"


class Contents(Protocol):
    """What a crate is made of."""

    @property
    def name(self) -> str: ...
    @property
    def modules(self) -> tuple[RustModule, ...]: ...
    @property
    def refused(self) -> tuple[Refused, ...]: ...


def manifest(name: str) -> str:
    """`Cargo.toml`, with the versions that are tested."""
    return f"""\
[package]
name = "{name}"
version = "0.1.0"
edition = "2021"
rust-version = "{RUST}"
description = "GPU kernels, translated from cuTile Python by ferrotile"
publish = false

[dependencies]
cutile = "={CUTILE}"
"""


def library(modules: Sequence[RustModule], shared: bool, hosts: bool, floats: bool) -> str:
    """`lib.rs`."""
    names = sorted([m.name for m in modules] + ([SHARED] if shared else []) + (["launch"] if hosts else []))
    lines = [
        "//! GPU kernels, translated from cuTile Python by ferrotile.",
        "//!",
        "//! Each module has the kernels of one Python file and functions that launch them. Of a kernel `k`,",
        "//! `k(..)` makes its outputs, `k_into(..)` writes given ones, and `k_op(..)` gives an operation that",
        "//! launches when it is awaited or put on a stream. All check what the kernel was proved for before",
        "//! they launch.",
        "",
        *(f"{'' if n == 'launch' else 'pub '}mod {n};" for n in names),
    ]
    if floats:
        lines += ["", "pub use launch::Float;"]
    return "\n".join(lines) + "\n"


def readme(contents: Contents, recorded: bool) -> str:
    """`README.md`; `recorded`: whether there are tests of recorded launches."""
    rows = []
    for module in contents.modules:
        for kernel in module.kernels:
            if kernel.host is None:
                shown = "device code only"
            else:
                names = kernel.host.names
                each = [names.plain] if kernel.host.makes else []
                shown = ", ".join(f"`{n}`" for n in [*each, names.into, names.op])
            rows.append(f"| `{module.name}` | `{kernel.planned.kernel.name}` | {shown} |")
    lines = [
        f"# {contents.name}",
        "",
        "GPU kernels in [cuTile Rust](https://crates.io/crates/cutile), translated from cuTile Python by ferrotile.",
        "",
        "| module | Python kernel | functions |",
        "|---|---|---|",
        *rows,
        "",
        "`k` makes its outputs, `k_into` writes given ones and waits, `k_op` checks and gives an operation to",
        "`.await`, `.sync()` or put on a stream. Every function checks the shapes, strides and sizes that its kernel",
        "was proved for, and returns an error that names what does not fit. `cargo doc --open` shows each with its",
        "Python. A function that cannot check everything is `unsafe` and says what its caller promises.",
        "",
        "## Building",
        "",
        f"Rust {RUST} or newer, the headers of CUDA 13.2 or newer (`CUDA_TOOLKIT_PATH`) and libclang",
        "(`LIBCLANG_PATH`). Kernels are compiled when they are first launched: `tileiras` of CUDA must then be found",
        "(`CUTILE_TILEIRAS_PATH` or `PATH`), and an NVIDIA driver.",
        "",
        "## Tests",
        "",
        "`cargo test` checks the launch checks and compiles each kernel to Tile IR, for which no GPU is needed."
        + (
            " With a GPU it also compares each kernel with inputs and outputs of the original (`tests/data`); without"
            " one it says for each that it was skipped."
            if recorded
            else ""
        ),
    ]
    if contents.refused:
        lines += ["", "## Without host functions", ""]
        lines += [f"- `{r.module}::kernels::{r.entry}`: {r.reason}." for r in contents.refused]
    return "\n".join(lines) + "\n"

"""Statements of cuTile Rust as a whole module, so that each can be compiled: all of them speak of the same values."""

from __future__ import annotations

ENTRY = "snippet"
TENSORS = {"a": "f32", "ai": "i32", "au": "u32", "ah": "f16", "v": "f32"}
"""Parameters that are tensors, and their element types; `v` has rank 1, the others rank 2."""
STRIDES = {**{name: (-1, 1) for name in TENSORS if name != "v"}, "v": (1,), "half": (-1, 1)}

NAMES = (
    "`x`, `y` are `Tile<f32, {[16, 32]}>`, `i`, `k` the same of `i32`, `u` of `u32`, `h` of `f16`, `m` of `bool`; `w` "
    "is a `Tile<f32, {[16]}>`; `n`, `q` are `i32` scalars and `s` an `f32`; `a` is a `&Tensor<f32, {[-1, -1]}>`, `ai` "
    "and `au` the same of `i32` and `u32`, `v` a `&Tensor<f32, {[-1]}>`"
)
"""What the statements may speak of, for readers."""

_HEAD = """\
#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    unsafe fn snippet(
        a: &Tensor<f32, { [-1, -1] }>,
        ai: &Tensor<i32, { [-1, -1] }>,
        au: &Tensor<u32, { [-1, -1] }>,
        ah: &Tensor<f16, { [-1, -1] }>,
        v: &Tensor<f32, { [-1] }>,
        half: &Tensor<f32, { [16, -1] }>,
        n: i32,
        q: i32,
        s: f32,
    ) {
        let x = a.load_tile(shape![16, 32], [0i32, 0i32]);
        let y = a.load_tile(shape![16, 32], [1i32, 0i32]);
        let i = ai.load_tile(shape![16, 32], [0i32, 0i32]);
        let k = ai.load_tile(shape![16, 32], [1i32, 0i32]);
        let u = au.load_tile(shape![16, 32], [0i32, 0i32]);
        let h = ah.load_tile(shape![16, 32], [0i32, 0i32]);
        let w = v.load_tile(shape![16], [0i32]);
        let m = lt_tile(x, y);
"""


def module_text(statements: str) -> str:
    """A module with one entry, `snippet`, that has the statements as its body."""
    body = "".join(f"        {line}\n" for line in statements.splitlines())
    return f"{_HEAD}{body}    }}\n}}\n"

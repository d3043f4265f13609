"""Approximate functions of f32: cutile 0.5 has them as `unsafe` functions, because not every element type has every
rounding mode. Declared for f32 alone, the same operation of Tile IR has nothing left to promise."""

from __future__ import annotations

from ferrotile.rust.safety import Helper


def approximate(name: str, opcode: str, rank: int) -> Helper:
    """The declaration of `exp` or `tanh` with approximate rounding on f32 tiles of this rank."""
    generics, shape = (f"<const S: [i32; {rank}]>", "S") if rank else ("", "{ [] }")
    typed = f"Tile<f32, {shape}>"
    lines = (
        f"    // `{opcode}`, rounded to an approximation: as cutile's own, for f32 alone.",
        "    #[cuda_tile::op(",
        f'        name = "cuda_tile.{opcode}",',
        '        since = "V13_2",',
        '        params = ["x"],',
        '        named_attributes = ["rounding_mode=approx"]',
        "    )]",
        f"    fn {name}{generics}(x: {typed}) -> {typed} {{",
        "        unreachable!()",
        "    }",
    )
    return Helper(name, lines, 0)

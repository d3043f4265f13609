"""Types of the values of a kernel program."""

from __future__ import annotations

from msgspec import Struct

from ferrotile.program.dtypes import DType


class Size(Struct, frozen=True):
    """A compile-time extent: its value under the signature, and the constant parameter that named it, if any.

    `symbol` lets emission print `{[TM, TN]}`; meaning and comparisons use `value` alone (see `same_shape`).
    """

    value: int
    symbol: str | None = None

    def __str__(self) -> str:
        return self.symbol or str(self.value)


Shape = tuple[Size, ...]


def same_shape(a: Shape, b: Shape) -> bool:
    """Whether two shapes have equal extents, whatever names them."""
    if a is b:
        return True
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):  # noqa: SIM110 - asked at nearly every operation: `all` is half as fast
        if x.value != y.value:
            return False
    return True


class TileType(Struct, frozen=True):
    """A tile of elements; rank 0 is a scalar. `pointer` makes it a tile of pointers to `dtype`."""

    dtype: DType
    shape: Shape = ()
    pointer: bool = False

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __str__(self) -> str:
        element = f"ptr<{self.dtype}>" if self.pointer else str(self.dtype)
        return f"tile<{'x'.join([*map(str, self.shape), element])}>"


class ArrayType(Struct, frozen=True):
    """A whole array: base pointer, extents and strides are run-time words."""

    dtype: DType
    rank: int

    def __str__(self) -> str:
        return f"array<{'x'.join(['?'] * self.rank + [str(self.dtype)])}>"


class ViewType(Struct, frozen=True):
    """A partition view of an array. `dim_map[d]` is the array axis behind tile axis d; `padding` is None when the
    lanes outside the array are undetermined, else one of zero, neg_zero, nan, pos_inf, neg_inf."""

    dtype: DType
    tile: Shape
    dim_map: tuple[int, ...]
    padding: str | None = None
    steps: tuple[int, ...] | None = None
    """Elements from one tile to the next, where that is not the tile's extent (strided views)."""
    sparse: int | None = None
    """The axis whose positions come from a tile of indices (gather/scatter views)."""

    def __str__(self) -> str:
        order = "" if self.dim_map == tuple(range(len(self.dim_map))) else f", dim_map={list(self.dim_map)}"
        pad = f", padding={self.padding}" if self.padding else ""
        pad += f", steps={list(self.steps)}" if self.steps is not None else ""
        pad += f", sparse={self.sparse}" if self.sparse is not None else ""
        return f"view<{'x'.join([*map(str, self.tile), str(self.dtype)])}{order}{pad}>"


Type = TileType | ArrayType | ViewType

"""Grids of translated kernels."""

from __future__ import annotations

from ferrotile.translation import RustParameter
from ferrotile_runner.launch_grid import grid_owner, merged, rust_grid

READ = RustParameter("x", "tensor", 2, (-1, 1))
TILED = RustParameter("y", "tensor_mut", 2, (-1, 1), (64, 128))
ROWS = RustParameter("z", "tensor_mut", 3, (-1, -1, 1), (1, 16, -1))


def test_the_first_mutable_tensor_owns_the_grid() -> None:
    assert grid_owner((READ, TILED, ROWS)) is TILED
    assert grid_owner((READ,)) is None


def test_the_grid_is_that_of_the_partition() -> None:
    shapes = {"x": (1, 1), "y": (65, 256), "z": (3, 33, 7)}
    assert rust_grid((READ, TILED, ROWS), shapes, (9, 9, 9)) == (2, 2, 1)
    assert rust_grid((ROWS,), shapes, (9, 9, 9)) == (3, 3, 1), "a whole axis is one block"


def test_without_a_mutable_tensor_the_grid_is_the_originals() -> None:
    assert rust_grid((READ,), {"x": (4, 4)}, (5,)) == (5, 1, 1)


def test_leading_axes_merge_where_the_translation_has_fewer() -> None:
    assert merged((2, 3, 5, 7), 3) == (6, 5, 7)
    assert merged((2, 3), 2) == (2, 3)
    assert rust_grid((TILED,), {"y": (2, 40, 129)}, (1,)) == (2, 2, 1), "80 rows in tiles of 64"

"""The grid of a launch that nothing tells: as many blocks as tiles, along the axes whose block id is a tile's index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ferrotile.signatures.model import Signature
from ferrotile.translation import Entry as RustEntry

from ferrotile_runner.inputs import Grids
from ferrotile_runner.launch_grid import Grid, grid_owner, rust_grid
from ferrotile_runner.parameter_words import Role, python_words
from ferrotile_runner.tileir.model import Entry, PartitionViewType, walk

OTHERWISE = 2
"""Blocks along an axis whose block id is used in another way."""
MOST = 64
"""Blocks along one axis, where an index says how many there are."""


def assumed_grid(original: Entry, signature: Signature, rust: RustEntry) -> Grids:
    """The grid that the translation's launcher takes from its output, where both sides have the same axes; else the one
    that the original's tile indices ask for. What the original does with another grid is not tried."""
    owner = grid_owner(rust.parameters)
    renamed = any("grid." in text or "python bid." in text or "rust bid." in text for text in rust.hypotheses)
    indices = _indices(original, signature)

    def grid(shapes: Mapping[str, tuple[int, ...]]) -> Grid:
        if owner is not None and not renamed:
            return rust_grid(rust.parameters, shapes, ())
        axes = [_blocks(indices[axis], shapes) for axis in range(3)]
        return axes[0], axes[1], axes[2]

    return grid


_Index = tuple[str, int, int]
"""Array, its axis, extent of the tile."""


def _blocks(indices: Sequence[_Index] | None, shapes: Mapping[str, tuple[int, ...]]) -> int:
    if indices is None:
        return 1
    known = [-(-shapes[array][axis] // tile) for array, axis, tile in indices if axis < len(shapes[array])]
    return max(1, min(*known, MOST)) if known else OTHERWISE


def _indices(entry: Entry, signature: Signature) -> list[list[_Index] | None]:
    """For each axis of the grid the tiles whose index is the block id along it; None where nothing uses the id."""
    words = zip(entry.parameters, python_words(signature), strict=False)
    arrays = {value.number: word.argument for value, word in words if word.role is Role.POINTER}
    ids: dict[int, int] = {}
    found: list[list[_Index] | None] = [None, None, None]
    for operation in walk(entry.body):
        for value in operation.operands:
            if value.number in ids and found[ids[value.number]] is None:
                found[ids[value.number]] = []
        if operation.name == "get_tile_block_id":
            ids.update((value.number, axis) for axis, value in enumerate(operation.results))
        elif operation.name in {"assume", "make_tensor_view", "make_partition_view"}:
            source, result = operation.operands[0].number, operation.results[0].number
            if source in ids:
                ids[result] = ids[source]
            if source in arrays:
                arrays[result] = arrays[source]
        elif operation.name in {"load_view_tko", "store_view_tko"}:
            view = operation.one("view")
            if not isinstance(view.type, PartitionViewType) or view.number not in arrays:
                continue
            for tile, axis, index in zip(view.type.tile, view.type.dim_map, operation.named["index"], strict=True):
                if index.number in ids:
                    at = found[ids[index.number]]
                    assert at is not None
                    at.append((arrays[view.number], axis, tile))
    return found

"""What an original's entry says of its arrays: which it writes, and in which tiles it goes through their axes."""

from __future__ import annotations

from ferrotile.signatures.model import ArrayArgument, Signature

from ferrotile_runner.parameter_words import Role, python_words
from ferrotile_runner.tileir.interpreter.origins import origins
from ferrotile_runner.tileir.model import Entry, PartitionViewType, Value, walk


def written_names(entry: Entry, signature: Signature) -> frozenset[str]:
    """The arrays that an original's entry may write."""
    found = origins(entry)
    return _names(entry, signature, found.written | found.updated)


def read_names(entry: Entry, signature: Signature) -> frozenset[str]:
    """The arrays whose contents an original's entry may look at."""
    found = origins(entry)
    return _names(entry, signature, found.loaded | found.updated)


def updated_names(entry: Entry, signature: Signature) -> frozenset[str]:
    """The arrays that an original's entry may update by atomics."""
    return _names(entry, signature, origins(entry).updated)


def _names(entry: Entry, signature: Signature, numbers: frozenset[int]) -> frozenset[str]:
    words = zip(entry.parameters, python_words(signature), strict=False)
    return frozenset(word.argument for value, word in words if value.number in numbers)


def tile_extents(entry: Entry, signature: Signature) -> dict[str, int]:
    """The largest tile along each extent symbol, from the partition views of an entry."""
    arrays = {a.name: a.extents for a in signature.arguments if isinstance(a, ArrayArgument)}
    words = python_words(signature)
    origin: dict[int, str] = {
        p.number: w.argument for p, w in zip(entry.parameters, words, strict=False) if w.role is Role.POINTER
    }
    found: dict[str, int] = {}
    for operation in walk(entry.body):
        source = next(iter(operation.operands), None)
        if source is None or source.number not in origin:
            continue
        if operation.name in ("assume", "make_tensor_view", "make_partition_view"):
            origin[operation.results[0].number] = origin[source.number]
        if operation.name == "make_partition_view":
            _note_tiles(operation.results[0], arrays.get(origin[source.number], ()), found)
    return found


def _note_tiles(view: Value, extents: tuple[str | int, ...], found: dict[str, int]) -> None:
    if not isinstance(view.type, PartitionViewType) or len(view.type.dim_map) != len(extents):
        return
    for axis, tile in zip(view.type.dim_map, view.type.tile, strict=True):
        extent = extents[axis]
        if isinstance(extent, str):
            found[extent] = max(found.get(extent, 1), tile)

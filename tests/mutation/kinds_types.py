"""Mutations of the strides that Tile IR states in types, in all places at once."""

from __future__ import annotations

from collections.abc import Iterator

from edit import Edit, Site
from ferrotile_runner.tileir.model import (
    GatherScatterViewType,
    Operation,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    Value,
    walk,
)
from kinds import TileIrKind
from msgspec.structs import replace

_VIEWS = PartitionViewType | StridedViewType | GatherScatterViewType


def _everywhere(site: Site, what: str, kind: TensorViewType) -> Edit:
    """The view and the views of tiles over it."""
    op = site.operation
    value = Value(op.results[0].number, kind, op.results[0].name)
    instead = {value.number: value}
    also: list[Edit] = []
    for user in walk(site.entry.body):
        over = user.results[0].type if user.results and op.results[0] in user.operands else None
        if isinstance(over, _VIEWS):
            tiles = Value(user.results[0].number, replace(over, view=kind), user.results[0].name)
            new: tuple[Operation, ...] = (replace(user, results=(tiles,)),)
            also.append(Edit("", user, new, {tiles.number: tiles}, True))
    return Edit(f"{op.name}: {what}", op, (replace(op, results=(value,)),), instead, True, tuple(also))


def _view(site: Site) -> TensorViewType | None:
    kind = site.operation.results[0].type if site.operation.name == "make_tensor_view" else None
    return kind if isinstance(kind, TensorViewType) else None


def static_stride(site: Site) -> Iterator[Edit]:
    kind = _view(site)
    for axis, stride in enumerate(kind.strides if kind is not None else ()):
        if kind is not None and stride is not None:
            for other in (stride + 1, 0 if stride == 1 else 1):
                strides = (*kind.strides[:axis], other, *kind.strides[axis + 1 :])
                yield _everywhere(site, f"stride {axis} is {other}", replace(kind, strides=strides))


KINDS = (TileIrKind("stride in a type", "a stride that a view's type states: one more, 0 for 1", static_stride),)

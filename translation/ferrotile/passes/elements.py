"""Gathers, scatters and atomics taken apart: the array, its indices, what is written, the mask."""

from __future__ import annotations

from msgspec import Struct

from ferrotile.program.dtypes import DType
from ferrotile.program.ir import Operation, Value
from ferrotile.program.types import ArrayType, Shape, Size, TileType

ATOMICS = frozenset(("atomic_rmw", "atomic_cas"))
ELEMENT_OPS = frozenset(("gather", "scatter", *ATOMICS))
_VALUES = {"gather": 0, "scatter": 1, "atomic_rmw": 1, "atomic_cas": 2}


class ElementAccess(Struct, frozen=True):
    """`index` has one integer tile per axis (one offset when `linear`); they broadcast together to `shape`.
    `values` are what is stored, combined or compared; `padding` and `mask` may be None. All but the indices have
    `shape`, except a padding of rank 0, which fills it."""

    operation: Operation
    array: Value
    index: tuple[Value, ...]
    values: tuple[Value, ...]
    padding: Value | None
    mask: Value | None
    shape: Shape
    linear: bool
    bounds: bool

    @property
    def result_dtype(self) -> DType:
        """The element type of the array, and of what is read from it."""
        assert isinstance(self.array.type, ArrayType)
        return self.array.type.dtype

    @property
    def rank(self) -> int:
        """Axes of the array."""
        assert isinstance(self.array.type, ArrayType)
        return self.array.type.rank


def element_access(operation: Operation) -> ElementAccess:
    """The parts of an operation in `ELEMENT_OPS`."""
    array, *rest = operation.operands
    assert isinstance(array.type, ArrayType)
    linear = bool(operation.attribute("linear"))
    mask = rest.pop() if operation.attribute("masked") else None
    padding = rest.pop() if operation.attribute("padded") else None
    count = 1 if linear else array.type.rank
    index, values = tuple(rest[:count]), tuple(rest[count:])
    assert len(values) == _VALUES[operation.opcode], operation
    shape = common_shape(index)
    return ElementAccess(operation, array, index, values, padding, mask, shape, linear,
                         bool(operation.attribute("bounds")))  # fmt: skip


def common_shape(index: tuple[Value, ...]) -> Shape:
    """NumPy's broadcast of the indices' shapes, which fit."""
    found: list[Size] = []
    for value in index:
        assert isinstance(value.type, TileType)
        shape = value.type.shape
        found = [Size(1)] * (len(shape) - len(found)) + found
        for k, size in enumerate(reversed(shape), 1):
            plain = found[-k].symbol is None
            if (found[-k].value == 1 and (size.value != 1 or plain)) or (plain and size.value == found[-k].value):
                found[-k] = size
    return tuple(found)

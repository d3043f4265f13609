"""CUDA Tile IR as plain data: types, values, operations, regions, entries, modules.

A value is known by its number within the entry; its name is only what `tileirdisasm` printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

Attribute = bool | int | str | tuple[int, ...] | tuple[str, ...]


class TokenType(Struct, frozen=True):
    """Order between memory operations; holds no data."""


class PointerType(Struct, frozen=True):
    """Address of elements of type `pointee` (`f32`, `i8`, ...)."""

    pointee: str


class TileType(Struct, frozen=True):
    """`element` is a scalar type's name (`i1`, `i32`, `f8E4M3FN`, ...) or a pointer; `()` is a scalar."""

    shape: tuple[int, ...]
    element: str | PointerType


class TensorViewType(Struct, frozen=True):
    """`None` in `shape` or `strides` = given by an operand of `make_tensor_view`. Strides in elements."""

    element: str
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]


class PartitionViewType(Struct, frozen=True):
    """Tiles of shape `tile` in a grid over `view`; tile axis d covers view axis `dim_map[d]`."""

    tile: tuple[int, ...]
    view: TensorViewType
    dim_map: tuple[int, ...]
    padding: str | None = None
    """`zero`, `neg_zero`, `nan`, `pos_inf`, `neg_inf`; None leaves the lanes outside undetermined."""


class StridedViewType(Struct, frozen=True):
    """As a partition view, but tiles start every `traversal_strides[d]` elements."""

    tile: tuple[int, ...]
    traversal_strides: tuple[int, ...]
    view: TensorViewType
    dim_map: tuple[int, ...]
    padding: str | None = None


class GatherScatterViewType(Struct, frozen=True):
    """Tiles whose rows along axis `sparse_dim` of `view` are picked by an index tile."""

    tile: tuple[int, ...]
    view: TensorViewType
    sparse_dim: int
    padding: str | None = None


ViewType = PartitionViewType | StridedViewType | GatherScatterViewType
Type = TileType | TensorViewType | ViewType | TokenType


class Location(Struct, frozen=True):
    """Line from 1, column from 0, as `tileirdisasm -g` prints them; `file` may be empty."""

    file: str
    line: int
    column: int
    caller: Location | None = None
    """Of an operation of an inlined function: where that is called."""

    @property
    def entry(self) -> Location:
        """The place in the entry of a Rust text. Its last caller is the entry point itself."""
        at = self
        while at.caller is not None and at.caller.caller is not None:
            at = at.caller
        return at

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class Value(Struct, frozen=True, eq=False):
    """An SSA value; equal numbers are one value of the entry."""

    number: int
    type: Type
    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and other.number == self.number

    def __hash__(self) -> int:
        return self.number


class Region(Struct, frozen=True):
    """One block: every Tile IR region has exactly one. Its last operation is the terminator."""

    arguments: tuple[Value, ...]
    operations: tuple[Operation, ...]


class Operation(Struct, frozen=True):
    """`named` holds the operands by role (the roles of `operations.TABLE`), in the order of the text."""

    name: str
    named: Mapping[str, tuple[Value, ...]]
    results: tuple[Value, ...]
    attributes: Mapping[str, Attribute]
    regions: tuple[Region, ...]
    location: Location | None
    text_line: int
    """Line of the disassembly, from 1."""

    @property
    def operands(self) -> tuple[Value, ...]:
        """All operands, role by role."""
        return tuple(value for values in self.named.values() for value in values)

    def optional(self, role: str) -> Value | None:
        """The operand of a role that takes at most one."""
        values = self.named.get(role, ())
        return values[0] if values else None

    def one(self, role: str) -> Value:
        """The operand of a role that takes one. Raises KeyError when it is absent."""
        return self.named[role][0]

    def word(self, key: str, default: str = "") -> str:
        """A text attribute."""
        found = self.attributes.get(key, default)
        return found if isinstance(found, str) else default

    def integers(self, key: str) -> tuple[int, ...]:
        """An attribute that is a list of integers."""
        found = self.attributes.get(key, ())
        return tuple(item for item in found if isinstance(item, int)) if isinstance(found, tuple) else ()

    def flag(self, key: str) -> bool:
        """Whether a unit attribute is there, or a boolean one is true."""
        return self.attributes.get(key, False) is True


class Entry(Struct, frozen=True):
    """A kernel. `parameters` are the words of its calling convention, in order."""

    name: str
    parameters: tuple[Value, ...]
    body: Region


class Module(Struct, frozen=True):
    """The entries of one `tileirdisasm` text."""

    entries: tuple[Entry, ...]

    def entry(self, name: str | None = None) -> Entry:
        """The entry called `name`, or the only one. Raises KeyError."""
        found = [entry for entry in self.entries if name is None or entry.name == name]
        if len(found) != 1:
            raise KeyError(f"{len(found)} entries for {name!r}")
        return found[0]


def walk(region: Region) -> Iterator[Operation]:
    """Every operation of a region, outer before inner, in program order."""
    for operation in region.operations:
        yield operation
        for inner in operation.regions:
            yield from walk(inner)

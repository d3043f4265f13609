"""Checks what the comparison and the interpreter take for granted: shapes, element types, attributes, terminators.

The reader has already seen that every operand is defined before its use and has the type of its definition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ferrotile_runner.tileir.model import (
    Entry,
    GatherScatterViewType,
    Operation,
    PartitionViewType,
    PointerType,
    Region,
    StridedViewType,
    TileType,
    Type,
    Value,
)
from ferrotile_runner.tileir.operations import TABLE, TERMINATORS, Kind
from ferrotile_runner.tileir.text import ReadError

_FLOAT = frozenset(
    name
    for names in (
        "addf subf mulf divf fma maxf minf remf atan2 fpowf pow cmpf",
        "exp exp2 sqrt rsqrt tanh absf negf ceil floor log log2 sin cos tan sinh cosh",
    )
    for name in names.split()
)
_INTEGERS = "addi subi muli shli divi remi maxi mini shri andi ori xori mulhii negi absi cmpi"
_INTEGER = frozenset(name for name in _INTEGERS.split(" "))
_VIEWS = PartitionViewType | StridedViewType | GatherScatterViewType


def verify(entry: Entry) -> None:
    """Raises ReadError, with the line of the text, for an operation that Tile IR does not allow."""
    _region(entry.body, (), "return")


def _fail(operation: Operation, message: str) -> ReadError:
    return ReadError(f"{operation.name}: {message}", operation.text_line)


def _region(region: Region, results: Sequence[Type], ending: str, line: int = 0) -> None:
    """`results`: what the region passes on, by its terminator `ending`; `line`: that of its operation."""
    for place, operation in enumerate(region.operations):
        last = place == len(region.operations) - 1
        if operation.name in TERMINATORS:
            if not last:
                raise _fail(operation, "is not the last operation of its region")
            if operation.name == ending:
                _passes(operation, operation.named.get("values", ()), results)
        else:
            _operation(operation)
    ends = region.operations[-1].name if region.operations else ""
    if results and ends not in TERMINATORS:
        raise ReadError(f"a region that yields {len(results)} values ends without doing so", line)


def _passes(operation: Operation, values: Sequence[Value], types: Sequence[Type]) -> None:
    if [value.type for value in values] != list(types):
        raise _fail(operation, f"passes {len(values)} values that do not fit {len(types)} results")


def _operation(operation: Operation) -> None:
    name = operation.name
    row = TABLE[name]
    match name:
        case "for" | "loop":
            _loop(operation)
        case "if":
            _expect(operation, operation.one("condition"), (), "i1")
            types = [value.type for value in operation.results]
            for region in operation.regions:
                _region(region, types, "yield", operation.text_line)
            if types and len(operation.regions) != 2:
                raise _fail(operation, "has results and no else")
        case "reduce" | "scan":
            _reduction(operation)
        case "reshape" | "broadcast" | "permute" | "cat" | "extract" | "insert" | "pack" | "unpack" | "iota":
            _shape(operation)
        case "mmaf" | "mmai" | "mmaf_scaled":
            _matrix(operation)
        case "load_view_tko" | "store_view_tko" | "atomic_red_view_tko":
            _view_access(operation)
        case "load_ptr_tko" | "store_ptr_tko" | "atomic_rmw_tko" | "atomic_cas_tko":
            _pointer_access(operation)
        case "make_partition_view" | "make_strided_view" | "make_gather_scatter_view":
            _view(operation)
        case _ if row.kind is Kind.ELEMENTWISE:
            _elementwise(operation)


def _tile(operation: Operation, value: Value) -> TileType:
    if not isinstance(value.type, TileType):
        raise _fail(operation, f"{value.name} is no tile")
    return value.type


def _expect(operation: Operation, value: Value, shape: tuple[int, ...], element: str) -> None:
    kind = _tile(operation, value)
    if kind.shape != shape or kind.element != element:
        raise _fail(operation, f"{value.name} is not a {element} tile of shape {shape}")


def _is_float(element: str | PointerType) -> bool:
    return isinstance(element, str) and element[:1] in {"f", "b", "t"}


def _is_integer(element: str | PointerType) -> bool:
    return isinstance(element, str) and element[:1] == "i"


def _elementwise(operation: Operation) -> None:
    tiles = [_tile(operation, value) for value in operation.operands]
    result = _tile(operation, operation.results[0])
    if any(tile.shape != result.shape for tile in tiles):
        raise _fail(operation, "the shapes of its operands and result differ")
    name = operation.name
    wrong = _is_integer if name in _FLOAT else _is_float if name in _INTEGER else None
    if wrong is not None and any(wrong(tile.element) for tile in tiles):
        raise _fail(operation, "an operand has an element type that it does not take")
    if name in {"cmpi", "cmpf"}:
        if result.element != "i1" or "predicate" not in operation.attributes:
            raise _fail(operation, "needs a predicate and gives i1")
        tiles = tiles[1:] if tiles[0].element == tiles[-1].element else []
        if not tiles:
            raise _fail(operation, "compares unlike types")
    elif name == "select":
        if tiles[0].element != "i1" or tiles[1].element != tiles[2].element:
            raise _fail(operation, "needs a condition of i1 and two tiles of one type")
    elif (name in _FLOAT or name in _INTEGER) and any(tile.element != result.element for tile in tiles):
        raise _fail(operation, "the types of its operands and result differ")


def _shape(operation: Operation) -> None:
    result = _tile(operation, operation.results[0])
    if operation.name == "iota":
        if len(result.shape) != 1 or not _is_integer(result.element):
            raise _fail(operation, "gives a tile of integers of rank 1")
        return
    source = _tile(operation, operation.operands[0])
    same = source.element == result.element
    match operation.name:
        case "reshape":
            good = same and math.prod(source.shape) == math.prod(result.shape)
        case "broadcast":
            good = same and len(source.shape) == len(result.shape)
            good = good and all(a in {1, b} for a, b in zip(source.shape, result.shape, strict=True))
        case "permute":
            order = operation.integers("permutation")
            good = same and sorted(order) == list(range(len(source.shape)))
            good = good and result.shape == tuple(source.shape[axis] for axis in order)
        case "cat":
            good = same and _concatenated(operation, result)
        case "extract":
            good = same and _is_part(result.shape, source.shape, operation)
        case "insert":
            whole = _tile(operation, operation.one("dest"))
            good = same and whole == result and _is_part(source.shape, whole.shape, operation)
        case _:
            good = len(source.shape) == len(result.shape) == 1
    if not good:
        raise _fail(operation, "the shapes or types of its operands and result do not fit")


def _concatenated(operation: Operation, result: TileType) -> bool:
    axis = operation.attributes.get("dim")
    shapes = [_tile(operation, value).shape for value in operation.operands]
    if not isinstance(axis, int) or not 0 <= axis < len(result.shape) or len({len(s) for s in shapes}) != 1:
        return False
    rest = {(*shape[:axis], *shape[axis + 1 :]) for shape in (*shapes, result.shape)}
    return len(rest) == 1 and sum(shape[axis] for shape in shapes) == result.shape[axis]


def _is_part(part: tuple[int, ...], whole: tuple[int, ...], operation: Operation) -> bool:
    if not len(part) == len(whole) == len(operation.named["index"]):
        return False
    return all(b % a == 0 for a, b in zip(part, whole, strict=True))


def _matrix(operation: Operation) -> None:
    a, b, c = (_tile(operation, operation.one(role)).shape for role in ("lhs", "rhs", "acc"))
    batched = len(a) == len(b) == len(c) == 3 and a[0] == b[0] == c[0]
    flat = len(a) == len(b) == len(c) == 2
    if not (batched or flat) or a[-1] != b[-2] or (a[-2], b[-1]) != c[-2:]:
        raise _fail(operation, f"shapes {a}, {b} and {c} do not fit")
    if operation.name == "mmaf_scaled":
        left, right = (_tile(operation, operation.one(role)).shape for role in ("lhs_scale", "rhs_scale"))
        if left[-2] != a[-2] or right[-1] != b[-1] or left[-1] != right[-2] or not left[-1] or a[-1] % left[-1]:
            raise _fail(operation, f"scales {left} and {right} do not fit")
    if operation.name == "mmai" and len(operation.word("signedness").split()) != 2:
        raise _fail(operation, "needs the signs of both operands")


def _reduction(operation: Operation) -> None:
    operands = [_tile(operation, value) for value in operation.named["operands"]]
    results = [_tile(operation, value) for value in operation.results]
    axis, region = operation.attributes.get("dim"), operation.regions[0]
    shape = operands[0].shape if operands else ()
    if not operands or any(tile.shape != shape for tile in operands) or len(results) != len(operands):
        raise _fail(operation, "needs operands of one shape, and a result for each")
    if not isinstance(axis, int) or not 0 <= axis < len(shape):
        raise _fail(operation, f"has no axis {axis}")
    kept = shape if operation.name == "scan" else (*shape[:axis], *shape[axis + 1 :])
    if any(result != TileType(kept, tile.element) for result, tile in zip(results, operands, strict=True)):
        raise _fail(operation, "its results do not fit its operands")
    identities = operation.attributes.get("identities", ())
    if not isinstance(identities, tuple) or len(identities) != len(operands):
        raise _fail(operation, "needs an identity for each operand")
    scalars = [TileType((), tile.element) for tile in operands]
    if [value.type for value in region.arguments] != [kind for kind in scalars for _ in range(2)]:
        raise _fail(operation, "its region takes two scalars for each operand")
    _region(region, scalars, "yield", operation.text_line)


def _loop(operation: Operation) -> None:
    initial = [value.type for value in operation.named["initial"]]
    region = operation.regions[0]
    arguments = [value.type for value in region.arguments]
    if operation.name == "for":
        bounds = {operation.one(role).type for role in ("lower", "upper", "step")} | {arguments[0]}
        if len(bounds) != 1 or not all(isinstance(kind, TileType) and kind.shape == () for kind in bounds):
            raise _fail(operation, "its bounds, step and variable must be scalars of one type")
        arguments = arguments[1:]
    if arguments != initial:
        raise _fail(operation, "the types of what it carries change")
    results = [value.type for value in operation.results]
    if operation.name == "for" and results != initial:
        raise _fail(operation, "its results are not of the types that it carries")
    _jumps(region, initial, results)
    _region(region, initial, "continue", operation.text_line)


def _jumps(region: Region, carried: Sequence[Type], results: Sequence[Type]) -> None:
    """`continue` and `break` under `if`, for the loop around them."""
    for operation in region.operations:
        values = operation.named.get("values", ())
        if operation.name == "continue":
            _passes(operation, values, carried)
        elif operation.name == "break":
            _passes(operation, values, results)
        elif operation.name == "if":
            for inner in operation.regions:
                _jumps(inner, carried, results)


def _view(operation: Operation) -> None:
    kind = operation.results[0].type
    if not isinstance(kind, _VIEWS) or operation.one("view").type != kind.view:
        raise _fail(operation, "is of another tensor view than its operand")
    if isinstance(kind, GatherScatterViewType):
        good = len(kind.tile) == len(kind.view.shape) and 0 <= kind.sparse_dim < len(kind.tile)
    else:
        good = sorted(kind.dim_map) == list(range(len(kind.view.shape))) and len(kind.dim_map) == len(kind.tile)
    if isinstance(kind, StridedViewType):
        good = good and len(kind.traversal_strides) == len(kind.tile)
    if not good:
        raise _fail(operation, "its tile does not fit its tensor view")


def _view_access(operation: Operation) -> None:
    view = operation.one("view").type
    if not isinstance(view, _VIEWS):
        raise _fail(operation, "needs a view of tiles")
    index = [_tile(operation, value) for value in operation.named["index"]]
    lanes = [
        (view.tile[axis],) if isinstance(view, GatherScatterViewType) and axis == view.sparse_dim else ()
        for axis in range(len(view.tile))
    ]
    if [tile.shape for tile in index] != lanes or not all(_is_integer(tile.element) for tile in index):
        raise _fail(operation, "its index does not fit its view")
    value = operation.results[0] if operation.name == "load_view_tko" else operation.one("value")
    if _tile(operation, value) != TileType(view.tile, view.view.element):
        raise _fail(operation, "its tile does not fit its view")


def _pointer_access(operation: Operation) -> None:
    pointer = _tile(operation, operation.one("pointer"))
    if not isinstance(pointer.element, PointerType):
        raise _fail(operation, "needs pointers")
    mask = operation.optional("mask")
    if mask is not None:
        _expect(operation, mask, pointer.shape, "i1")
    for role in ("value", "expected", "desired", "padding"):
        value = operation.optional(role)
        if value is not None:
            _expect(operation, value, pointer.shape, pointer.element.pointee)
    if operation.name != "store_ptr_tko":
        _expect(operation, operation.results[0], pointer.shape, pointer.element.pointee)

"""Why a view of other extents or strides, or an index of another sign, goes to the same elements."""

from __future__ import annotations

import math

from ferrotile.signatures.model import ArrayArgument
from ferrotile_runner.parameter_words import Role, rust_words
from ferrotile_runner.tileir.model import Operation, PartitionViewType, TensorViewType, TileType, Value
from ferrotile_runner.tileir.operations import TABLE, Kind
from given import Given, Reason, kinds
from known import ACCESSES, Known

_SIZES = kinds("other extent", "other stride", "other operand", "other parameter", "stride in a type")


def _at_least(given: Given, known: Known, value: Value) -> int:
    """A number that an extent or stride is not below: by the signature's extents, which are at least 1."""
    made = known.definitions.get(value.number)
    if made is None:
        return _parameter_at_least(given, value)
    match made.name:
        case "constant":
            return int(made.word("value"), 0)
        case "assume":
            return _at_least(given, known, made.operands[0])
        case "addi":
            return sum(_at_least(given, known, operand) for operand in made.operands)
        case _:
            return 0


def _parameter_at_least(given: Given, value: Value) -> int:
    arrays = {a.name: a.extents for a in given.sides.pair.signature.arguments if isinstance(a, ArrayArgument)}
    words = zip(given.mutant.parameters, rust_words(given.sides.pair.translation), strict=False)
    word = next((word for parameter, word in words if parameter.number == value.number), None)
    extents = () if word is None else arrays.get(word.argument, ())
    if word is None or len(extents) != word.rank or word.role not in (Role.EXTENT, Role.STRIDE):
        return 0
    known = [extent if isinstance(extent, int) else 1 for extent in extents]
    return known[word.axis] if word.role is Role.EXTENT else math.prod(known[word.axis + 1 :])


def _view(known: Known, access: Operation) -> Operation | None:
    """The tensor view that an access goes through."""
    made = known.definitions.get(access.one("view").number) if "view" in access.named else None
    return None if made is None else known.definitions.get(made.one("view").number)


def _same_elements(given: Given) -> bool:
    """Every access goes through tiles at index 0 that lie inside both extents, wherever these or a stride differ."""
    before, after = given.known.accesses, given.changed.accesses
    at = given.at if given.at.name == "assume" else None
    if at is not None and any(op.name != "make_tensor_view" for op in given.known.users.get(at.results[0].number, [])):
        return False
    if at is None and given.at.name != "make_tensor_view":
        return False
    return len(before) == len(after) and all(
        _same_window(given, old, new) for old, new in zip(before, after, strict=True)
    )


def _same_window(given: Given, old: Operation, new: Operation) -> bool:
    one, other = _view(given.known, old), _view(given.changed, new)
    if one is None or other is None:
        return old.name == new.name and "view" not in old.named
    view, tensor = old.one("view").type, one.results[0].type
    if not isinstance(view, PartitionViewType) or not isinstance(tensor, TensorViewType):
        return False
    if one.one("base") != other.one("base") or old.named["index"] != new.named["index"]:
        return False
    now = other.results[0].type
    if not isinstance(now, TensorViewType):
        return False
    sizes = [_each(one, "shape", tensor.shape), _each(other, "shape", now.shape)]
    steps = [_each(one, "strides", tensor.strides), _each(other, "strides", now.strides)]
    for place, axis in enumerate(view.dim_map):
        first, tile = given.known.is_zero(old.named["index"][place]), view.tile[place]
        a, b = sizes[0][axis], sizes[1][axis]
        if not _alike(given, a, b):
            least = min(_least(given, given.known, a), _least(given, given.changed, b))
            if not (first and least >= tile) and not _inside_larger(given, old.named["index"][place], tile, a, b):
                return False
        if not _alike(given, steps[0][axis], steps[1][axis]) and not (first and tile == 1):
            return False
    return True


def _inside_larger(given: Given, index: Value, tile: int, a: Value | int, b: Value | int) -> bool:
    """Whether there is a block for each row of the one extent, and the other is that and a number more."""
    made = given.known.definitions.get(index.number)
    while made is not None and made.name == "assume":
        index = made.operands[0]
        made = given.known.definitions.get(index.number)
    if made is None or made.name != "get_tile_block_id" or tile != 1 or isinstance(a, int) or isinstance(b, int):
        return False
    factor = given.known.grid.get([r.number for r in made.results].index(index.number))
    more = given.changed.definitions.get(b.number)
    if factor is None or factor.tile != 1 or given.known.size_name(a) != str(factor.extent):
        return False
    return more is not None and more.name == "addi" and a in more.operands and given.changed.least(b) >= 2


def _each(view: Operation, role: str, known: tuple[int | None, ...]) -> list[Value | int]:
    """Extents or strides, numbers and operands, axis by axis."""
    operands = iter(view.named.get(role, ()))
    return [next(operands) if word is None else word for word in known]


def _least(given: Given, known: Known, word: Value | int) -> int:
    return word if isinstance(word, int) else _at_least(given, known, word)


def _alike(given: Given, a: Value | int, b: Value | int) -> bool:
    if isinstance(a, int) or isinstance(b, int):
        return a == b
    made = [known.definitions.get(v.number) for known, v in ((given.known, a), (given.changed, b))]
    if a == b and given.at not in made:
        return True
    sources = [v if op is None or op.name != "assume" else op.operands[0] for v, op in zip((a, b), made, strict=True)]
    return sources[0] == sources[1] or given.changed.alike(sources[0], sources[1])


def _masked_when_negative(given: Given) -> bool:
    """A number of 32 bits that is negative is, as an index, beyond every extent either way, and every access that it is
    an index or a value of is masked by that comparison."""
    source = given.at.operands[0]
    if given.at.name not in {"exti", "itof"} or not isinstance(source.type, TileType) or source.type.element != "i32":
        return False
    extended = [op.results[0] for op in given.known.users.get(source.number, []) if op.name == "exti"]
    bounds = {
        op.results[0].number
        for value in extended
        for op in given.known.users.get(value.number, [])
        if op.name == "cmpi"
        and (op.word("predicate"), op.word("signedness")) == ("less_than", "unsigned")
        and op.one("lhs") == value
        and given.known.never_negative(op.one("rhs"))
    }
    return bool(bounds) and _only_masked(given.known, given.at.results[0], bounds)


def _only_masked(known: Known, value: Value, bounds: set[int]) -> bool:
    for op in known.users.get(value.number, []):
        if op.results and op.results[0].number in bounds:
            continue
        if TABLE[op.name].effect in ACCESSES:
            mask = op.optional("mask")
            if mask is None or not _implies(known, mask, bounds):
                return False
        elif (
            TABLE[op.name].kind is not Kind.ELEMENTWISE and op.name not in {"broadcast", "reshape"}
        ) or not _only_masked(known, op.results[0], bounds):
            return False
    return True


def _implies(known: Known, mask: Value, bounds: set[int]) -> bool:
    if mask.number in bounds:
        return True
    made = known.definitions.get(mask.number)
    passed = made is not None and made.name in {"andi", "broadcast", "reshape"}
    return passed and made is not None and any(_implies(known, operand, bounds) for operand in made.operands)


def _keeps_its_bits(given: Given) -> bool:
    """Numbers to i1: only whether they are 0 counts."""
    kind = given.at.results[0].type
    return given.at.name == "ftoi" and isinstance(kind, TileType) and kind.element == "i1"


ROWS = (
    Reason("other extents and strides that no tile shows: it begins at 0 and lies inside both", _SIZES, _same_elements),
    Reason("a negative index is beyond every extent, signed or not: the lane is masked", kinds("other sign"),
           _masked_when_negative),
    Reason("the sign of a truth value", kinds("other sign"), _keeps_its_bits),
)  # fmt: skip

"""Every operation of a kernel program, under its CUDA Tile IR name, with operands and attributes.

Operands of element-wise operations have identical types; scalars are rank-0 tiles. Attribute domains:
`rounding`: nearest_even zero negative_inf positive_inf nearest_away approx full; `ftz`, `propagate_nan`: bool;
`predicate`: equal not_equal less_than less_than_or_equal greater_than greater_than_or_equal;
`ordering`: ordered unordered; `memory_order`: weak relaxed acquire release acq_rel.
Signedness is the dtype's own. Missing attributes mean the default (nearest_even, no ftz, NaN dropped, weak).
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Effect(Enum):
    PURE = "pure"
    READ = "read"
    WRITE = "write"
    ATOMIC = "atomic"
    OTHER = "other"


class OperationInfo(Struct, frozen=True):
    """Operand names in order (`*` = the rest), attribute names, memory effect, and what it computes."""

    operands: tuple[str, ...]
    attributes: tuple[str, ...]
    effect: Effect
    meaning: str


def _op(operands: str, attributes: str, meaning: str, effect: Effect = Effect.PURE) -> OperationInfo:
    return OperationInfo(tuple(operands.split()), tuple(attributes.split()), effect, meaning)


_FLOAT_BINARY = ("rounding ftz", "rounded float arithmetic")
_HINTS = "latency allow_tma memory_order memory_scope"
_ELEMENTS = "linear bounds masked"
_MATH = "exp log log2 sin cos tan sinh cosh tanh floor ceil absf negf"

OPERATIONS: dict[str, OperationInfo] = {
    # ids, parameters, constants
    "block_id": _op("", "axis", "tile block index along axis 0..2, i32"),
    "tile_index": _op("", "axis", "index along axis of the tile that the mapped loop around it runs over, i32"),
    "num_blocks": _op("", "axis", "grid extent along axis, i32"),
    "constant": _op("", "value", "a tile filled with one int, bool or float (already rounded as Python does)"),
    "const_param": _op("", "name", "rank-0 i32/bool value of a constant parameter that stays symbolic"),
    "iota": _op("", "", "0, 1, .. along a rank-1 integer tile"),
    # arrays and views
    "extent": _op("array", "axis", "array.shape[axis], i32"),
    "make_view": _op("array", "", "partition view of the array; everything else is in the result's ViewType"),
    "num_tiles": _op("view", "axis", "number of tiles along the view's axis, i32"),
    "load_view": _op("view *index", _HINTS, "one tile", Effect.READ),
    "store_view": _op("view tile *index", _HINTS, "stores one tile, outside lanes skipped", Effect.WRITE),
    "slice": _op("array start stop", "axis", "the array's part from start to stop along an axis, as an array"),
    # views whose tiles may overlap (`ViewType.steps`) or take one axis from a tile of indices (`ViewType.sparse`)
    "load_special": _op("view *index", _HINTS, "one tile", Effect.READ),
    "store_special": _op("view tile *index", _HINTS, "outside lanes skipped", Effect.WRITE),
    "reduce_view": _op(
        "view tile *index",
        "mode memory_order memory_scope",
        "atomic update of a tile, outside lanes skipped",
        Effect.ATOMIC,
    ),
    # pointers (for dialects that start from them; `gather`/`scatter` lower to these)
    "base_pointer": _op("array", "", "rank-0 pointer tile to element 0"),
    "offset": _op("pointers offsets", "", "element offsets, i32 or i64"),
    "load_ptr": _op(
        "pointers mask padding", "latency memory_order memory_scope", "masked lanes give padding", Effect.READ
    ),
    "store_ptr": _op("pointers tile mask", "memory_order memory_scope", "masked lanes skipped", Effect.WRITE),
    # elements of an array: one index tile per axis, broadcast together; `linear` has one offset from element 0 instead.
    # `bounds` masks lanes outside the array (negative ones too), `masked` adds a bool tile as the last operand
    "stride": _op("array", "axis", "elements between neighbours along an axis, i32"),
    "gather": _op("array *index_padding_mask", _ELEMENTS + " latency padded", "masked lanes give padding", Effect.READ),
    "scatter": _op("array *index_value_mask", _ELEMENTS + " latency", "masked lanes skipped", Effect.WRITE),
    "atomic_rmw": _op(
        "array *index_value_mask",
        _ELEMENTS + " mode memory_order memory_scope",
        "the old values; mode add max min and or xor xchg",
        Effect.ATOMIC,
    ),
    "atomic_cas": _op(
        "array *index_expected_desired_mask",
        _ELEMENTS + " memory_order memory_scope",
        "the old values",
        Effect.ATOMIC,
    ),
    # shape
    "reshape": _op("x", "", "row-major, same number of elements"),
    "broadcast": _op("x", "", "same rank, extents 1 repeat"),
    "permute": _op("x", "axes", "result axis d is source axis axes[d]"),
    "insert": _op("x value *index", "", "x with a sub-tile replaced, by grid index"),
    "pack": _op("x", "", "rank 1, to bytes: u8"),
    "unpack": _op("x", "", "rank 1, from bytes: u8"),
    "cat": _op("a b", "axis", "concatenation of two tiles"),
    "extract": _op("x *index", "", "sub-tile by grid index"),
    "select": _op("condition a b", "", "lane by lane; condition is a bool tile of the same shape"),
    "assume_div_by": _op("x", "divisor", "x, which the author says is divisible"),
    # conversions
    "exti": _op("x", "", "wider integer, extended by the source's signedness; bool zero-extends"),
    "trunci": _op("x", "", "narrower integer, low bits"),
    "bitcast": _op("x", "", "same width"),
    "itof": _op("x", "", "integer or bool to float, nearest even"),
    "ftoi": _op("x", "", "float to integer (or bool), toward zero"),
    "ftof": _op("x", "rounding", "float to float"),
    # integers
    **{n: _op("a b", "", "wrapping") for n in ("addi", "subi", "muli", "shli")},
    "divi": _op("a b", "rounding", "rounding zero, negative_inf (Python //) or positive_inf (cdiv)"),
    "remi": _op("a b", "rounding", "remainder with the dividend's sign; rounding negative_inf: the divisor's"),
    "shri": _op("a b", "", "arithmetic or logical by dtype"),
    **{n: _op("a b", "", "bitwise, also bool") for n in ("andi", "ori", "xori")},
    **{n: _op("a b", "", "by dtype's signedness") for n in ("mini", "maxi")},
    "negi": _op("a", "", "wrapping"),
    "absi": _op("a", "", ""),
    "cmpi": _op("a b", "predicate", "bool; also for bool operands"),
    # floats
    **{n: _op("a b", *_FLOAT_BINARY) for n in ("addf", "subf", "mulf", "divf")},
    "remf": _op("a b", "", "C fmod"),
    "fma": _op("a b c", "rounding ftz", "a*b + c, one rounding"),
    "cmpf": _op("a b", "predicate ordering", "bool"),
    "minf": _op("a b", "propagate_nan ftz", ""),
    "maxf": _op("a b", "propagate_nan ftz", ""),
    "pow": _op("a b", "", ""),
    "atan2": _op("a b", "", ""),
    "sqrt": _op("a", "rounding ftz", ""),
    "rsqrt": _op("a", "ftz", ""),
    "exp2": _op("a", "ftz", ""),
    **{n: _op("a", "rounding", "") for n in _MATH.split()},
    # reductions and matrix
    "reduce": _op(
        "x",
        "axis function rounding ftz propagate_nan",
        "function sum, prod, min, max, and, or, xor; drops the axis, dtype kept; argmax, argmin: i32",
    ),
    "scan": _op(
        "x",
        "axis function reverse rounding ftz propagate_nan key element",
        "running function along the axis; with `key`, x has the bits of `element`s exclusive-or'ed with it",
    ),
    "mmaf": _op("a b acc", "fast_acc", "rank 2, or rank 3 batched, a @ b + acc"),
    "mmaf_scaled": _op("a b acc a_scale b_scale", "", "a @ b + acc of block-scaled operands, f32"),
    "mmai": _op("a b acc", "", "8-bit integers, i32 acc"),
    # debug
    "print": _op("*arguments", "format", "prints; `format` is C's, one directive an argument", Effect.OTHER),
    "assert": _op("condition", "message", "traps where false", Effect.OTHER),
}

"""The operations of CUDA Tile IR 13.1 to 13.5, as one table: operands, attributes, types, purity, memory effect.

Reader, printer, verifier, comparison and interpreter all go by it; an operation that is not here is an error, never a
guess. Roles: `name` one operand, `name?` at most one, `name*` any number. Words are the bare words an operation may
carry, by attribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from msgspec import Struct, field


class Effect(Enum):
    """What an operation does besides computing its results."""

    NONE = "none"
    ASSUME = "assume"
    ASSERT = "assert"
    TOKEN = "token"
    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    PRINT = "print"
    GRID = "grid"
    """Waits for, or lets start, another kernel's launch."""
    CONTROL = "control"
    UNSUPPORTED = "unsupported"
    """Readable, but given no meaning by the comparison or the interpreter."""


class Kind(Enum):
    """How the operation treats lanes."""

    ELEMENTWISE = "elementwise"
    """The same scalar function on every lane; shape operations move through it."""
    SHAPE = "shape"
    LEAF = "leaf"
    """Opaque to shape operations."""
    REGION = "region"
    OTHER = "other"


class Typing(Enum):
    """How the types of operands and results are printed after the colon."""

    RESULT = "result"
    """One type: that of every result."""
    ARROW = "arrow"
    """Operand types `->` result types."""
    OPERANDS = "operands"
    """Operand types; the result has the type of the operand `like`."""
    NONE = "none"
    """`-> type` without operand types."""


class Specification(Struct, frozen=True):
    """One row of the table."""

    name: str
    roles: tuple[str, ...]
    kind: Kind
    effect: Effect = Effect.NONE
    words: Mapping[str, str] = field(default_factory=dict)
    """Bare word -> attribute that it is the value of (`flush_to_zero` -> itself: a unit attribute)."""
    keys: frozenset[str] = frozenset()
    """Attributes written `key = value` or `key<value>`."""
    partial: bool = False
    """Undefined for some operands (division), so it must not be run where the program does not."""
    typing: Typing = Typing.RESULT
    like: str = ""
    """The role that the result has the type of, for `Typing.OPERANDS`."""


def _words(**attributes: str) -> Mapping[str, str]:
    return {word: attribute for attribute, words in attributes.items() for word in words.split()}


SIGN = _words(signedness="signed unsigned")
FTZ = {"flush_to_zero": "flush_to_zero"}
NAN = {"propagate_nan": "propagate_nan"}
PREDICATES = "equal not_equal less_than less_than_or_equal greater_than greater_than_or_equal"
ORDER = _words(memory_ordering="weak relaxed acquire release acq_rel", memory_scope="tl_blk device sys system")
MODES = _words(mode="and or xor add addf max min umax umin xchg")
REDUCTIONS = _words(reduction="and or xor add max min umax umin")
ROUNDING = frozenset({"rounding"})
OVERFLOW = frozenset({"overflow"})
HINTS = frozenset({"optimization_hints", "token", "inbounds"})
NO_MEANING = frozenset({"optimization_hints"})
"""Attributes that change no result."""


def _rows() -> tuple[Specification, ...]:
    S, K, E, T = Specification, Kind, Effect, Typing
    unary, binary, ternary = ("source",), ("lhs", "rhs"), ("lhs", "rhs", "acc")
    each = K.ELEMENTWISE
    access = ("index*", "token?")
    return (
        # floats
        *(S(n, binary, each, words=FTZ, keys=ROUNDING) for n in ("addf", "subf", "mulf", "divf")),
        S("fma", ternary, each, words=FTZ, keys=ROUNDING),
        *(S(n, unary, each, words=FTZ, keys=ROUNDING) for n in ("exp", "exp2", "sqrt", "rsqrt", "tanh")),
        *(
            S(n, unary, each)
            for n in ("absf", "negf", "ceil", "floor", "log", "log2", "sin", "cos", "tan", "sinh", "cosh")
        ),
        *(S(n, binary, each) for n in ("atan2", "fpowf", "pow", "remf")),
        S("fpowi", binary, each, typing=T.OPERANDS, like="lhs"),
        *(S(n, binary, each, words={**NAN, **FTZ}) for n in ("maxf", "minf")),
        S(
            "cmpf",
            binary,
            each,
            words=_words(predicate=PREDICATES, ordering="ordered unordered"),
            typing=T.ARROW,
        ),
        # integers
        *(S(n, binary, each, keys=OVERFLOW) for n in ("addi", "subi", "muli", "shli")),
        S("divi", binary, each, words=SIGN, keys=ROUNDING, partial=True),
        S("remi", binary, each, words=SIGN, partial=True),
        *(S(n, binary, each, words=SIGN) for n in ("maxi", "mini", "shri")),
        *(S(n, binary, each) for n in ("andi", "ori", "xori", "mulhii")),
        S("negi", unary, each, keys=OVERFLOW),
        S("absi", unary, each),
        S("cmpi", binary, each, words={**_words(predicate=PREDICATES), **SIGN}, typing=T.ARROW),
        S("select", ("condition", "lhs", "rhs"), each, typing=T.OPERANDS, like="lhs"),
        # conversions
        S("bitcast", unary, each, typing=T.ARROW),
        S("exti", unary, each, words=SIGN, typing=T.ARROW),
        S(
            "trunci",
            unary,
            each,
            keys=OVERFLOW,
            words=_words(overflow="no_unsigned_wrap no_signed_wrap no_wrap"),
            typing=T.ARROW,
        ),
        S("ftof", unary, each, keys=ROUNDING, words=FTZ, typing=T.ARROW),
        S("ftoi", unary, each, words={**SIGN, "saturating": "saturating"}, keys=ROUNDING, typing=T.ARROW),
        S("itof", unary, each, words=SIGN, keys=ROUNDING, typing=T.ARROW),
        *(S(n, unary, each, typing=T.ARROW) for n in ("int_to_ptr", "ptr_to_int", "ptr_to_ptr")),
        S("offset", ("pointer", "offset"), each, typing=T.ARROW),
        # shapes
        S("constant", (), K.OTHER),
        S("iota", (), K.LEAF),
        *(S(n, unary, K.SHAPE, typing=T.ARROW) for n in ("reshape", "broadcast", "permute")),
        S("cat", binary, K.LEAF, keys=frozenset({"dim"}), typing=T.ARROW),
        S("extract", ("source", "index*"), K.LEAF, typing=T.ARROW),
        S("insert", ("source", "dest", "index*"), K.LEAF, typing=T.OPERANDS, like="dest"),
        *(S(n, unary, K.LEAF, typing=T.ARROW) for n in ("pack", "unpack")),
        S("mmaf", ternary, K.LEAF, words={**FTZ, "fast_acc": "fast_acc"}, typing=T.OPERANDS, like="acc"),
        S("mmai", ternary, K.LEAF, words=SIGN, typing=T.OPERANDS, like="acc"),
        S(
            "mmaf_scaled",
            (*ternary, "lhs_scale", "rhs_scale"),
            K.LEAF,
            words=FTZ,
            typing=T.OPERANDS,
            like="acc",
        ),
        # the grid, views
        S("get_tile_block_id", (), K.OTHER),
        S("get_num_tile_blocks", (), K.OTHER),
        S("assume", unary, K.OTHER, E.ASSUME, keys=frozenset({"bounded", "div_by", "same_elements"})),
        S(
            "make_tensor_view",
            ("base", "shape*", "strides*"),
            K.OTHER,
            keys=frozenset({"shape", "strides"}),
            typing=T.ARROW,
        ),
        *(S(n, ("view",), K.OTHER) for n in ("make_partition_view", "make_strided_view", "make_gather_scatter_view")),
        *(S(n, ("view",), K.OTHER, typing=T.ARROW) for n in ("get_index_space_shape", "get_tensor_shape")),
        S("get_global", (), K.OTHER, E.UNSUPPORTED),
        # memory
        S("make_token", (), K.OTHER, E.TOKEN),
        S("join_tokens", ("token*",), K.OTHER, E.TOKEN),
        S("load_view_tko", ("view", *access), K.OTHER, E.LOAD, ORDER, HINTS, typing=T.ARROW),
        S("store_view_tko", ("value", "view", *access), K.OTHER, E.STORE, ORDER, HINTS, typing=T.ARROW),
        S(
            "load_ptr_tko",
            ("pointer", "mask?", "padding?", "token?"),
            K.OTHER,
            E.LOAD,
            ORDER,
            HINTS,
            typing=T.ARROW,
        ),
        S("store_ptr_tko", ("pointer", "value", "mask?", "token?"), K.OTHER, E.STORE, ORDER, HINTS, typing=T.ARROW),
        S(
            "atomic_rmw_tko",
            ("pointer", "value", "mask?", "token?"),
            K.OTHER,
            E.ATOMIC,
            {**ORDER, **MODES},
            HINTS,
            typing=T.ARROW,
        ),
        S(
            "atomic_cas_tko",
            ("pointer", "expected", "desired", "mask?", "token?"),
            K.OTHER,
            E.ATOMIC,
            ORDER,
            HINTS,
            typing=T.ARROW,
        ),
        S(
            "atomic_red_view_tko",
            ("view", "index*", "value", "token?"),
            K.OTHER,
            E.ATOMIC,
            {**ORDER, **MODES},
            HINTS,
            typing=T.ARROW,
        ),
        S("multimem_load_reduce_view_tko", ("view", *access), K.OTHER, E.UNSUPPORTED, {**ORDER, **REDUCTIONS}, HINTS),
        *(
            S(n, ("value", "view", *access), K.OTHER, E.UNSUPPORTED, {**ORDER, **REDUCTIONS}, HINTS)
            for n in ("multimem_reduce_view_tko", "multimem_store_view_tko")
        ),
        S("print_tko", ("arguments*", "token?"), K.OTHER, E.PRINT, keys=HINTS, typing=T.ARROW),
        *(
            S(n, ("token?",), K.OTHER, E.GRID, keys=HINTS, typing=T.NONE)
            for n in ("gdc_launch_dependents_tko", "gdc_wait_tko")
        ),
        S("memory_fence_alias_tko", ("token?",), K.OTHER, E.UNSUPPORTED, keys=HINTS, typing=T.NONE),
        S("alloca", (), K.OTHER, E.UNSUPPORTED),
        S("assert", ("condition",), K.OTHER, E.ASSERT, typing=T.OPERANDS),
        # regions
        S("reduce", ("operands*",), K.REGION, keys=frozenset({"dim", "identities"}), typing=T.ARROW),
        S("scan", ("operands*",), K.REGION, keys=frozenset({"dim", "identities", "reverse"}), typing=T.ARROW),
        S("for", ("lower", "upper", "step", "initial*"), K.REGION, E.CONTROL, words={"unsigned": "unsigned"}),
        S("loop", ("initial*",), K.REGION, E.CONTROL),
        S("if", ("condition",), K.REGION, E.CONTROL),
        *(S(n, ("values*",), K.OTHER, E.CONTROL, typing=T.OPERANDS) for n in ("yield", "continue", "break", "return")),
    )


TABLE: Mapping[str, Specification] = MappingProxyType({row.name: row for row in _rows()})
TERMINATORS = frozenset({"yield", "continue", "break", "return"})

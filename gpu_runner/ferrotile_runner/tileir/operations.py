"""The operations of CUDA Tile IR, as one table: operands, attributes, purity, memory effect.

Reader, printer, comparison and interpreter all go by it; an operation that is not here is an error, never a guess.
Roles: `name` one operand, `name?` at most one, `name*` any number. Words are the bare words an operation may
carry, by attribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType


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


@dataclass(frozen=True, slots=True)
class Specification:
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


def _words(**attributes: str) -> Mapping[str, str]:
    return {word: attribute for attribute, words in attributes.items() for word in words.split()}


SIGN = _words(signedness="signed unsigned")
FTZ = {"flush_to_zero": "flush_to_zero"}
NAN = {"propagate_nan": "propagate_nan"}
PREDICATES = "equal not_equal less_than less_than_or_equal greater_than greater_than_or_equal"
ORDER = _words(memory_ordering="weak relaxed acquire release acq_rel", memory_scope="tl_blk device sys system")
MODES = _words(mode="and or xor add addf max min umax umin xchg")
ROUNDING = frozenset({"rounding"})
OVERFLOW = frozenset({"overflow"})
HINTS = frozenset({"optimization_hints", "token", "inbounds"})


def _rows() -> tuple[Specification, ...]:
    S, K, E = Specification, Kind, Effect
    unary, binary, ternary = ("source",), ("lhs", "rhs"), ("lhs", "rhs", "acc")
    each = K.ELEMENTWISE
    return (
        # floats
        *(S(n, binary, each, words=FTZ, keys=ROUNDING) for n in ("addf", "subf", "mulf", "divf")),
        S("fma", ternary, each, words=FTZ, keys=ROUNDING),
        *(S(n, unary, each, words=FTZ, keys=ROUNDING) for n in ("exp", "exp2", "sqrt", "rsqrt", "tanh")),
        *(
            S(n, unary, each)
            for n in ("absf", "negf", "ceil", "floor", "log", "log2", "sin", "cos", "tan", "sinh", "cosh")
        ),
        *(S(n, binary, each) for n in ("atan2", "fpowf", "fpowi", "pow", "remf")),
        *(S(n, binary, each, words={**NAN, **FTZ}) for n in ("maxf", "minf")),
        S("cmpf", binary, each, words=_words(predicate=PREDICATES, ordering="ordered unordered")),
        # integers
        *(S(n, binary, each, keys=OVERFLOW) for n in ("addi", "subi", "muli", "shli")),
        S("divi", binary, each, words=SIGN, keys=ROUNDING, partial=True),
        S("remi", binary, each, words=SIGN, partial=True),
        *(S(n, binary, each, words=SIGN) for n in ("maxi", "mini", "shri")),
        *(S(n, binary, each) for n in ("andi", "ori", "xori", "mulhii")),
        S("negi", unary, each, keys=OVERFLOW),
        S("absi", unary, each),
        S("cmpi", binary, each, words={**_words(predicate=PREDICATES), **SIGN}),
        S("select", ("condition", "lhs", "rhs"), each),
        # conversions
        S("bitcast", unary, each),
        S("exti", unary, each, words=SIGN),
        S("trunci", unary, each, keys=OVERFLOW, words=_words(overflow="no_unsigned_wrap no_signed_wrap no_wrap")),
        S("ftof", unary, each, keys=ROUNDING, words=FTZ),
        S("ftoi", unary, each, words=SIGN, keys=ROUNDING),
        S("itof", unary, each, words=SIGN, keys=ROUNDING),
        *(S(n, unary, each) for n in ("int_to_ptr", "ptr_to_int", "ptr_to_ptr")),
        S("offset", ("pointer", "offset"), each),
        # shapes
        S("constant", (), K.OTHER),
        S("iota", (), K.LEAF),
        S("reshape", unary, K.SHAPE),
        S("broadcast", unary, K.SHAPE),
        S("permute", unary, K.SHAPE),
        S("cat", binary, K.LEAF, keys=frozenset({"dim"})),
        S("extract", ("source", "index*"), K.LEAF),
        S("insert", ("source", "dest", "index*"), K.LEAF, E.UNSUPPORTED),
        *(S(n, unary, K.LEAF) for n in ("pack", "unpack")),
        S("mmaf", ternary, K.LEAF, words=FTZ),
        S("mmai", ternary, K.LEAF, words=_words(signedness="signed unsigned")),
        S("mmaf_scaled", (*ternary, "lhs_scale", "rhs_scale"), K.LEAF, words=FTZ),
        # the grid, views
        S("get_tile_block_id", (), K.OTHER),
        S("get_num_tile_blocks", (), K.OTHER),
        S("assume", unary, K.OTHER, E.ASSUME, keys=frozenset({"bounded", "div_by", "same_elements"})),
        S("make_tensor_view", ("base", "shape*", "strides*"), K.OTHER, keys=frozenset({"shape", "strides"})),
        *(
            S(n, ("view",), K.OTHER)
            for n in (
                "make_partition_view",
                "make_strided_view",
                "make_gather_scatter_view",
                "get_index_space_shape",
                "get_tensor_shape",
            )
        ),
        S("get_global", (), K.OTHER, E.UNSUPPORTED),
        # memory
        S("make_token", (), K.OTHER, E.TOKEN),
        S("join_tokens", ("token*",), K.OTHER, E.TOKEN),
        S("load_view_tko", ("view", "index*", "token?"), K.OTHER, E.LOAD, ORDER, HINTS),
        S("store_view_tko", ("value", "view", "index*", "token?"), K.OTHER, E.STORE, ORDER, HINTS),
        S("load_ptr_tko", ("pointer", "mask?", "padding?", "token?"), K.OTHER, E.LOAD, ORDER, HINTS),
        S("store_ptr_tko", ("pointer", "value", "mask?", "token?"), K.OTHER, E.STORE, ORDER, HINTS),
        S("atomic_rmw_tko", ("pointer", "value", "mask?", "token?"), K.OTHER, E.ATOMIC, {**ORDER, **MODES}, HINTS),
        S("atomic_cas_tko", ("pointer", "expected", "desired", "mask?", "token?"), K.OTHER, E.ATOMIC, ORDER, HINTS),
        S(
            "atomic_red_view_tko",
            ("value", "view", "index*", "token?"),
            K.OTHER,
            E.UNSUPPORTED,
            {**ORDER, **MODES},
            HINTS,
        ),
        S("print_tko", ("arguments*", "token?"), K.OTHER, E.PRINT, keys=HINTS),
        *(
            S(n, ("token?",), K.OTHER, E.UNSUPPORTED, keys=HINTS)
            for n in ("memory_fence_alias_tko", "gdc_launch_dependents_tko", "gdc_wait_tko")
        ),
        S("alloca", (), K.OTHER, E.UNSUPPORTED),
        S("assert", ("condition",), K.OTHER, E.ASSERT),
        # regions
        S("reduce", ("operands*",), K.REGION, keys=frozenset({"dim", "identities"})),
        S("scan", ("operands*",), K.REGION, keys=frozenset({"dim", "identities", "reverse"})),
        S("for", ("lower", "upper", "step", "initial*"), K.REGION, E.CONTROL, words={"unsigned": "unsigned"}),
        S("loop", ("initial*",), K.REGION, E.CONTROL),
        S("if", ("condition",), K.REGION, E.CONTROL),
        *(S(n, ("values*",), K.OTHER, E.CONTROL) for n in ("yield", "continue", "break", "return")),
    )


TABLE: Mapping[str, Specification] = MappingProxyType({row.name: row for row in _rows()})
TERMINATORS = frozenset({"yield", "continue", "break", "return"})

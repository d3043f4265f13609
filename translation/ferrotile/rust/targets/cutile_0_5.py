"""cutile 0.5: how each operation of a kernel program is written, and what this version cannot say."""

from __future__ import annotations

from types import MappingProxyType

OPERATORS = MappingProxyType(
    {
        "addi": ("+", 9), "subi": ("-", 9), "muli": ("*", 10), "addf": ("+", 9), "subf": ("-", 9), "mulf": ("*", 10),
        "divf": ("/", 10), "remf": ("%", 10), "remi": ("%", 10), "shli": ("<<", 8), "shri": (">>", 8),
        "andi": ("&", 7), "xori": ("^", 6), "ori": ("|", 5),
    }
)  # fmt: skip
"""Opcode -> operator and Rust precedence."""

NAMED = MappingProxyType(
    {name: name for name in ["addf", "subf", "mulf", "divf", "remf", "remi", "shri", "andi", "xori", "ori"]}
)
"""Opcode -> function, where the operator does not fit (rounding, 16-bit integers)."""

_PLAIN = "exp log log2 sin cos tan sinh cosh tanh floor ceil absf negf absi pow atan2".split()  # noqa: SIM905

FUNCTIONS = MappingProxyType(
    {
        **{n: (n, ()) for n in _PLAIN},
        "exp2": ("exp2", ("ftz",)),
        "rsqrt": ("rsqrt", ("ftz",)),
        "sqrt": ("sqrt", ("rounding", "ftz")),
        "fma": ("fma", ("rounding", "ftz")),
        "negi": ("negi", ("overflow",)),
        "mini": ("mini", ()),
        "maxi": ("maxi", ()),
        "minf": ("minf", ("nan", "ftz")),
        "maxf": ("maxf", ("nan", "ftz")),
    }
)  # fmt: skip
"""Opcode -> function and the modes it takes after its operands."""

ROUNDING = MappingProxyType(
    {
        "nearest_even": "NearestEven", "zero": "Zero", "negative_inf": "NegativeInf", "positive_inf": "PositiveInf",
        "approx": "Approx", "nearest_away": "NearestAway",
    }
)  # fmt: skip

COMPARE_TILE = MappingProxyType(
    {
        "equal": "eq_tile", "not_equal": "ne_tile", "less_than": "lt_tile", "less_than_or_equal": "le_tile",
        "greater_than": "gt_tile", "greater_than_or_equal": "ge_tile",
    }
)  # fmt: skip
COMPARE_SCALAR = MappingProxyType(
    {
        "equal": "==", "not_equal": "!=", "less_than": "<", "less_than_or_equal": "<=", "greater_than": ">",
        "greater_than_or_equal": ">=",
    }
)  # fmt: skip
INVERSE = MappingProxyType({"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"})
PREDICATE = MappingProxyType({p: "".join(w.capitalize() for w in p.split("_")) for p in COMPARE_TILE})

PADDING = MappingProxyType(
    {"zero": "Zero", "neg_zero": "NegZero", "nan": "Nan", "pos_inf": "PosInf", "neg_inf": "NegInf"}
)

APPROXIMATE = frozenset(["exp", "tanh"])
"""Functions whose approximate form is declared in the module: cutile's own is unsafe for other types' sake."""

UNTYPED_TILES = frozenset(
    [
        "reduce", "scan", "insert", "pack", "unpack", "mmaf_scaled", "exti", "trunci", "bitcast", "iota", "permute",
        "cat", "extract", "constant", "itof", "ftof", "ftoi",
    ]
)  # fmt: skip
"""Operations whose result rustc or the JIT cannot type from the operands: their locals say the type."""
UNTYPED_SCALARS = frozenset(["constant", "itof", "ftof", "ftoi", "num_tiles"])
"""The same of scalars: a literal, `convert_scalar::<T>(x)`, whose type argument the JIT does not look at, and
`num_tiles(&p, 0)` as the receiver of a method."""

REDUCIBLE = frozenset(["f16", "bf16", "f32", "f64", "i32", "i64", "u32", "u64"])
WIDE_INTEGERS = frozenset(["i8", "u8", "i32", "u32", "i64", "u64"])
"""Integers whose operators exist; 16-bit ones have functions only."""

ORDERING = MappingProxyType(
    {"weak": "Weak", "relaxed": "Relaxed", "acquire": "Acquire", "release": "Release", "acq_rel": "AcqRel"}
)
SCOPE = MappingProxyType(
    {"block": "TileBlock", "tile_block": "TileBlock", "device": "Device", "sys": "System", "system": "System"}
)

ENTRY_HINTS = MappingProxyType(
    {"occupancy": "occupancy", "num_ctas": "num_cta_in_cga", "num_worker_warps": "num_worker_warps_per_cta"}
)
"""Hints of `@ct.kernel` and their keys in the entry's attribute."""
ZEROS = frozenset(("f16", "bf16", "f32", "f64", "f8e4m3fn", "f8e5m2", "i32", "i64", "u32", "u64"))
"""Element types whose `ZERO` the JIT takes in `constant(E::ZERO, ..)`."""
OPT_LEVEL = 3
"""The optimisation level that both languages compile with unless told otherwise."""
WORKER_WARPS = frozenset((4, 8))
"""The numbers of worker warps that the assembler of 13.4 knows."""

WISHES = MappingProxyType(
    {
        "block_id": "bid", "iota": "lanes", "load_view": "t", "load_ptr": "t", "cmpi": "inside", "cmpf": "inside",
        "constant": "fill", "select": "t", "mmaf": "acc", "mmai": "acc", "fma": "r", "offset": "at",
        "base_pointer": "base", "gather": "t", "atomic_rmw": "old", "atomic_cas": "old", "slice": "part",
    }
)  # fmt: skip
"""Names for values that the author did not name."""

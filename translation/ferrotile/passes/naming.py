"""Rust names: what is reserved, and a free spelling for each wish."""

from __future__ import annotations

from collections.abc import Container

KEYWORDS = frozenset(
    [
        "abstract",
        "as",
        "async",
        "await",
        "become",
        "box",
        "break",
        "const",
        "continue",
        "crate",
        "do",
        "dyn",
        "else",
        "enum",
        "extern",
        "false",
        "final",
        "fn",
        "for",
        "gen",
        "if",
        "impl",
        "in",
        "let",
        "loop",
        "macro",
        "match",
        "mod",
        "move",
        "mut",
        "override",
        "priv",
        "pub",
        "ref",
        "return",
        "self",
        "Self",
        "static",
        "struct",
        "super",
        "trait",
        "true",
        "try",
        "type",
        "typeof",
        "unsafe",
        "unsized",
        "use",
        "virtual",
        "where",
        "while",
        "yield",
    ]
)
CORE = frozenset(
    [
        "absf",
        "absi",
        "addf",
        "addi",
        "addptr",
        "andi",
        "atan2",
        "bitcast",
        "broadcast",
        "broadcast_scalar",
        "cat",
        "ceil",
        "ceil_div",
        "cmpf",
        "cmpi",
        "constant",
        "convert_scalar",
        "convert_tile",
        "cos",
        "cosh",
        "divf",
        "divi",
        "eq_tile",
        "exp",
        "exp2",
        "extract",
        "exti",
        "floor",
        "fma",
        "ftof",
        "ftoi",
        "ge_tile",
        "get_num_tile_blocks",
        "get_tile_block_id",
        "gt_tile",
        "insert",
        "iota",
        "itof",
        "join_tokens",
        "le_tile",
        "load_view_raw",
        "load_view_tko",
        "log",
        "log2",
        "lt_tile",
        "make_partition_view",
        "make_partition_view_mut",
        "max",
        "max_tile",
        "maxf",
        "maxi",
        "min",
        "min_tile",
        "minf",
        "mini",
        "mma",
        "mmaf",
        "mmai",
        "mulf",
        "muli",
        "mulhii",
        "ne_tile",
        "negf",
        "negi",
        "num_programs",
        "num_tiles",
        "ori",
        "pack",
        "partition",
        "permute",
        "pointer_to_tile",
        "pow",
        "program_id",
        "reduce",
        "reduce_max",
        "reduce_min",
        "reduce_prod",
        "reduce_sum",
        "remf",
        "remi",
        "reshape",
        "rsqrt",
        "scalar_to_tile",
        "scan",
        "scan_sum",
        "select",
        "shli",
        "shri",
        "sin",
        "sinh",
        "sqrt",
        "store_view_raw",
        "store_view_tko_mut",
        "subf",
        "subi",
        "tan",
        "tanh",
        "tile_to_scalar",
        "transpose",
        "true_div",
        "trunci",
        "unpack",
        "xori",
        "ftz",
        "rounding",
        "padding",
        "tma",
        "scope",
        "ordering",
        "predicate",
        "cmp_ordering",
        "nan",
        "dim_map",
        "shape",
        "overflow",
        "signedness",
        "core",
        "cutile",
        "f16",
        "bf16",
        "f32",
        "f64",
        "i8",
        "i16",
        "i32",
        "i64",
        "u8",
        "u16",
        "u32",
        "u64",
        "bool",
    ]
)


def local(wish: str, taken: Container[str]) -> str:
    """A name for a local: the wish, or the wish with a number. Core operations stay callable."""
    base = wish.strip("_") or "t"
    base = base if base.isidentifier() and base.isascii() else "t"
    if base[0].isupper() and base not in taken:
        base = base.lower()
    if base in KEYWORDS or base in CORE:
        base += "_"
    name, number = base, 2
    while name in taken or name in KEYWORDS:
        name = f"{base.rstrip('_')}{number}"
        number += 1
    return name


_PRELUDE = frozenset(["Some", "None", "Ok", "Err"])
_TYPES = frozenset(["Some", "None", "Ok", "Err", "Option", "Result", "Vec", "Box", "String", "Self", "Drop"])
"""Names of the prelude that the code around an entry uses, so that no type may be called like them."""


def array(wish: str) -> str:
    """The name of an array parameter: the author's, unless it is a word of Rust."""
    return f"{wish}_" if wish in KEYWORDS or wish in _PRELUDE else wish


def constant(wish: str) -> str:
    """The name of a constant parameter. `E` is what the core's own functions call their element type, and the JIT
    confuses the two."""
    return f"{wish}_" if wish in KEYWORDS or wish in _PRELUDE or wish in CORE or wish == "E" else wish


def item(wish: str, taken: Container[str] = ()) -> str:
    """A name for an entry or module: never one of a core operation, of a parameter in `taken`, or one whose launcher,
    a type of the same name in camel case, would hide a type of the prelude."""
    name = wish if wish.isascii() else "kernel"
    launcher = "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    return f"{name}_kernel" if name in KEYWORDS or name in CORE or launcher in _TYPES or name in taken else name

"""Rust names: what is reserved, and a free spelling for each wish."""

from __future__ import annotations

from collections.abc import Container

KEYWORDS = frozenset(
    """abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen
    if impl in let loop macro match mod move mut override priv pub ref return self Self static struct super trait
    true try type typeof unsafe unsized use virtual where while yield""".split()
)
CORE = frozenset(
    """absf absi addf addi addptr andi atan2 bitcast broadcast broadcast_scalar cat ceil ceil_div cmpf cmpi constant
    convert_scalar convert_tile cos cosh divf divi eq_tile exp exp2 extract exti floor fma ftof ftoi ge_tile
    get_num_tile_blocks get_tile_block_id gt_tile insert iota itof join_tokens le_tile load_view_raw load_view_tko log
    log2 lt_tile make_partition_view make_partition_view_mut max max_tile maxf maxi min min_tile minf mini mma mmaf
    mmai mulf muli mulhii ne_tile negf negi num_programs num_tiles ori pack partition permute pointer_to_tile pow
    program_id reduce reduce_max reduce_min reduce_prod reduce_sum remf remi reshape rsqrt scalar_to_tile scan scan_sum
    select shli shri sin sinh sqrt store_view_raw store_view_tko_mut subf subi tan tanh tile_to_scalar transpose
    true_div trunci unpack xori ftz rounding padding tma scope ordering predicate cmp_ordering nan dim_map shape
    overflow signedness core cutile f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool""".split()
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


def item(wish: str) -> str:
    """A name for an entry or module: never one of a core operation."""
    name = wish if wish.isascii() else "kernel"
    return f"{name}_kernel" if name in KEYWORDS or name in CORE else name

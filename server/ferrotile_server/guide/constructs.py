"""How each construct of cuTile Python is written in cuTile Rust. Every right side compiles: a test has the real
compilers check it, in the module of `snippet.py`; expressions are proved to be the Python's."""

from __future__ import annotations

from msgspec import Struct


class Construct(Struct, frozen=True):
    """Statements in both languages, about the values of `snippet.NAMES`."""

    python: str
    rust: str


CONSTRUCTS = (
    Construct("ct.bid(0), ct.num_blocks(0)", "let b = program_id(0);\nlet g = num_programs(0);"),
    Construct(
        "ct.load(a, (n, 0), shape=(16, 32))",
        "let p = a.partition(shape![16, 32]);\nlet r = p.load([n, 0i32]);",
    ),
    Construct("ct.num_tiles(a, 1, (16, 32))", "let p = a.partition(shape![16, 32]);\nlet r = num_tiles(&p, 1);"),
    Construct(
        "ct.load(.., padding_mode=NEG_INF)",
        "let p: Partition<f32, { [16, 32] }> =\n"
        "    unsafe { make_partition_view(a, shape![16, 32], padding::NegInf, dim_map::Identity, a.token()) };\n"
        "let r = p.load([n, 0i32]);",
    ),
    Construct(
        "ct.load(a, (0, n), shape=(16, 32), order=(1, 0))",
        "let p = a.partition_permuted(shape![16, 32], const_array![1, 0]);\nlet r = p.load([0i32, n]);",
    ),
    Construct(
        "ct.store(a, (n, 0), x)",
        "let mut p = unsafe { a.partition_full_mut(shape![16, 32]) };\np.store(x, [n, 0i32]);",
    ),
    Construct("a.shape[0]", "let r = a.shape()[0];"),
    Construct("ct.full((16, 32), 2.0, ct.float32)", "let r: Tile<f32, { [16, 32] }> = constant(2.0, shape![16, 32]);"),
    Construct("ct.full((16, 32), s, ct.float32)", "let r = s.broadcast(shape![16, 32]);"),
    Construct(
        "-math.inf",
        "let r: Tile<f32, { [16, 32] }> = constant(f32::NEG_INFINITY, shape![16, 32]);",
    ),
    Construct("ct.arange(32, dtype=ct.int32)", "let r: Tile<i32, { [32] }> = iota(shape![32]);"),
    Construct("x + 2.0", "let r = x + constant(2.0, shape![16, 32]);"),
    Construct("x * s", "let r = x * s.broadcast(shape![16, 32]);"),
    Construct("x / y", "let r = x / y;"),
    Construct("-x, -i", "let r = negf(x);\nlet j = negi(i, overflow::None);"),
    Construct("~i, ~m", "let r = i ^ constant(-1, shape![16, 32]);\nlet f = m ^ constant(true, shape![16, 32]);"),
    Construct("x < y, x == y", "let r = lt_tile(x, y);\nlet e = eq_tile(x, y);"),
    Construct("x != y (floats)", "let r = cmpf(x, y, predicate::NotEqual, cmp_ordering::Unordered);"),
    Construct("i // k", "let r = divi(i, k, rounding::NegativeInf);"),
    Construct(
        "i % k",
        "let zero: Tile<i32, { [16, 32] }> = constant(0, shape![16, 32]);\n"
        "let t = i % k;\n"
        "let other = lt_tile(t, zero) ^ lt_tile(k, zero);\n"
        "let r = select(other & ne_tile(t, zero), t + k, t);",
    ),
    Construct("ct.cdiv(n, q)", "let r = ceil_div(n, q);"),
    Construct(
        "n // q (scalars)",
        "let c: Tile<i32, { [] }> = scalar_to_tile(n);\n"
        "let d: Tile<i32, { [] }> = scalar_to_tile(q);\n"
        "let r: i32 = tile_to_scalar(divi(c, d, rounding::NegativeInf));",
    ),
    Construct("ct.where(m, x, y)", "let r = select(m, x, y);"),
    Construct("ct.maximum(x, y), min(n, q)", "let r = max_tile(x, y);\nlet l = min(n, q);"),
    Construct(
        "ct.exp(x), ct.exp2(x), ct.sqrt(x), ct.rsqrt(x)",
        "let r = exp(x);\n"
        "let p = exp2(x, ftz::Disabled);\n"
        "let d = sqrt(x, rounding::NearestEven, ftz::Disabled);\n"
        "let e = rsqrt(x, ftz::Disabled);",
    ),
    Construct("ct.abs(x), ct.floor(x), ct.tanh(x)", "let r = absf(x);\nlet f = floor(x);\nlet t = tanh(x);"),
    Construct(
        "math of a scalar: ct.exp(s)",
        "let t: Tile<f32, { [] }> = scalar_to_tile(s);\nlet r: f32 = tile_to_scalar(exp(t));",
    ),
    Construct("fma, in one rounding", "let r = fma(x, y, x, rounding::NearestEven, ftz::Disabled);"),
    Construct("x.astype(ct.float16)", "let r: Tile<f16, { [16, 32] }> = convert_tile(x);"),
    Construct("x.astype(ct.int32)", "let r: Tile<i32, { [16, 32] }> = convert_tile(x);"),
    Construct("i.astype(ct.int64)", "let r: Tile<i64, { [16, 32] }> = exti(i);"),
    Construct("the bits of i as uint32", "let r: Tile<u32, { [16, 32] }> = bitcast(i);"),
    Construct("float(n) (scalar)", "let r: f32 = convert_scalar::<f32>(n);"),
    Construct(
        "ct.sum(x, axis=1, keepdims=True)",
        "let r: Tile<f32, { [16] }> = reduce_sum(x, 1);\nlet r = r.reshape(shape![16, 1]);",
    ),
    Construct("ct.max(x, axis=0)", "let r: Tile<f32, { [32] }> = reduce_max(x, 0);"),
    Construct("w[:, None] broadcast to x", "let r = x + w.reshape(shape![16, 1]).broadcast(shape![16, 32]);"),
    Construct("ct.transpose(x), ct.reshape", "let r = x.transpose();\nlet f = x.reshape(shape![512]);"),
    Construct(
        "ct.permute(x, (1, 0))",
        "let r: Tile<f32, { [32, 16] }> = permute(x, const_array![1, 0]);",
    ),
    Construct("ct.cat((x, y), axis=1)", "let r: Tile<f32, { [16, 64] }> = cat(x, y, 1);"),
    Construct(
        "ct.cumsum(x, axis=0)",
        "let r: Tile<f32, { [16, 32] }> = scan_sum(x, 0i32, reverse::Forward, 0.0f32);",
    ),
    Construct(
        "ct.mma(h, ct.transpose(h), acc)",
        "let c: Tile<f32, { [16, 16] }> = constant(0.0, shape![16, 16]);\nlet r = mma(h, h.transpose(), c);",
    ),
    Construct("a, b = b, a", "let mut c = x;\nlet mut d = y;\nlet t = c;\nc = d;\nd = t;"),
    Construct(
        "for t in range(0, n, 2): acc += x",
        "let mut acc: Tile<f32, { [16, 32] }> = constant(0.0, shape![16, 32]);\n"
        "for _t in (0..n).step_by(2) {\n    acc = acc + x;\n}",
    ),
    Construct(
        "while c < n, break",
        "let mut c = 0i32;\nloop {\n    if c >= n {\n        break;\n    }\n    c = c + 1;\n}",
    ),
    Construct("if n > 0: ... else: ...", "let r = if n > 0 { x } else { y };"),
    Construct(
        "two results of an if",
        "let mut c = x;\nlet mut d = y;\nif n > 0 {\n    c = y;\n    d = x;\n}",
    ),
    Construct(
        "ct.gather(v, ct.arange(16, dtype=ct.int32))",
        "let e: Tile<i32, { [16] }> = iota(shape![16]);\n"
        "let b = pointer_to_tile(v.as_ptr()).reshape(shape![1]);\n"
        "let p = addptr_tile(broadcast_ptr(b, shape![16]), e);\n"
        "let zero: Tile<i32, { [16] }> = constant(0, shape![16]);\n"
        "let inside = ge_tile(e, zero) & lt_tile(e, v.shape()[0].broadcast(shape![16]));\n"
        "let (r, _): (Tile<f32, { [16] }>, Token) = unsafe {\n"
        "    load_ptr_tko(\n"
        "        p, ordering::Weak, None::<scope::TileBlock>, Some(inside), Some(0.0f32), None, Latency::<0>,\n"
        "    )\n"
        "};",
    ),
    Construct(
        "ct.scatter(v, i, x)",
        "let b = pointer_to_tile(cast_mut(v.as_ptr())).reshape(shape![1, 1]);\n"
        "let p = addptr_tile(broadcast_ptr(b, shape![16, 32]), i);\n"
        "let zero: Tile<i32, { [16, 32] }> = constant(0, shape![16, 32]);\n"
        "let inside = ge_tile(i, zero) & lt_tile(i, v.shape()[0].broadcast(shape![16, 32]));\n"
        "let _: Token = unsafe {\n"
        "    store_ptr_tko(p, x, ordering::Weak, None::<scope::TileBlock>, Some(inside), None, Latency::<0>)\n"
        "};",
    ),
)

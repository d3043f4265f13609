"""Where cuTile Rust 0.5 does another thing than it says (silent), and what it refuses (loud). A test has the real
compilers confirm each: what is silent compiles and its Tile IR shows the fault, what is loud does not compile."""

from __future__ import annotations

from msgspec import Struct


class Trap(Struct, frozen=True):
    """`wrong` and `instead` are statements about the values of `snippet.NAMES`; `happens` is what `wrong` does."""

    wrong: str
    happens: str
    instead: str


_SUM = "let mut acc: Tile<f32, { [16, 32] }> = constant(0.0, shape![16, 32]);\n"

SILENT = (
    Trap(
        _SUM + "for _t in 0..=n {\n    acc = acc + x;\n}",
        "the last round is lost: it means `0..n`",
        _SUM + "for _t in 0..n + 1 {\n    acc = acc + x;\n}",
    ),
    Trap(
        "let r: Tile<f32, { [16, 32] }> = scan_sum(x, 1i32, reverse::Forward, 0.0f32);",
        "scans along axis 0, whatever axis is given",
        "let t: Tile<f32, { [32, 16] }> = scan_sum(x.transpose(), 0i32, reverse::Forward, 0.0f32);\n"
        "let r = t.transpose();",
    ),
    Trap(
        "let r: Tile<f32, { [16] }> = scan_sum(w, 0i32, reverse::Forward, 1.0f32);",
        "begins with 0, whatever identity is given: only running sums are right",
        "let t: Tile<f32, { [16] }> = scan_sum(w, 0i32, reverse::Forward, 0.0f32);\n"
        "let r = t + constant(1.0, shape![16]);",
    ),
    Trap(
        "let r: Tile<u32, { [16, 32] }> = constant(4294967295u32, shape![16, 32]);",
        "is 0: so is every unsigned literal above the signed maximum of its width (`200u8`)",
        "let t: Tile<i32, { [16, 32] }> = constant(-1, shape![16, 32]);\nlet r: Tile<u32, { [16, 32] }> = bitcast(t);",
    ),
    Trap(
        "let r = ne_tile(x, y);",
        "is ordered: false where an operand is NaN, unlike Python's `!=`",
        "let r = cmpf(x, y, predicate::NotEqual, cmp_ordering::Unordered);",
    ),
    Trap(
        "let r = max_tile(x, y);",
        "a NaN loses against a number (so it does in `reduce_max`, and in `ct.maximum` by default)",
        "let r = maxf(x, y, nan::Enabled, ftz::Disabled);",
    ),
    Trap(
        "let r = i / k;",
        "rounds towards zero, and `%` has the sign of the left: Python's `//` and `%` round down",
        "let r = divi(i, k, rounding::NegativeInf);",
    ),
    Trap(
        "let r = (n as u32) / (q as u32);",
        "divides signed numbers: `as u32` keeps the signed type",
        "let c: Tile<i32, { [] }> = scalar_to_tile(n);\n"
        "let d: Tile<i32, { [] }> = scalar_to_tile(q);\n"
        "let c: Tile<u32, { [] }> = bitcast(c);\n"
        "let d: Tile<u32, { [] }> = bitcast(d);\n"
        "let r: u32 = tile_to_scalar(c / d);",
    ),
    Trap(
        "let mut c = 0i32;\n'o: while c < q {\n    while c < n {\n        c = c + 1;\n        if c == 7 {\n"
        "            break 'o;\n        }\n    }\n}",
        "leaves the inner loop only: labels are ignored",
        "let mut c = 0i32;\nlet mut go = true;\nwhile go & (c < q) {\n    while c < n {\n        c = c + 1;\n"
        "        if c == 7 {\n            go = false;\n            break;\n        }\n    }\n}",
    ),
    Trap(
        "let r = half.shape()[0] + n;",
        "is the extent of axis 1 where `half: &Tensor<f32, {[16, -1]}>`: only extents that are -1 are counted",
        "let r = 16 + n;",
    ),
    Trap(
        "let r: Tile<bf16, { [16, 32] }> = constant(bf16::ONE, shape![16, 32]);",
        "is 1.875: constants of `bf16` take the wrong bits",
        "let t: Tile<f32, { [16, 32] }> = constant(1.0, shape![16, 32]);\n"
        "let r: Tile<bf16, { [16, 32] }> = convert_tile(t);",
    ),
    Trap(
        "let r = true_div(x, y);",
        "approximates and flushes denormals",
        "let r = x / y;",
    ),
    Trap(
        "let p = a.partition(shape![16, 32]);\n"
        "let t = p.load([0i32, 0i32]);\n"
        "let mut o = unsafe { a.partition_full_mut(shape![16, 32]) };\n"
        "o.store(t + t, [1i32, 0i32]);\n"
        "let r = p.load([1i32, 0i32]);",
        "the last load is not ordered after the store: order is tokens alone, and no load joins them",
        "let p = a.partition(shape![16, 32]);\n"
        "let t = p.load([0i32, 0i32]);\n"
        "let at = a.token();\n"
        "let at = unsafe {\n"
        "    store_view_raw(\n"
        "        &p, t, [1i32, 0i32], Some(at), ordering::Weak, scope::TileBlock, tma::Enabled, None, [false, false],\n"
        "    )\n"
        "};\n"
        "let (r, _): (Tile<f32, { [16, 32] }>, Token) = unsafe {\n"
        "    load_view_raw(\n"
        "        &p, [1i32, 0i32], Some(at), ordering::Weak, scope::TileBlock, tma::Enabled, None, [false, false],\n"
        "        shape![16, 32],\n"
        "    )\n"
        "};",
    ),
    Trap(
        "let b = pointer_to_tile(cast_mut(au.as_ptr())).reshape(shape![1, 1]);\n"
        "let p = addptr_tile(broadcast_ptr(b, shape![16, 32]), i);\n"
        "let (_, _): (Tile<u32, { [16, 32] }>, Token) =\n"
        "    unsafe { atomic_rmw_tko(p, u, atomic::Max, ordering::AcqRel, scope::Device, None, None) };",
        "is the signed maximum, of `u32` and `u64` too",
        "let b = pointer_to_tile(cast_mut(au.as_ptr())).reshape(shape![1, 1]);\n"
        "let p = addptr_tile(broadcast_ptr(b, shape![16, 32]), i);\n"
        "let (_, _): (Tile<u32, { [16, 32] }>, Token) =\n"
        "    unsafe { atomic_rmw_tko(p, u, atomic::Umax, ordering::AcqRel, scope::Device, None, None) };",
    ),
)

LOUD = (
    Trap("let r = x + 1.0;", "a tile and a number do not combine", "let r = x + constant(1.0, shape![16, 32]);"),
    Trap("let r = x * s;", "nor a tile and a scalar", "let r = x * s.broadcast(shape![16, 32]);"),
    Trap("let r = -x;", "no unary minus", "let r = negf(x);"),
    Trap("let r = !m;", "no unary not", "let r = m ^ constant(true, shape![16, 32]);"),
    Trap("let mut c = x;\nc += y;", "no compound assignment", "let mut c = x;\nc = c + y;"),
    Trap("let r = x < y;", "tiles are compared by functions", "let r = lt_tile(x, y);"),
    Trap(
        "let (c, d) = if n > 0 { (x, y) } else { (y, x) };",
        "an `if` has one value",
        "let mut c = y;\nlet mut d = x;\nif n > 0 {\n    c = x;\n    d = y;\n}",
    ),
    Trap(
        "let r = match n {\n    0 => x,\n    _ => y,\n};",
        "no `match`",
        "let r = if n == 0 { x } else { y };",
    ),
    Trap(
        "if n > 0 {\n    return;\n}\nlet mut p = unsafe { a.partition_full_mut(shape![16, 32]) };\n"
        "p.store(x, [0i32, 0i32]);",
        "no early return",
        "if n > 0 {\n} else {\n    let mut p = unsafe { a.partition_full_mut(shape![16, 32]) };\n"
        "    p.store(x, [0i32, 0i32]);\n}",
    ),
    Trap(
        _SUM + "for t in 0..n {\n    if t == q {\n        break;\n    }\n    acc = acc + x;\n}",
        "no `break` in `for`",
        _SUM + "let mut t = 0i32;\nwhile t < n {\n    if t == q {\n        break;\n    }\n    acc = acc + x;\n"
        "    t = t + 1;\n}",
    ),
    Trap(
        _SUM + "for _t in (0..n).rev() {\n    acc = acc + x;\n}",
        "ranges go upwards, by `i32`",
        _SUM + "for t in 0..n {\n    let _down = n - 1 - t;\n    acc = acc + x;\n}",
    ),
    Trap(
        "let r = convert_tile::<f16>(x);",
        "the target type is written at the `let`",
        "let r: Tile<f16, { [16, 32] }> = convert_tile(x);",
    ),
    Trap(
        "let r: Tile<i64, { [16, 32] }> = convert_tile(i);",
        "integers are not converted to integers so",
        "let r: Tile<i64, { [16, 32] }> = exti(i);",
    ),
    Trap("let r = n as f32;", "`as` is not for floats", "let r: f32 = convert_scalar::<f32>(n);"),
    Trap(
        "let r: f32 = exp(s);",
        "functions take tiles, also of rank 0",
        "let t: Tile<f32, { [] }> = scalar_to_tile(s);\nlet r: f32 = tile_to_scalar(exp(t));",
    ),
    Trap(
        "let r: Tile<f32, { [16, 32] }> = constant(s, shape![16, 32]);",
        "`constant` takes a literal",
        "let r = s.broadcast(shape![16, 32]);",
    ),
    Trap(
        "let r = reduce_sum(x, 1);\nlet r = r.reshape(shape![16, 1]);",
        "the result of a reduction is annotated",
        "let r: Tile<f32, { [16] }> = reduce_sum(x, 1);\nlet r = r.reshape(shape![16, 1]);",
    ),
    Trap(
        "let r: Tile<f32, { [16] }> = reduce_sum(x, -1);",
        "axes count from 0",
        "let r: Tile<f32, { [16] }> = reduce_sum(x, 1);",
    ),
    Trap(
        "let r = w.broadcast(shape![16, 32]);",
        "`broadcast` keeps the rank",
        "let r = w.reshape(shape![16, 1]).broadcast(shape![16, 32]);",
    ),
    Trap(
        "let r: Tile<f32, { [16, 24] }> = constant(0.0, shape![16, 24]);\nlet r = r + r;",
        "extents of tiles are powers of two",
        "let r: Tile<f32, { [16, 32] }> = constant(0.0, shape![16, 32]);\nlet r = r + r;",
    ),
    Trap(
        "let r: Tile<f32, { [8 * 2, 32] }> = constant(0.0, shape![8 * 2, 32]);",
        "no arithmetic in shapes: take another `const` parameter",
        "let r: Tile<f32, { [16, 32] }> = constant(0.0, shape![16, 32]);",
    ),
    Trap(
        "let mut p = unsafe { a.partition_full_mut(shape![16, 32]) };\n"
        "p.store(constant(0.0, shape![16, 32]), [n, 0i32]);",
        "`constant` and `convert_tile` are bound before they are arguments",
        "let mut p = unsafe { a.partition_full_mut(shape![16, 32]) };\n"
        "let zero: Tile<f32, { [16, 32] }> = constant(0.0, shape![16, 32]);\np.store(zero, [n, 0i32]);",
    ),
    Trap(
        "let r: Tile<f16, { [16, 32] }> = constant(0.1, shape![16, 32]);",
        "a literal is no `f16`",
        "let t: Tile<f32, { [16, 32] }> = constant(0.1, shape![16, 32]);\n"
        "let r: Tile<f16, { [16, 32] }> = convert_tile(t);",
    ),
    Trap(
        "let b = pointer_to_tile(v.as_ptr()).reshape(shape![1, 1]);\n"
        "let p = addptr_tile(broadcast_ptr(b, shape![16, 32]), i);\n"
        "let (r, _): (Tile<f32, { [16, 32] }>, Token) = unsafe {\n"
        "    load_ptr_tko(p, ordering::Weak, None::<scope::TileBlock>, Some(m), Some(0.0f32), None, Latency::<0>)\n"
        "};",
        "the padding of a load by pointers is for rank 1",
        "let b = pointer_to_tile(v.as_ptr()).reshape(shape![1, 1]);\n"
        "let p = addptr_tile(broadcast_ptr(b, shape![16, 32]), i);\n"
        "let (r, _): (Tile<f32, { [16, 32] }>, Token) = unsafe {\n"
        "    load_ptr_tko(p, ordering::Weak, None::<scope::TileBlock>, Some(m), None, None, Latency::<0>)\n"
        "};\n"
        "let zero: Tile<f32, { [16, 32] }> = constant(0.0, shape![16, 32]);\n"
        "let r = select(m, r, zero);",
    ),
    Trap(
        "let r = divf(x, y, rounding::Full, ftz::Disabled);",
        "no `Full` division",
        "let r = divf(x, y, rounding::NearestEven, ftz::Disabled);",
    ),
    Trap(
        "let t: Tile<i16, { [16, 32] }> = constant(1i16, shape![16, 32]);\nlet r = t + t;",
        "16-bit integers have functions, not operators; `NoWrap` promises that nothing wraps",
        "let t: Tile<i16, { [16, 32] }> = constant(1i16, shape![16, 32]);\nlet r = addi(t, t, overflow::NoWrap);",
    ),
)

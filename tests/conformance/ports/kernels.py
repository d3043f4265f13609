"""Kernels that the Rust files beside this one are ports of, right ones and wrong ones."""

import cuda.tile as ct


# ferrotile: x: f32[N], y: f32[N], out: f32[N], a: f32, TILE=256, grid=(N/TILE,)
@ct.kernel
def saxpy(x, y, out, a, TILE: ct.Constant[int]):
    i = ct.bid(0)
    tx = ct.load(x, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ty = ct.load(y, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(i,), tile=a * tx + ty)


# ferrotile: x: f32[M, 1000], y: f32[M, 1000], TN=1024, grid=(M,)
@ct.kernel
def row_softmax(x, y, TN: ct.Constant[int]):
    row = ct.bid(0)
    t = ct.load(x, index=(row, 0), shape=(1, TN), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(y, index=(row, 0), tile=e / ct.sum(e, axis=1, keepdims=True))


# ferrotile: a: f16[M, K], b: f16[K, N], c: f16[M, N], TM=64, TN=64, TK=32, grid=(M/TM, N/TN)
@ct.kernel
def matmul(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], TK)):
        ta = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        tb = ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(ta, tb, acc)
    ct.store(c, index=(i, j), tile=acc.astype(ct.float16))


# ferrotile: x: f32[M, N], y: f32[N, M], TILE=32, grid=(M/TILE, N/TILE)
@ct.kernel
def transpose(x, y, TILE: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, index=(i, j), shape=(TILE, TILE))
    ct.store(y, index=(j, i), tile=ct.transpose(t))


# ferrotile: w: f32[N], v: f32[N], g: f32[N], mu: f32, TILE=256, grid=(N/TILE,)
@ct.kernel
def momentum(w, v, g, mu, TILE: ct.Constant[int]):
    """The weights take the velocity from before this step."""
    i = ct.bid(0)
    tw = ct.load(w, index=(i,), shape=(TILE,))
    tv = ct.load(v, index=(i,), shape=(TILE,))
    tg = ct.load(g, index=(i,), shape=(TILE,))
    ct.store(v, index=(i,), tile=mu * tv + tg)
    ct.store(w, index=(i,), tile=tw - tv)


# ferrotile: x: f32[M, N], out: f32[M], TM=32, TN=32, grid=(M/TM,)
@ct.kernel
def row_max(x, out, TM: ct.Constant[int], TN: ct.Constant[int]):
    i = ct.bid(0)
    high = ct.full((TM,), 0.0, dtype=ct.float32)
    for j in range(ct.cdiv(x.shape[1], TN)):
        t = ct.load(x, index=(i, j), shape=(TM, TN), padding_mode=ct.PaddingMode.ZERO)
        high = ct.maximum(high, ct.max(t, axis=1))
    ct.store(out, index=(i,), tile=high)


# ferrotile: x: f32[N], y: f32[N], count: i32, TILE=256, grid=(N/TILE,)
@ct.kernel
def keep_first(x, y, count, TILE: ct.Constant[int]):
    i = ct.bid(0)
    place = i * TILE + ct.arange(TILE, dtype=ct.int32)
    t = ct.load(x, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, index=(i,), tile=ct.where(place < count, t, 0.0))


# ferrotile: x: f32[M, N], bias: f32[N], y: f32[M, N], TM=8, TN=128, grid=(M/TM, N/TN)
@ct.kernel
def add_bias(x, bias, y, TM: ct.Constant[int], TN: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, index=(i, j), shape=(TM, TN), padding_mode=ct.PaddingMode.ZERO)
    tb = ct.load(bias, index=(j,), shape=(TN,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, index=(i, j), tile=t + tb)


# ferrotile: x: f32[M, N], scale: f32[M], y: f32[M, N], TN=256, grid=(M, N/TN)
@ct.kernel
def divide_rows(x, scale, y, TN: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, index=(i, j), shape=(1, TN), padding_mode=ct.PaddingMode.ZERO)
    s = ct.load(scale, index=(i,), shape=(1,))
    ct.store(y, index=(i, j), tile=t / s)


# ferrotile: even: f32[N], odd: f32[N], out: f32[N], step: i32, TILE=256, grid=(N/TILE,)
@ct.kernel
def alternate(even, odd, out, step, TILE: ct.Constant[int]):
    """No rule translates it: Rust cannot choose a reference at run time."""
    i = ct.bid(0)
    source = even if step % 2 == 0 else odd
    ct.store(out, index=(i,), tile=ct.load(source, index=(i,), shape=(TILE,)) * 0.5)

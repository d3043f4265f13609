"""Kernels that ferrotile refuses, each for a reason of its own: never a guess, never half a kernel.

The first is valid cuTile Python, but its row index is data, which has no tile form. The other two are
mistakes that cuTile Python refuses as well, one at a time and only when the kernel is compiled.
"""

import cuda.tile as ct


# ferrotile: table: f32[V, D], ids: i32[R], out: f32[R, D], TD=512, grid=(R,)
@ct.kernel
def embedding(table, ids, out, TD: ct.Constant[int]):
    r = ct.bid(0)
    row = ct.gather(ids, r)  # an index that is data
    t = ct.gather(table, (row, ct.arange(TD, dtype=ct.int32)))
    ct.store(out, index=(r, 0), tile=t.reshape((1, TD)))


# ferrotile: a: i32[N], b: u32[N], c: i32[N], TILE=256, grid=(N/TILE,)
@ct.kernel
def mixed_signs(a, b, c, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ta = ct.load(a, index=(i,), shape=(TILE,))
    tb = ct.load(b, index=(i,), shape=(TILE,))
    ct.store(c, index=(i,), tile=ta + tb)  # int32 + uint32 has no common type


# ferrotile: x: f32[N], y: f32[N], TILE=1024, grid=(N/TILE,)
@ct.kernel
def sigmoid(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, index=(i,), shape=(TILE,))
    ct.store(y, index=(i,), tile=ct.sigmoid(t))  # cuda.tile has no sigmoid

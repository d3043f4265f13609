"""Kernels that ferrotile refuses, each for a reason of its own: never a guess, never half a kernel.

The first is valid cuTile Python, but a Rust reference cannot be chosen on the GPU. The other two are
mistakes that cuTile Python refuses as well, one at a time and only when the kernel is compiled.
"""

import cuda.tile as ct


# ferrotile: even: f32[N], odd: f32[N], out: f32[N], step: i32, TILE=1024, grid=(N/TILE,)
@ct.kernel
def ping_pong(even, odd, out, step, TILE: ct.Constant[int]):
    i = ct.bid(0)
    source = even if step % 2 == 0 else odd  # an array chosen at run time
    ct.store(out, index=(i,), tile=ct.load(source, index=(i,), shape=(TILE,)) * 0.5)


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

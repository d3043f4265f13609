"""Layer norm of one row, in three passes over tiles of columns.

Shows: a tile block that owns a whole row and stores it tile by tile in a loop, fused multiply-add, a mask.
The directive above the decorator states the signature.
"""

import cuda.tile as ct
import torch


# ferrotile: x: f16[M, N], w: f16[N], b: f16[N], y: f16[M, N], eps: f32, N=1000, TN=256, grid=(M,)
@ct.kernel
def layer_norm(x, w, b, y, eps, N: ct.Constant[int], TN: ct.Constant[int]):
    row = ct.bid(0)
    tiles = ct.cdiv(N, TN)

    # Mean.
    total = ct.zeros((1, TN), dtype=ct.float32)
    for j in range(tiles):
        t = ct.load(x, index=(row, j), shape=(1, TN), padding_mode=ct.PaddingMode.ZERO)
        total += t.astype(ct.float32)
    mean = ct.sum(total, axis=1, keepdims=True) / N

    # Variance: the padding must not count.
    square = ct.zeros((1, TN), dtype=ct.float32)
    for j in range(tiles):
        t = ct.load(x, index=(row, j), shape=(1, TN), padding_mode=ct.PaddingMode.ZERO)
        inside = j * TN + ct.arange(TN, dtype=ct.int32) < N
        d = ct.where(inside, t.astype(ct.float32) - mean, 0.0)
        square += d * d
    rstd = 1.0 / ct.sqrt(ct.sum(square, axis=1, keepdims=True) / N + eps)

    # Scale and shift.
    for j in range(tiles):
        t = ct.load(x, index=(row, j), shape=(1, TN), padding_mode=ct.PaddingMode.ZERO)
        tw = ct.load(w, index=(j,), shape=(TN,), padding_mode=ct.PaddingMode.ZERO)
        tb = ct.load(b, index=(j,), shape=(TN,), padding_mode=ct.PaddingMode.ZERO)
        n = (t.astype(ct.float32) - mean) * rstd
        r = n * tw.astype(ct.float32) + tb.astype(ct.float32)
        ct.store(y, index=(row, j), tile=r.astype(y.dtype))


def norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    """x: [M, N], w and b: [N] -> [M, N]."""
    M, N = x.shape
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (M,), layer_norm, (x, w, b, y, eps, N, 256))
    return y


if __name__ == "__main__":
    x = torch.randn(2048, 1000, device="cuda", dtype=torch.float16)
    w = torch.randn(1000, device="cuda", dtype=torch.float16)
    b = torch.randn(1000, device="cuda", dtype=torch.float16)
    expected = torch.nn.functional.layer_norm(x, (1000,), w, b)
    torch.testing.assert_close(norm(x, w, b), expected, rtol=1e-2, atol=1e-2)

"""Causal flash attention, forward: arrays [B, H, S, D], online softmax in base 2.

Shows: rank-4 arrays on a 3-D grid, reshaped tiles, statistics carried through a loop, approximate division.
The directive above the decorator states the signature.
"""

import math

import cuda.tile as ct
import torch

LOG2E = 1.0 / math.log(2)


# ferrotile: q: f16[B, H, S, D], k: f16[B, H, S, D], v: f16[B, H, S, D], out: f16[B, H, S, D], scale: f32
# ferrotile: D=64, TM=128, TN=64, grid=(S/TM, H, B)
@ct.kernel
def attention(q, k, v, out, scale, D: ct.Constant[int], TM: ct.Constant[int], TN: ct.Constant[int]):
    m, head, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    scale = scale * LOG2E
    rows = m * TM + ct.arange(TM, dtype=ct.int32)[:, None]
    cols = ct.arange(TN, dtype=ct.int32)[None, :]

    high = ct.full((TM, 1), -math.inf, dtype=ct.float32)  # largest score so far, in base 2
    norm = ct.full((TM, 1), 0.0, dtype=ct.float32)
    acc = ct.full((TM, D), 0.0, dtype=ct.float32)
    tq = ct.load(q, index=(batch, head, m, 0), shape=(1, 1, TM, D)).reshape((TM, D))

    for j in range(ct.cdiv(min((m + 1) * TM, k.shape[2]), TN)):
        tk = ct.load(k, index=(batch, head, 0, j), shape=(1, 1, D, TN), order=(0, 1, 3, 2)).reshape((D, TN))
        s = ct.mma(tq, tk, ct.full((TM, TN), 0.0, dtype=ct.float32))
        s = ct.where(rows >= j * TN + cols, s, -math.inf)
        new_high = max(high, ct.max(s, axis=1, keepdims=True) * scale)
        p = ct.exp2(s * scale - new_high, flush_to_zero=True)
        alpha = ct.exp2(high - new_high, flush_to_zero=True)
        norm = norm * alpha + ct.sum(p, axis=1, keepdims=True)
        tv = ct.load(v, index=(batch, head, j, 0), shape=(1, 1, TN, D), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(p.astype(q.dtype), tv.reshape((TN, D)), acc * alpha)
        high = new_high

    acc = ct.truediv(acc, norm, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(out, index=(batch, head, m, 0), tile=acc.astype(out.dtype).reshape((1, 1, TM, D)))


def causal_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """q, k, v: [B, H, S, 64] -> [B, H, S, 64]."""
    B, H, S, D = q.shape
    TM, TN = 128, 64
    out = torch.empty_like(q)
    args = (q, k, v, out, 1.0 / math.sqrt(D), D, TM, TN)
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(S, TM), H, B), attention, args)
    return out


if __name__ == "__main__":
    q, k, v = (torch.randn(2, 16, 1000, 64, device="cuda", dtype=torch.float16) for _ in range(3))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(causal_attention(q, k, v), expected, rtol=1e-2, atol=1e-2)

"""Batched matrix product c[q] = a[q] @ b[q].T, where b is stored as [Q, N, K].

Shows: rank 3, a load that permutes axes, a batch axis that is reshaped away, an output tile at its block id.
The directive above the decorator states the signature, because the launch site is generic.
"""

import cuda.tile as ct
import torch


# ferrotile: a: f16[Q, M, K], b: f16[Q, N, K], c: f16[Q, M, N], TM=128, TN=128, TK=64, grid=(Q, M/TM, N/TN)
@ct.kernel
def batch_matmul(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    q, i, j = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[2], TK)):
        ta = ct.load(a, index=(q, i, k), shape=(1, TM, TK), padding_mode=ct.PaddingMode.ZERO)
        tb = ct.load(b, index=(q, k, j), shape=(1, TK, TN), order=(0, 2, 1), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(ta.reshape((TM, TK)), tb.reshape((TK, TN)), acc)
    ct.store(c, index=(q, i, j), tile=acc.astype(c.dtype).reshape((1, TM, TN)))


def bmm_nt(a: torch.Tensor, b: torch.Tensor, TM: int = 128, TN: int = 128, TK: int = 64) -> torch.Tensor:
    """a: [Q, M, K], b: [Q, N, K] -> [Q, M, N]."""
    (Q, M, _), N = a.shape, b.shape[1]
    c = torch.empty((Q, M, N), device=a.device, dtype=a.dtype)
    grid = (Q, ct.cdiv(M, TM), ct.cdiv(N, TN))
    ct.launch(torch.cuda.current_stream(), grid, batch_matmul, (a, b, c, TM, TN, TK))
    return c


if __name__ == "__main__":
    a = torch.randn(8, 500, 300, device="cuda", dtype=torch.float16)
    b = torch.randn(8, 700, 300, device="cuda", dtype=torch.float16)
    torch.testing.assert_close(bmm_nt(a, b), a @ b.transpose(1, 2), rtol=1e-2, atol=1e-2)

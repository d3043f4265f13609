"""Matrix product: half precision in and out, single precision in between.

Shows: a 2-D grid, a loop over the tiles of K, zero padding at the edges, `mma` into an accumulator.
The signature is read from the launch site.
"""

import cuda.tile as ct
import torch


@ct.kernel
def matmul(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    num_tiles = ct.num_tiles(a, axis=1, shape=(TM, TK))
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(num_tiles):
        ta = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        tb = ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(ta, tb, acc)
    ct.store(c, index=(i, j), tile=acc.astype(c.dtype))


def main() -> None:
    M, N, K = 1000, 2000, 1500
    TM, TN, TK = 128, 128, 64
    a = torch.randn(M, K, device="cuda", dtype=torch.float16)
    b = torch.randn(K, N, device="cuda", dtype=torch.float16)
    c = torch.empty(M, N, device="cuda", dtype=torch.float16)
    grid = (ct.cdiv(M, TM), ct.cdiv(N, TN))
    ct.launch(torch.cuda.current_stream(), grid, matmul, (a, b, c, TM, TN, TK))
    torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=1e-2)


if __name__ == "__main__":
    main()

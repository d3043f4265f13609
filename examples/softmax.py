"""Row softmax: a tile block holds one row, columns beyond the row are padded with minus infinity.

Shows: NEG_INF padding, reductions that keep their axis, the broadcast of a row statistic.
The signature is read from the launch site.
"""

import cuda.tile as ct
import torch


@ct.kernel
def softmax(x, y, TN: ct.Constant[int]):
    row = ct.bid(0)
    t = ct.load(x, index=(row, 0), shape=(1, TN), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))  # at most 1: no overflow
    ct.store(y, index=(row, 0), tile=e / ct.sum(e, axis=1, keepdims=True))


def main() -> None:
    M, N = 4096, 1000
    TN = 1024
    x = torch.randn(M, N, device="cuda")
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (M,), softmax, (x, y, TN))
    torch.testing.assert_close(y, torch.softmax(x, dim=1))


if __name__ == "__main__":
    main()

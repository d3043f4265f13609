"""Vector add: the last tile may hang over the end of the arrays.

Shows: an output that each tile block owns, loads whose padding does not matter, a partial last store.
The signature is read from the launch site.
"""

import cuda.tile as ct
import torch


@ct.kernel
def vector_add(x, y, z, TILE: ct.Constant[int]):
    i = ct.bid(0)
    tx = ct.load(x, index=(i,), shape=(TILE,))
    ty = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(z, index=(i,), tile=tx + ty)


def main() -> None:
    N = 1_000_003
    TILE = 1024
    x = torch.randn(N, device="cuda")
    y = torch.randn(N, device="cuda")
    z = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(N, TILE),), vector_add, (x, y, z, TILE))
    torch.testing.assert_close(z, x + y)


if __name__ == "__main__":
    main()

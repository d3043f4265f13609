/** The kernel that the walkthrough opens. Its signature is read from its launch. */
export const EXAMPLE = `import cuda.tile as ct
import torch


@ct.kernel
def vector_add(x, y, z, TILE: ct.Constant[int]):
    i = ct.bid(0)
    tx = ct.load(x, index=(i,), shape=(TILE,))
    ty = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(z, index=(i,), tile=tx + ty)


def main() -> None:
    N, TILE = 1_000_003, 1024
    x = torch.randn(N, device="cuda")
    y = torch.randn(N, device="cuda")
    z = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(N, TILE),), vector_add, (x, y, z, TILE))
`;

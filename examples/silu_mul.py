"""SiLU(gate) * up, the gate of a transformer's feed-forward layer, fused on 2-D tiles.

Shows: a 2-D grid, half precision computed in single precision, a helper function that is inlined.
The signature is read from the launch site.
"""

import cuda.tile as ct
import torch


def sigmoid(t):
    return 1.0 / (1.0 + ct.exp(-t))


@ct.kernel
def silu_mul(gate, up, out, TM: ct.Constant[int], TN: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    tg = ct.load(gate, index=(i, j), shape=(TM, TN)).astype(ct.float32)
    tu = ct.load(up, index=(i, j), shape=(TM, TN)).astype(ct.float32)
    ct.store(out, index=(i, j), tile=(tg * sigmoid(tg) * tu).astype(out.dtype))


def main() -> None:
    M, N = 2048, 5000
    TM, TN = 4, 256
    gate = torch.randn(M, N, device="cuda", dtype=torch.float16)
    up = torch.randn(M, N, device="cuda", dtype=torch.float16)
    out = torch.empty_like(gate)
    grid = (ct.cdiv(M, TM), ct.cdiv(N, TN))
    ct.launch(torch.cuda.current_stream(), grid, silu_mul, (gate, up, out, TM, TN))
    torch.testing.assert_close(out, torch.nn.functional.silu(gate) * up, rtol=1e-2, atol=1e-2)


if __name__ == "__main__":
    main()

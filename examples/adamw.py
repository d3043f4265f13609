"""A fused AdamW step: parameters, first and second moment are updated in place.

Shows: arrays that are both read and written, whose loads must stay before their stores; scalar arguments.
The directive above the decorator states the signature.
"""

import cuda.tile as ct
import torch


# ferrotile: p: f32[N], g: f32[N], m: f32[N], v: f32[N], lr: f32, beta1: f32, beta2: f32, eps: f32, decay: f32
# ferrotile: TILE=1024, grid=(N/TILE,)
@ct.kernel
def adamw(p, g, m, v, lr, beta1, beta2, eps, decay, TILE: ct.Constant[int]):
    i = ct.bid(0)
    tp = ct.load(p, index=(i,), shape=(TILE,))
    tg = ct.load(g, index=(i,), shape=(TILE,))
    tm = ct.load(m, index=(i,), shape=(TILE,))
    tv = ct.load(v, index=(i,), shape=(TILE,))
    tm = beta1 * tm + (1.0 - beta1) * tg
    tv = beta2 * tv + (1.0 - beta2) * tg * tg
    step = tm / (ct.sqrt(tv) + eps) + decay * tp
    ct.store(p, index=(i,), tile=tp - lr * step)
    ct.store(m, index=(i,), tile=tm)
    ct.store(v, index=(i,), tile=tv)


def step(p: torch.Tensor, g: torch.Tensor, m: torch.Tensor, v: torch.Tensor, lr: float = 1e-3) -> None:
    """One step without bias correction, in place; all arrays f32[N]."""
    TILE = 1024
    args = (p, g, m, v, lr, 0.9, 0.999, 1e-8, 0.01, TILE)
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(p.numel(), TILE),), adamw, args)


if __name__ == "__main__":
    p, g = (torch.randn(1_000_003, device="cuda") for _ in range(2))
    m, v = torch.zeros_like(p), torch.zeros_like(p)
    m1, v1 = 0.1 * g, 0.001 * g * g
    expected = p - 1e-3 * (m1 / (v1.sqrt() + 1e-8) + 0.01 * p)
    step(p, g, m, v)
    torch.testing.assert_close(p, expected, rtol=1e-4, atol=1e-5)

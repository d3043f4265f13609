"""A crate's package for Python on a GPU: its functions with tensors of torch and cupy, against the originals' results.

    python python_package.py RECORDED_DATA

The package of `examples/` (`ferrotile export examples -o DIR --python --record`, then `maturin build` in `DIR/python`)
must be importable as `ex`, `tileiras` must be found, and RECORDED_DATA is `DIR/tests/data`: small launches of the
originals. Needs torch and NumPy; what is about cupy is skipped without it. No compiler of cuTile Python is needed.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import ex
import numpy as np
import torch

KERNELS = ("vector_add", "softmax", "layer_norm", "matmul", "batch_matmul", "silu_mul", "embedding")
ROUNDING = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
"""How far a result may be from the original's: sums are made in other orders."""


def positional(function: Callable[..., None]) -> list[str]:
    return re.sub(r", \*.*|[()]", "", function.__text_signature__ or "").split(", ")


def recorded(data: Path, kernel: str, suffix: str = "") -> dict[str, np.ndarray]:
    files = sorted((data / kernel / kernel).glob("*.npy"))
    named = {f.name.removesuffix(f"{suffix}.npy"): np.load(f) for f in files if f.name.endswith(f"{suffix}.npy")}
    return {name: array for name, array in named.items() if "." not in name}


def same(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=ROUNDING[found.dtype], atol=ROUNDING[found.dtype], equal_nan=True)


def refused(
    error: type[Exception], words: str, function: Callable[..., None], *arguments: object, **more: object
) -> None:
    try:
        function(*arguments, **more)
    except error as raised:
        assert words in str(raised), f"{raised!r} does not say {words!r}"
    else:
        raise AssertionError(f"{function} took {arguments}")


def check_recorded_launches(data: Path) -> int:
    """The originals' own results, as the interpreter has them, by torch and by cupy."""
    done = 0
    for kernel in KERNELS:
        given, after = recorded(data, kernel), recorded(data, kernel, ".after")
        names = positional(getattr(ex, kernel))
        if not set(names) <= set(given):
            continue  # with scalars
        tensors = [torch.from_numpy(given[n]).cuda() for n in names]
        getattr(ex, kernel)(*tensors)
        for name, expected in after.items():
            found = tensors[names.index(name)]
            checked = recorded(data, kernel, ".checked").get(name)
            wanted = torch.from_numpy(expected).cuda()
            if checked is not None:
                wanted = torch.where(torch.from_numpy(checked).cuda(), wanted, found)
            same(found, wanted)
            done += 1
        try:
            import cupy
        except ImportError:
            continue
        arrays = [cupy.asarray(given[n]) for n in names]
        with cupy.cuda.Stream(non_blocking=True) as stream:
            getattr(ex, kernel)(*arrays, stream=stream)
            stream.synchronize()
        for name in after:
            same(torch.from_dlpack(arrays[names.index(name)]), tensors[names.index(name)])
    assert done >= 5
    return done


def check_against_torch() -> None:
    """At sizes of models, on the default stream and on one of torch's, which is not waited for."""
    torch.manual_seed(0)
    x, y = torch.randn(4096, 1000, device="cuda"), torch.randn(4096, 1000, device="cuda")
    z = torch.empty_like(x)
    ex.softmax(x, z)
    same(z, torch.softmax(x, 1))
    ex.softmax(x[:, :600], z[:, :600], tn=1024)  # rows with gaps
    same(z[:, :600], torch.softmax(x[:, :600], 1))
    side = torch.cuda.Stream()
    flat = torch.empty(x.numel(), device="cuda")
    with torch.cuda.stream(side):
        u = x.flatten() * 2
        ex.vector_add(u, y.flatten(), flat, stream=side)
        w = flat + 1
    side.synchronize()
    assert torch.equal(w, x.flatten() * 2 + y.flatten() + 1)


def check_waiting() -> tuple[float, float]:
    """With a stream the call returns at once; without one when all is done, whatever was before on torch's stream."""
    x = torch.randn(1 << 20, device="cuda")
    z = torch.zeros_like(x)
    ex.vector_add(x, x, z)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(400_000_000)
        begin = time.perf_counter()
        ex.vector_add(x, x, z, stream=side)
        enqueued = time.perf_counter() - begin
        assert not side.query(), "the stream was waited for"
    side.synchronize()
    assert torch.equal(z, x + x)
    with torch.cuda.stream(side):
        torch.cuda._sleep(400_000_000)
        u = x * 3  # behind it
        begin = time.perf_counter()
        ex.vector_add(u, x, z)
        waited = time.perf_counter() - begin
    assert torch.equal(z, x * 3 + x)
    assert enqueued < waited / 5
    return enqueued, waited


class Attending(torch.nn.Module):
    """A model whose softmax is torch's, or the crate's in its place."""

    def __init__(self, rust: bool) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.rust = rust
        self.inside, self.outside = torch.nn.Linear(256, 512), torch.nn.Linear(512, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.inside(x)
        if self.rust:
            weights = torch.empty_like(scores)
            ex.softmax(scores, weights, tn=512, stream=torch.cuda.current_stream())
        else:
            weights = torch.softmax(scores, 1)
        return self.outside(weights)


def check_model() -> None:
    """In place of torch's function in a model."""
    x = torch.randn(333, 256, device="cuda")
    with torch.no_grad():
        for _ in range(3):
            same(Attending(True).cuda()(x), Attending(False).cuda()(x))


def check_refusals() -> None:
    x, z = torch.randn(64, 128, device="cuda"), torch.zeros(64, 128, device="cuda")
    refused(ValueError, "in the memory of the CPU", ex.softmax, x.cpu(), z)
    refused(ValueError, "in the memory of the CPU", ex.softmax, x, z.cpu().numpy())
    refused(TypeError, "is float64, not float32", ex.softmax, x.double(), z)
    refused(ValueError, "x.shape[1] is 128, but", ex.softmax, x, torch.zeros(64, 64, device="cuda"))
    refused(ValueError, "but must be 1", ex.softmax, x, z, tn=64)
    refused(ValueError, "strides", ex.softmax, torch.randn(128, 64, device="cuda").T, z)
    refused(ValueError, "share memory", ex.softmax, x, x)
    refused(ValueError, "share memory", ex.softmax, x, x[:, :])
    refused(BufferError, "", ex.softmax, torch.randn(64, 128, device="cuda", requires_grad=True), z)
    same(z, torch.zeros_like(z))


def check_lifetimes() -> None:
    """Tensors are let go at the end of the call, and the thread's context and device are as before."""
    x, z = torch.randn(1 << 22, device="cuda"), torch.zeros(1 << 22, device="cuda")
    ex.vector_add(x, x, z)
    device, before = torch.cuda.current_device(), torch.cuda.memory_allocated()
    for _ in range(100):
        ex.vector_add(x + 1, x, z, stream=torch.cuda.current_stream())
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before and torch.cuda.current_device() == device
    assert torch.equal(z, (x + 1) + x)


def check_graph() -> None:
    """A call that torch captures in a graph of CUDA."""
    x, z = torch.randn(5000, device="cuda"), torch.zeros(5000, device="cuda")
    ex.vector_add(x, x, z)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ex.vector_add(x, x, z, stream=torch.cuda.current_stream())
    x.copy_(torch.arange(5000, device="cuda"))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(z, x + x)


def times() -> Iterator[tuple[str, float]]:
    """Microseconds: of a call that does little, and of one that does much, beside torch's."""
    stream = torch.cuda.current_stream()
    for size in (1 << 10, 1 << 26):
        x, z = torch.randn(size, device="cuda"), torch.zeros(size, device="cuda")
        for name, call in (
            ("crate", lambda x=x, z=z: ex.vector_add(x, x, z, stream=stream)),
            ("torch", lambda x=x, z=z: torch.add(x, x, out=z)),
        ):
            best = float("inf")
            for _ in range(7):
                torch.cuda.synchronize()
                begin = time.perf_counter()
                for _ in range(50):
                    call()
                torch.cuda.synchronize()
                best = min(best, (time.perf_counter() - begin) / 50)
            yield f"vector_add of {size}, {name}", best * 1e6


def main() -> int:
    data, failed = Path(sys.argv[1]), 0
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, Python {sys.version.split()[0]}")
    checks: list[Callable[[], object]] = [
        lambda: check_recorded_launches(data), check_against_torch, check_waiting, check_model, check_refusals,
        check_lifetimes, check_graph,
    ]  # fmt: skip
    names = ["check_recorded_launches", *(getattr(c, "__name__", "") for c in checks[1:])]
    for name, check in zip(names, checks, strict=True):
        try:
            said = check()
            print(f"ok      {name}" + ("" if said is None else f": {said}"))
        except Exception as error:
            failed += 1
            print(f"FAILED  {name}: {type(error).__name__}: {error}")
    print(json.dumps({name: round(value, 2) for name, value in times()}, indent=1))
    return failed


if __name__ == "__main__":
    sys.exit(main())

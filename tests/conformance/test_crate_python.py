"""The package for Python of an exported crate, built and imported: what it refuses, for which no GPU is needed."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from dlpack_fakes import BFLOAT, CPU, CUDA, FLOAT, INT, IS_COPIED, READ_ONLY, ROCM, FakeTensor
from ferrotile_runner.toolchain import locate

pytestmark = [pytest.mark.compilers, pytest.mark.timeout(1800)]

KERNELS = '''
import cuda.tile as ct


# ferrotile: x: f32[M, N], y: f32[M, N], T=64, grid=(M, N/T)
@ct.kernel
def double(x, y, T: ct.Constant[int]):
    """Twice as much."""
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, index=(i, j), shape=(1, T))
    ct.store(y, index=(i, j), tile=t + t)


# ferrotile: x: T[N], y: T[N], S=64, grid=(N/S,)
@ct.kernel
def copy(x, y, S: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(S,)))
'''


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("crate")
    source = folder / "kernels.py"
    source.write_text(KERNELS)
    crate = folder / "gpu-kernels"
    export = [sys.executable, "-m", "ferrotile_server.cli.main", "export", str(source), "-o", str(crate), "--python"]
    done = subprocess.run(export, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    tools = locate()
    assert tools.cargo is not None
    environment = {**os.environ, **tools.environment, "CARGO_INCREMENTAL": "0"}
    target = Path(environment["CARGO_TARGET_DIR"])
    for command in (["fmt", "--check"], ["clippy", "--all-targets", "--", "-D", "warnings"], ["build"], ["test"]):
        done = subprocess.run(
            [str(tools.cargo), *command], cwd=crate / "python", env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    library = folder / "gpu_kernels.abi3.so"
    library.write_bytes((target / "debug" / "libgpu_kernels_python.so").read_bytes())
    loader = importlib.machinery.ExtensionFileLoader("gpu_kernels", str(library))
    spec = importlib.util.spec_from_loader("gpu_kernels", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_signatures(kernels: ModuleType) -> None:
    assert str(inspect.signature(kernels.double)) == "(x, y, *, t=64, stream=None)"
    assert kernels.double.__doc__.startswith("Twice as much. Writes `y`.")


def _fake(*shape: int, **more: object) -> FakeTensor:
    return FakeTensor(*shape, data=1 << 21, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("x", "y", "error", "words"),
    [
        (lambda: np.zeros((4, 8), np.float32), lambda: _fake(4, 8), ValueError, "`x` is in the memory of the CPU"),
        (lambda: FakeTensor(4, 8, device=(CPU, 0)), lambda: _fake(4, 8), ValueError, "`x` is in the memory of the CPU"),
        (lambda: [1.0], lambda: _fake(4, 8), TypeError, "`x` must be a tensor, not `list`"),
        (lambda: FakeTensor(4, 8, dtype=(FLOAT, 64)), lambda: _fake(4, 8), TypeError, "`x` is float64, not float32"),
        (lambda: FakeTensor(4, 8), lambda: _fake(4, 8, dtype=(BFLOAT, 16)), TypeError, "`y` is bfloat16, not float32"),
        (lambda: FakeTensor(4, 8), lambda: _fake(4, 8, flags=READ_ONLY), ValueError, "`y` is read-only"),
        (lambda: FakeTensor(4, 8), lambda: _fake(4, 8, flags=IS_COPIED), ValueError, "`y` came as a copy"),
        (lambda: FakeTensor(4, 8), lambda: FakeTensor(4, 8), ValueError, "`x` and `y` share memory"),
        (lambda: FakeTensor(4, 8), lambda: FakeTensor(4, 8, data=(1 << 20) + 124), ValueError, "share memory"),
        (lambda: FakeTensor(4, 8), lambda: _fake(4, 8, device=(CUDA, 1)), ValueError, "`x` is on GPU 0, but `y` on"),
        (lambda: FakeTensor(4, 8), lambda: _fake(4, 8, device=(ROCM, 0)), ValueError, "another kind"),
        (lambda: FakeTensor(4, 8), lambda: _fake(4, 0), ValueError, "`y` has no elements"),
        (lambda: FakeTensor(4, 8), lambda: _fake(4, 8, strides=(-8, 1)), ValueError, "`y` has an extent or a stride"),
        (lambda: FakeTensor(4, 1 << 31), lambda: _fake(4, 8), ValueError, "`x` has an extent or a stride"),
        (lambda: FakeTensor(4, 8, data=(1 << 20) + 2), lambda: _fake(4, 8), ValueError, "not aligned"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(
    kernels: ModuleType, x: Callable[[], object], y: Callable[[], object], error: type[Exception], words: str
) -> None:
    given = x(), y()
    with pytest.raises(error, match=r"^double: ") as raised:
        kernels.double(*given)
    assert words in str(raised.value)
    for tensor in given:
        if isinstance(tensor, FakeTensor):
            assert tensor.made == tensor.deleted <= 1


def test_generic_kernels_take_three_types(kernels: ModuleType) -> None:
    with pytest.raises(TypeError, match="`x` is int32, not float16, bfloat16 or float32"):
        kernels.copy(FakeTensor(64, dtype=(INT, 32)), _fake(64))
    with pytest.raises(TypeError, match="`y` is float32, not bfloat16"):
        kernels.copy(FakeTensor(64, dtype=(BFLOAT, 16)), _fake(64))


def test_arguments_of_another_kind(kernels: ModuleType) -> None:
    with pytest.raises(TypeError, match="`stream` must be a CUDA stream or its handle, not `str`"):
        kernels.double(FakeTensor(4, 8), _fake(4, 8), stream="fast")
    with pytest.raises(OverflowError):
        kernels.double(FakeTensor(4, 8), _fake(4, 8), t=1 << 40)
    with pytest.raises(TypeError):
        kernels.double(FakeTensor(4, 8), _fake(4, 8), 64)


class _Torch:
    cuda_stream = 9


class _Core:
    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 11


@pytest.mark.parametrize("old", [False, True])
def test_capsules_are_asked_for_the_stream_and_let_go_once(kernels: ModuleType, old: bool) -> None:
    """Where there is no GPU the call ends at CUDA; where there is one, these addresses would be written: skipped."""
    if Path("/dev/nvidiactl").exists():
        pytest.skip("the addresses are no memory of a GPU")
    x, y = FakeTensor(4, 8, old=old), _fake(4, 8, old=old)
    for stream in (None, 0, 7, _Torch(), _Core()):
        with pytest.raises(RuntimeError):
            kernels.double(x, y, stream=stream)
    # To DLPack the legacy default stream is 1.
    assert x.streams == y.streams == [1, 1, 7, 9, 11]
    assert (x.made, x.deleted, y.made, y.deleted) == (5, 5, 5, 5)

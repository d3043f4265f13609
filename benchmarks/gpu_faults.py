"""Bundles kernels that go wrong in every way that a kernel can, to be run where a GPU is.

    python benchmarks/gpu_faults.py FAULTS.zip
    python FAULTS.zip --seconds 10 > verdicts.jsonl        # there

Each launch has a sound original and a faulty kernel in the translation's place; after each comes a sound launch, which
must match. The first command needs cuTile Python and no GPU.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np
from ferrotile.signatures.model import Signature
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile_runner.gpu.bundle import write_bundle
from ferrotile_runner.python_worker import PythonCompiler
from ferrotile_runner.workers.bundle_format import BundleArray, BundleKernel, BundleLaunch, BundleSide, Manifest

HEAD = "import cuda.tile as ct\n\n\n# ferrotile: x: f32[N], y: f32[N], n: i32, grid=(N/16,)\n@ct.kernel\n"
KERNELS = {
    "sound": "def kernel(x, y, n):\n    i = ct.bid(0)\n    ct.store(y, (i,), ct.load(x, (i,), (16,)) * 2.0)\n",
    "assert": "def kernel(x, y, n):\n    ct.assert_(n < 0)\n    ct.store(y, (ct.bid(0),), ct.load(x, (0,), (16,)))\n",
    "out of bounds": (
        "def kernel(x, y, n):\n"
        "    far = ct.arange(16, dtype=ct.int32) + n * 100000000\n"
        "    ct.store(y, (0,), ct.gather(x, far, check_bounds=False))\n"
    ),
    "hang": (
        "def kernel(x, y, n):\n"
        "    k = n\n"
        "    while k > 0:\n"
        "        old = ct.atomic_add(y, ct.bid(0), 0.0)\n"
        "        k = n + (old != old).astype(ct.int32)\n"
        "    ct.store(y, (ct.bid(0),), ct.load(x, (0,), (16,)))\n"
    ),
}
SIZE = 64
WORDS = ("x", "extent", "one", "y", "extent", "one", "n")
VALUES = {"extent": SIZE, "one": 1, "n": 5}


def signature_of(text: str) -> Signature:
    (kernel,) = translate_document(Document(text)).kernels
    if kernel.signature is None:
        raise ValueError(f"{kernel.name}: {[d.message for d in kernel.diagnostics]}")
    return kernel.signature


def main() -> None:
    target, python = "sm_90", PythonCompiler()
    files: dict[str, bytes] = {}
    for name, body in KERNELS.items():
        text = HEAD + body
        files[f"{name}.cubin"] = python.cubin(text, "kernel", signature_of(text), target).data
        # The same for a GPU that this one is not.
        if name == "sound":
            files["wrong GPU.cubin"] = python.cubin(text, "kernel", signature_of(text), "sm_100").data
    python.close()
    x = np.arange(SIZE, dtype=np.float32)
    files |= {"x.bin": x.tobytes(), "y.expected": (2 * x).tobytes(), "y.mask": bytes([1]) * SIZE}
    arrays = (
        BundleArray("x", "f32", 4, (SIZE,), False, "x.bin"),
        BundleArray("y", "f32", 4, (SIZE,), True, blank=True, expected="y.expected", mask="y.mask"),
    )
    words = tuple(f"={struct.pack('<i', VALUES[word]).hex()}" if word in VALUES else word for word in WORDS)

    def side(name: str) -> BundleSide:
        return BundleSide(f"{name}.cubin", "kernel", (SIZE // 16, 1, 1), words)

    def launch(name: str, fault: str, large: tuple[BundleArray, ...] = arrays) -> BundleLaunch:
        return BundleLaunch(name, side("sound"), side(fault), large, {}, None, None, False, False)

    huge = (*arrays, BundleArray("more than the GPU has", "i8", 1, (1 << 38,), False, blank=True))
    launches = [launch("sound", "sound")]
    for fault in (*list(KERNELS)[1:], "wrong GPU"):
        launches += [launch(fault, fault), launch(f"sound, after {fault}", "sound")]
    launches += [launch("out of memory", "sound", huge), launch("sound, after out of memory", "sound")]
    kernel = BundleKernel("gpu_faults.py", "faults", "x: f32[N], y: f32[N], n: i32", tuple(launches))
    write_bundle(Path(sys.argv[1]), Manifest(target, "13.3", (kernel,)), files)


if __name__ == "__main__":
    main()

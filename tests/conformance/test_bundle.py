"""What a bundle hands to a GPU, against the ABI of both compilers written out by hand."""

from __future__ import annotations

import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile_runner.gpu.bundle import Asked, BundleWriter, NotBundled
from ferrotile_runner.session import Session
from ferrotile_runner.workers.bundle_format import BundleKernel, Launches, read_manifest

pytestmark = [pytest.mark.compilers, pytest.mark.timeout(300)]

EXAMPLE = (Path(__file__).parents[2] / "examples" / "softmax.py").read_text()
SCALED = """\
import cuda.tile as ct


# ferrotile: x: f16[M, N], scale: f32, y: f16[M, N], grid=(M/8, N/16)
@ct.kernel
def scaled(x, scale, y):
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, (i, j), (8, 16), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (i, j), (tile * scale).astype(ct.float16))
"""


def bundle(session: Session, path: Path, text: str, launches: Launches) -> BundleKernel:
    document = Document(text)
    (kernel,) = translate_document(document).kernels
    with BundleWriter(path, Asked("sm_90", launches), session) as writer:
        writer.add(document, None, kernel, "k.py")
    (made,) = read_manifest(path).kernels
    return made


def integers(words: tuple[str, ...]) -> tuple[str | int, ...]:
    """Addresses by name, other words as the four bytes of an `i32`."""
    return tuple(struct.unpack("<i", bytes.fromhex(w[1:]))[0] if w.startswith("=") else w for w in words)


def test_words_are_those_of_the_abi(session: Session, tmp_path: Path) -> None:
    kernel = bundle(session, tmp_path / "b.zip", SCALED, Launches.SMALL)
    scale = {struct.unpack("<f", bytes.fromhex(one.original.words[5][1:]))[0] for one in kernel.launches}
    assert len(scale) > 1, "values of the scalar vary"
    sizes = set()
    for launch in kernel.launches:
        x, y = launch.arrays
        assert (x.name, x.dtype, x.bytes, x.written, y.written) == ("x", "f16", 2, False, True)
        m, n = map(int, re.findall(r"[MN]=(\d+)", launch.name))
        sizes.add((m, n))
        assert x.shape[0] == y.shape[0] == m
        # Rows of strided arrays have gaps: the storage is wider than the array.
        wider = x.shape[1] > n and y.shape[1] > n
        assert wider if "strided" in launch.name else x.shape == y.shape == (m, n)
        words = integers(launch.original.words)
        assert words[:5] == ("x", m, n, x.shape[1], 1) and words[6:] == ("y", m, n, y.shape[1], 1)
        # The Rust has the partition of its `&mut Tensor` behind the array: the tile's extents and strides.
        words = integers(launch.translation.words)
        assert words[:5] == ("x", m, n, x.shape[1], 1) and words[6:] == ("y", m, n, y.shape[1], 1, 8, 16, 16, 1)
        assert launch.original.words[5] == launch.translation.words[5]
        assert launch.original.grid == launch.translation.grid == (-(-m // 8), -(-n // 16), 1)
    assert {(16, 32), (1, 1), (9, 17)} <= sizes


def test_the_interpreters_results_go_along(session: Session, tmp_path: Path) -> None:
    kernel = bundle(session, tmp_path / "b.zip", SCALED, Launches.SMALL)
    launch = next(one for one in kernel.launches if one.name.startswith("two whole tiles"))
    x, y = launch.arrays
    assert x.data is not None and y.expected is not None and y.mask is not None
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        before = np.frombuffer(archive.read(x.data), np.float16).astype(np.float64)
        expected = np.frombuffer(archive.read(y.expected), np.float16)
        assert set(archive.read(y.mask)) == {1}
        assert archive.read(launch.original.cubin)[:4] == archive.read(launch.translation.cubin)[:4] == b"\x7fELF"
    (scale,) = struct.unpack("<f", bytes.fromhex(launch.original.words[5][1:]))
    # f16 times f32 is f32, stored as f16: the product of both in f64 is exact, then rounded twice.
    assert np.array_equal(expected, (before * scale).astype(np.float32).astype(np.float16))


def test_the_large_launch_is_specialised_and_has_no_values(session: Session, tmp_path: Path) -> None:
    kernel = bundle(session, tmp_path / "b.zip", EXAMPLE, Launches.ALL)
    (large,) = (launch for launch in kernel.launches if launch.timed)
    x, y = large.arrays
    assert x.shape == y.shape and x.shape[1] == 1024 and 1 << 24 <= x.shape[0] * x.shape[1] <= 1 << 25
    assert x.data is None and not x.blank and y.blank and y.expected is None
    assert large.original.cubin != kernel.launches[0].original.cubin


def test_what_is_not_translated_is_not_bundled(session: Session, tmp_path: Path) -> None:
    with pytest.raises(NotBundled, match="not translated"):
        bundle(session, tmp_path / "b.zip", SCALED.replace("tile * scale", "ct.nothing(tile)"), Launches.SMALL)
    assert not list(tmp_path.iterdir()), "nothing is left behind"

"""Bundles are run, compared, timed, and survive what kernels do; around a driver that needs no GPU."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from ferrotile_runner.gpu.bundle import write_bundle
from ferrotile_runner.workers.bundle_format import (
    MANIFEST,
    BundleArray,
    BundleError,
    BundleKernel,
    BundleLaunch,
    BundleSide,
    Manifest,
    read_manifest,
    to_json,
)

FAKE = Path(__file__).parents[1] / "fixtures" / "fake_cuda"

READ = """
def value(words, place, kind):
    return ctypes.cast(words[place], ctypes.POINTER(kind))[0]
def floats(words, place, count):
    return (ctypes.c_float * count).from_address(value(words, place, ctypes.c_uint64))
"""
DOUBLE = (
    READ
    + """
def kernel(grid, words):
    n = value(words, 1, ctypes.c_int32)
    assert grid == (1, 1, 1) and value(words, 2, ctypes.c_float) == 2.0
    x, y = floats(words, 0, n), floats(words, 3, n)
    for i in range(n):
        y[i] = 2.0 * x[i]
"""
)
WORDS = ("x", "=" + struct.pack("<i", 4).hex(), "=" + struct.pack("<f", 2.0).hex(), "y")
X = np.array([1.0, -2.0, 0.5, 3.0], np.float32)


def launch(
    name: str, original: str, translation: str, *, timed: bool = False, depth: int | None = None, racing: bool = False
) -> BundleLaunch:
    sides = (BundleSide(cubin, "kernel", (1, 1, 1), WORDS) for cubin in (original, translation))
    arrays = (
        BundleArray("x", "f32", 4, (4,), False, "x.bin"),
        BundleArray("y", "f32", 4, (4,), True, blank=True, expected="y.expected", mask="y.mask"),
    )
    original, translation = sides
    return BundleLaunch(name, original, translation, arrays, {}, depth, None, timed, racing)


def write(path: Path, cubins: dict[str, str], launches: list[BundleLaunch], mask: bytes = b"\1\1\1\1") -> Path:
    manifest = Manifest("sm_90", "13.3", (BundleKernel("k.py", "double", "x: f32[4]", tuple(launches)),))
    files = {name: text.encode() for name, text in cubins.items()}
    files |= {"x.bin": X.tobytes(), "y.expected": (2 * X).tobytes(), "y.mask": mask}
    write_bundle(path, manifest, files)
    return path


def ran(bundle: Path, *options: str, **environment: str) -> tuple[int, list[dict[str, object]], str]:
    """Runs a bundle as a program, alone: nothing of ferrotile is installed for it but what is in it."""
    paths = os.pathsep.join((str(FAKE), *(path for path in sys.path if path.endswith("site-packages"))))
    command = [sys.executable, "-S", str(bundle), *options]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": paths, **environment}
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_both_sides_agree_and_are_timed(tmp_path: Path) -> None:
    slow = DOUBLE + "MILLISECONDS = 4.0\n"
    bundle = write(tmp_path / "b.zip", {"a": slow, "b": DOUBLE}, [launch("four", "a", "b", timed=True)])
    code, (device, verdict, total), errors = ran(bundle)
    assert (code, errors) == (0, "")
    assert device == {"device": {"name": "Fake GPU", "architecture": "sm_90", "driver": 13000}}
    assert verdict["verdict"] == "match"
    assert verdict["arrays"]["y"]["words"] == verdict["interpreter"]["y"]["words"] == "bit-equal"
    assert verdict["time"] == {
        "original_ms": 4.0,
        "translation_ms": 1.0,
        "ratio": 0.25,
        "quartiles": [0.25, 0.25],
        "launches": 25,
    }
    assert total["summary"]["matched"] == total["summary"]["bit_equal"] == 1
    assert total["summary"]["time_ratio"] == 0.25


def test_a_difference_is_named(tmp_path: Path) -> None:
    wrong = DOUBLE.replace("2.0 * x[i]", "2.0 * x[i] + (i == 2)")
    bundle = write(tmp_path / "b.zip", {"a": DOUBLE, "b": wrong}, [launch("four", "a", "b")])
    code, (_, verdict, total), _ = ran(bundle)
    assert code == 1 and verdict["verdict"] == "differ"
    found = verdict["arrays"]["y"]
    assert (found["worst"], found["differing"], found["error"]) == ([2], 1, 1.0)
    assert found["words"] == "1 of 4 elements differ, [2]: 1 (0x3f800000) and 2 (0x40000000)"
    assert total["summary"]["kernels_matched"] == 0


def test_elements_that_the_original_leaves_open_are_not_compared(tmp_path: Path) -> None:
    wrong = DOUBLE.replace("2.0 * x[i]", "2.0 * x[i] + (i == 2)")
    launches = [launch("four", "a", "b")]
    code, (_, verdict, _), _ = ran(write(tmp_path / "b.zip", {"a": DOUBLE, "b": wrong}, launches, b"\1\1\0\1"))
    assert code == 0 and verdict["arrays"]["y"]["compared"] == 3


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("    floats(words, 0, n)[0] = 9.0\n", ["x"]),
        ("    floats(words, 3, n + 1)[n] = 9.0\n", ["around y"]),
        ("    floats(words, 0, n + 1)[n] = 9.0\n", ["around x"]),
    ],
)
def test_what_is_not_its_own_must_stay_as_it_is(tmp_path: Path, damage: str, named: list[str]) -> None:
    bundle = write(tmp_path / "b.zip", {"a": DOUBLE, "b": DOUBLE + damage}, [launch("four", "a", "b")])
    code, (_, verdict, _), _ = ran(bundle)
    assert code == 1 and verdict["verdict"] == "differ"
    assert verdict["touched"] == {"original": [], "translation": named}


FAULTS = {
    "assert": "def kernel(grid, words): raise Fault('CUDA_ERROR_ASSERT')",
    "out of bounds": "def kernel(grid, words): raise Fault('CUDA_ERROR_ILLEGAL_ADDRESS')",
    "wrong GPU": "other architecture",
    "hang": "import time\ndef kernel(grid, words): time.sleep(60)",
    "crash": "import os\ndef kernel(grid, words): os.kill(os.getpid(), 11)",
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_a_verdict_and_the_next_launch_runs(tmp_path: Path, kind: str) -> None:
    launches = [launch("first", "a", "bad"), launch("second", "bad", "a"), launch("third", "a", "a")]
    bundle = write(tmp_path / "b.zip", {"a": DOUBLE, "bad": FAULTS[kind]}, launches)
    code, (_, first, second, third, total), _ = ran(bundle, "--seconds", "2")
    assert code == 1
    assert (first["fault"]["step"], first["fault"]["kind"]) == ("translation", kind)
    assert (second["fault"]["step"], second["fault"]["kind"]) == ("original", kind)
    assert third["verdict"] == "match"
    assert total["summary"]["faults"] == {kind: 2}


def test_without_a_gpu_the_reason_is_said(tmp_path: Path) -> None:
    bundle = write(tmp_path / "b.zip", {"a": DOUBLE}, [launch("four", "a", "a")])
    code, lines, errors = ran(bundle, FAKE_INIT="CUDA_ERROR_NO_DEVICE")
    assert (code, lines) == (2, [])
    assert (
        errors == "ferrotile: no GPU: no NVIDIA GPU is visible to the driver; see `nvidia-smi` (CUDA_ERROR_NO_DEVICE)\n"
    )


def test_a_bundle_for_another_gpu_is_refused(tmp_path: Path) -> None:
    bundle = write(tmp_path / "b.zip", {"a": DOUBLE}, [launch("four", "a", "a")])
    manifest = read_manifest(bundle)._replace(target="sm_100")
    with zipfile.ZipFile(bundle) as old, zipfile.ZipFile(tmp_path / "c.zip", "w") as new:
        for name in old.namelist():
            new.writestr(name, to_json(manifest) if name == MANIFEST else old.read(name))
    code, lines, errors = ran(tmp_path / "c.zip")
    assert (code, lines) == (2, [])
    assert "for sm_100, this GPU is sm_90: bundle with `--target sm_90`" in errors


def test_results_are_kept(tmp_path: Path) -> None:
    bundle = write(tmp_path / "b.zip", {"a": DOUBLE}, [launch("four", "a", "a")])
    assert ran(bundle, "--keep", str(tmp_path / "kept"))[0] == 0
    assert np.load(tmp_path / "kept" / "0" / "0" / "y.npy").view(np.float32).tolist() == (2 * X).tolist()


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.zip").write_text("nothing")
    with pytest.raises(BundleError, match="not a bundle"):
        read_manifest(tmp_path / "no.zip")
    with zipfile.ZipFile(tmp_path / "old.zip", "w") as archive:
        archive.writestr(MANIFEST, '{"version": 0}')
    with pytest.raises(BundleError, match="version 0, not 1"):
        read_manifest(tmp_path / "old.zip")


def test_a_manifest_survives_its_text(tmp_path: Path) -> None:
    bundle = write(tmp_path / "b.zip", {}, [launch("four", "a", "b", timed=True, depth=7)])
    kernel = BundleKernel("k.py", "double", "x: f32[4]", (launch("four", "a", "b", timed=True, depth=7),))
    assert read_manifest(bundle) == Manifest("sm_90", "13.3", (kernel,))


def test_more_memory_than_the_gpu_has_is_a_fault(tmp_path: Path) -> None:
    small = launch("four", "a", "a")
    huge = small._replace(arrays=(*small.arrays, BundleArray("z", "i8", 1, (1 << 40,), False, blank=True)))
    code, (_, first, second, _), _ = ran(write(tmp_path / "b.zip", {"a": DOUBLE}, [huge, small]))
    assert code == 1 and second["verdict"] == "match"
    assert (first["fault"]["step"], first["fault"]["kind"]) == ("original", "out of memory")


def test_what_depends_on_the_order_of_blocks_is_open(tmp_path: Path) -> None:
    wrong = DOUBLE.replace("2.0 * x[i]", "2.0 * x[i] + (i == 2)")
    bundle = write(tmp_path / "b.zip", {"a": DOUBLE, "b": wrong}, [launch("four", "a", "b", racing=True)])
    code, (_, verdict, total), _ = ran(bundle)
    assert code == 0 and verdict["verdict"] == "open"
    assert (total["summary"]["matched"], total["summary"]["open"], total["summary"]["kernels_matched"]) == (0, 1, 1)


def test_two_results_that_differ_stand_beside_what_f64_makes_of_it(tmp_path: Path) -> None:
    near = DOUBLE.replace("2.0 * x[i]", "2.0 * x[i] * (1 + 2.0**-23 * (i == 3))")
    one = launch("four", "a", "b", depth=4)
    known = one.arrays[1]._replace(reference="y.reference")
    unknown = one.arrays[1]._replace(no_reference="`bitcast` uses the bits of a float")
    for array, said in ((known, "in f64: 6.25"), (unknown, "in f64: not known, `bitcast` uses the bits of a float")):
        made = one._replace(arrays=(one.arrays[0], array))
        bundle = write(tmp_path / "b.zip", {"a": DOUBLE, "b": near}, [made])
        with zipfile.ZipFile(bundle, "a") as archive:
            archive.writestr("y.reference", np.array([2.0, -4.0, 1.0, 6.25]).tobytes())
        code, (_, verdict, _), _ = ran(bundle)
        assert code == 0 and verdict["verdict"] == "match"
        assert verdict["arrays"]["y"]["worst"] == [3]
        assert said in verdict["arrays"]["y"]["words"]

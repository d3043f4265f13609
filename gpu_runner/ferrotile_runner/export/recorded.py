"""Recorded launches for the tests of a crate: small inputs, and what the original makes of them in the interpreter."""

from __future__ import annotations

import io
import struct
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from ferrotile.crate.model import ArrayData, PythonFile, Recording
from ferrotile.crate.modules import Kernel, RustModule
from ferrotile.program.dtypes import DType, Kind
from ferrotile.signatures.model import ArrayArgument, ScalarArgument, Signature
from msgspec.structs import replace

from ferrotile_runner.compile_error import CompileError
from ferrotile_runner.parameter_words import Role, python_words
from ferrotile_runner.process import ProcessError
from ferrotile_runner.rungs.subject import RungFailure, RungSkipped, ToolMissing, subject_of
from ferrotile_runner.session import Session
from ferrotile_runner.simulator import SimulatorFault
from ferrotile_runner.tileir.interpreter.elements import Array
from ferrotile_runner.workers.array_verdict import OPEN
from ferrotile_runner.workers.bundle_format import BundleArray, BundleLaunch, Launches

SECONDS = 60.0
LARGEST = 1 << 18
"""Bytes that the arrays of a recording have at most, before the launch."""

_STORED: Mapping[str, str] = {
    "f16": "<f2",
    "bf16": "<u2",
    "f32": "<f4",
    "f64": "<f8",
    **{f"{kind}{8 * size}": f"<{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)},
}
"""Element types as `.npy` files have them; bf16 as its bits."""

_WISHES = ("tiles and a tail", "one tile and one element", "other values", "less than a tile", "two whole tiles", "one")


class NotRecorded(Exception):
    """A kernel has no launch that a test can have; the message says why."""


def record(session: Session, module: RustModule, kernel: Kernel, cancel: threading.Event | None = None) -> Recording:
    """One launch of a kernel. Compiles both sides, for which the kernel's slice of its file is run. Raises
    NotRecorded, and ToolMissing without compilers."""
    planned, file = kernel.planned, module.file
    entry = replace(planned.entry, name=planned.entry.module)
    subject = subject_of(file.document, replace(planned.kernel, entry=entry), file.options.target, file.module, cancel)
    for array in planned.arrays:
        if array.dtype.name not in _STORED:
            raise NotRecorded(f"tests have no arrays of {array.dtype.name}")
    try:
        original, translation = session.python_code(subject), session.rust_code(subject)
        checks = session.compile_rust(subject).launch_checks
        with tempfile.TemporaryDirectory(prefix="ferrotile-") as scratch:
            folder = Path(scratch)
            made, left_out = session.simulator().prepare(
                original.tile_ir,
                translation.tile_ir,
                planned.signature,
                entry,
                checks,
                folder,
                "arrays",
                wanted=Launches.SMALL,
                seconds=SECONDS,
                cancel=cancel,
            )
            chosen = _chosen(made, planned.signature)
            if chosen is None:
                why = "; ".join(left_out) or "no launch of the interpreter is small enough"
                raise NotRecorded(why)
            return _recording(chosen, planned.signature, folder)
    except ToolMissing:
        raise
    except (RungFailure, RungSkipped, ProcessError, CompileError, SimulatorFault) as error:
        raise NotRecorded(str(error)) from error


def _chosen(launches: Sequence[BundleLaunch], signature: Signature) -> BundleLaunch | None:
    """The launch that shows most and is small: with several tiles and a tail, of ordinary values."""
    fit = [one for one in launches if not one.racing and _bytes(one) <= LARGEST and _contiguous(one, signature)]
    for wish in _WISHES:
        found = next((one for one in fit if one.name.startswith(wish)), None)
        if found is not None:
            return found
    return None


def _bytes(launch: BundleLaunch) -> int:
    return sum(_count(array) * array.bytes for array in launch.arrays)


def _count(array: BundleArray) -> int:
    count = 1
    for extent in array.shape:
        count *= extent
    return count


def _words(launch: BundleLaunch, signature: Signature) -> Iterator[tuple[str, Role, bytes]]:
    for word, text in zip(python_words(signature), launch.original.words, strict=True):
        if text.startswith("="):
            yield word.argument, word.role, bytes.fromhex(text[1:])


def _contiguous(launch: BundleLaunch, signature: Signature) -> bool:
    """Whether each array's extents are those of its storage."""
    extents: dict[str, list[int]] = {}
    for name, role, data in _words(launch, signature):
        if role is Role.EXTENT:
            extents.setdefault(name, []).append(struct.unpack("<i", data)[0])
    return all(list(array.shape) == extents.get(array.name) for array in launch.arrays)


def _recording(launch: BundleLaunch, signature: Signature, folder: Path) -> Recording:
    types = {a.name: a.dtype for a in signature.arguments if isinstance(a, ScalarArgument)}
    scalars = {n: _scalar(data, types[n]) for n, role, data in _words(launch, signature) if role is Role.SCALAR}
    names = {a.name: a for a in signature.arguments if isinstance(a, ArrayArgument)}
    arrays = tuple(_array(array, folder) for array in launch.arrays if array.name in names)
    exact = launch.depth is None and launch.interpreted is None
    return Recording(arrays, scalars, launch.original.grid, exact)


def _array(array: BundleArray, folder: Path) -> ArrayData:
    def read(name: str | None, dtype: str) -> Array | None:
        if name is None:
            return None
        found: Array = np.frombuffer((folder / name).read_bytes(), np.dtype(dtype)).reshape(array.shape)
        return found

    stored = _STORED[array.dtype]
    given, expected, mask = read(array.data, stored), read(array.expected, stored), read(array.mask, "u1")
    assert given is not None
    checked = None if mask is None or not (mask == OPEN).any() else (mask != OPEN).astype(np.uint8)
    return ArrayData(
        array.name,
        array.dtype,
        array.shape,
        _npy(given),
        None if expected is None else _npy(expected),
        None if checked is None else _npy(checked),
    )


def _npy(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def _scalar(data: bytes, dtype: DType) -> int | float | bool:
    if dtype.kind is Kind.BOOL:
        return bool(data[0])
    if dtype.is_integer:
        return int.from_bytes(data, "little", signed=dtype.kind is Kind.SIGNED)
    if dtype.name == "bf16":
        return float(struct.unpack("<f", b"\0\0" + data)[0])
    return float(np.frombuffer(data, np.dtype(_STORED[dtype.name]))[0])


__all__ = ["NotRecorded", "PythonFile", "record"]

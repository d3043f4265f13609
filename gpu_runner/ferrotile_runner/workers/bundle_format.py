"""What a bundle holds: launches of kernels with both sides' cubins, ready for a machine with a GPU and no compiler.

A bundle is a zip archive with `manifest.json` and the files that it names; with this package's workers inside it is
also a program (`python BUNDLE.zip`). Reading one needs the standard library alone.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from ferrotile_runner import json_values as read

VERSION = 1
MANIFEST = "manifest.json"
SIDES = ("original", "translation")


class BundleError(Exception):
    """A file is no bundle, or one of another version; the message says which and what to do."""


class BundleArray(NamedTuple):
    """An array of a launch. `shape` has the extents of its storage, which is contiguous; `dtype` is a cuTile Rust name,
    `bytes` the size of an element. `data`: a file with what it holds before the launch; without one it is filled at
    random from `seed` (integers below `below`), or, where `blank`, with a pattern that is NaN. `expected` and `mask`:
    what the interpreter makes of it, and which elements the original determines (`array_verdict`); `reference`: what it
    would hold if every float were an f64, `no_reference` why that is not known. `written`: whether the kernel may write
    it; `summed`: whether atomics add to it, in any order."""

    name: str
    dtype: str
    bytes: int
    shape: tuple[int, ...]
    written: bool
    data: str | None = None
    seed: int = 0
    below: int = 1
    blank: bool = False
    expected: str | None = None
    mask: str | None = None
    summed: bool = False
    reference: str | None = None
    no_reference: str = ""


class BundleSide(NamedTuple):
    """One kernel of a launch. `words` are its parameters in order: the name of an array, whose address is passed, or
    the bytes of a value as hexadecimal digits behind `=`."""

    cubin: str
    symbol: str
    grid: tuple[int, int, int]
    words: tuple[str, ...]


class Launches(StrEnum):
    """Which launches of a kernel a bundle has."""

    ALL = "all"
    SMALL = "small"
    """Those that the interpreter runs too."""
    LARGE = "large"
    """The one for the clock."""


class BundleLaunch(NamedTuple):
    """Both sides on the same arrays. `copies`: arrays that hold a copy of another (`copy: array`). `depth`: as in
    `array_verdict.compare_bits`; `interpreted`: the same for the interpreter and the original, whose sums and functions
    the GPU rounds in its own way. `timed`: large enough that its time says something. `racing`: what the original makes
    depends on the order of its blocks, so that a difference is no fault."""

    name: str
    original: BundleSide
    translation: BundleSide
    arrays: tuple[BundleArray, ...]
    copies: Mapping[str, str]
    depth: int | None
    interpreted: int | None
    timed: bool
    racing: bool

    def side(self, name: str) -> BundleSide:
        return self.original if name == "original" else self.translation


class BundleKernel(NamedTuple):
    """A kernel under one signature, and its launches. `left_out`: launches that are not in the bundle, and why."""

    file: str
    name: str
    signature: str
    launches: tuple[BundleLaunch, ...]
    left_out: tuple[str, ...] = ()


class Manifest(NamedTuple):
    """`target` is the architecture of the cubins; `bytecode` the Tile IR version that they were made from."""

    target: str
    bytecode: str
    kernels: tuple[BundleKernel, ...]


def to_json(manifest: Manifest) -> str:
    """The text of `manifest.json`."""

    def plain(value: object) -> object:
        if isinstance(value, tuple):
            fields = getattr(value, "_fields", None)
            if fields is not None:
                return {name: plain(item) for name, item in zip(fields, value, strict=True)}
            return [plain(item) for item in value]
        return value

    made = plain(manifest)
    assert isinstance(made, dict)
    return json.dumps({"version": VERSION, **made}, indent=1)


def _optional(value: object) -> str | None:
    return None if value is None else read.text(value)


def _integers(value: object) -> tuple[int, ...]:
    return tuple(map(read.integer, read.items(value)))


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(read.text, read.items(value)))


def _array(value: object) -> BundleArray:
    one = read.mapping(value)
    return BundleArray(
        read.text(one["name"]),
        read.text(one["dtype"]),
        read.integer(one["bytes"]),
        _integers(one["shape"]),
        bool(one["written"]),
        _optional(one["data"]),
        read.integer(one["seed"]),
        read.integer(one["below"]),
        bool(one["blank"]),
        _optional(one["expected"]),
        _optional(one["mask"]),
        bool(one["summed"]),
        _optional(one.get("reference")),
        read.text(one.get("no_reference", "")),
    )


def _side(value: object) -> BundleSide:
    one = read.mapping(value)
    x, y, z = _integers(one["grid"])
    return BundleSide(read.text(one["cubin"]), read.text(one["symbol"]), (x, y, z), _texts(one["words"]))


def _launch(value: object) -> BundleLaunch:
    one = read.mapping(value)
    return BundleLaunch(
        read.text(one["name"]),
        _side(one["original"]),
        _side(one["translation"]),
        tuple(map(_array, read.items(one["arrays"]))),
        {name: read.text(of) for name, of in read.mapping(one["copies"]).items()},
        read.integer_or_none(one["depth"]),
        read.integer_or_none(one["interpreted"]),
        bool(one["timed"]),
        bool(one["racing"]),
    )


def _kernel(value: object) -> BundleKernel:
    one = read.mapping(value)
    file, name, signature = (read.text(one[key]) for key in ("file", "name", "signature"))
    launches = tuple(map(_launch, read.items(one["launches"])))
    return BundleKernel(file, name, signature, launches, _texts(one["left_out"]))


def read_manifest(path: Path) -> Manifest:
    """The manifest of a bundle. Raises BundleError."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = read.mapping(json.loads(archive.read(MANIFEST)))
        if found.get("version") != VERSION:
            raise BundleError(f"{path}: a bundle of version {found.get('version')}, not {VERSION}: make it anew")
        kernels = tuple(map(_kernel, read.items(found["kernels"])))
        return Manifest(read.text(found["target"]), read.text(found["bytecode"]), kernels)
    except OSError as error:
        raise BundleError(f"{path}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise BundleError(f"{path}: not a bundle of `ferrotile bundle` ({error})") from error

"""What a crate is made of, and what it is made from."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ferrotile.rust.emit import Parts
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import Module
from ferrotile.translation import KernelTranslation, Options

CrateFiles = Mapping[str, str | bytes]
"""Paths relative to the crate's folder, with `/`, in the order in which a reader wants them; text ends lines by LF."""


class PythonFile(Struct, frozen=True):
    """One Python file and its translation. `stem` names the module; `path` is how a reader knows the file, `link` leads
    to it from a file of the crate's `src`. `parts` runs parallel to `kernels`. `others`: path and text of files whose
    functions the module imports, by the names that `Module.origins` has."""

    stem: str
    path: str
    link: str
    document: Document
    module: Module
    kernels: tuple[KernelTranslation, ...]
    parts: tuple[Parts | None, ...]
    options: Options
    others: Mapping[str, tuple[str, str]] = {}


class ArrayData(Struct, frozen=True):
    """One array of a recorded launch. `expected`: as `.npy`, after the launch; None for an array that is not written.
    `checked`: elements that the original determines, as a `.npy` of bools; None for all."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    given: bytes
    expected: bytes | None = None
    checked: bytes | None = None


class Recording(Struct, frozen=True):
    """One launch of an original: its arrays and scalars, and the grid. `exact`: results are the same in every order of
    sums, so that bits must be equal."""

    arrays: tuple[ArrayData, ...]
    scalars: Mapping[str, int | float | bool]
    grid: tuple[int, int, int]
    exact: bool


Recordings = Mapping[tuple[str, str], Recording]
"""By module and entry."""


class Refused(Struct, frozen=True):
    """A kernel that has no host function, and why."""

    module: str
    entry: str
    reason: str

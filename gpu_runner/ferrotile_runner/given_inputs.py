"""Inputs that the user gives: arrays and scalars by parameter name, checked against the signature and the launch facts.

Arrays of types that NumPy lacks (bf16, f8) come as raw elements of the same size, which is how `numpy.savez` keeps
those of ml_dtypes.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Set
from pathlib import Path

import numpy as np
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature

from ferrotile_runner.fillings import numpy_dtype
from ferrotile_runner.input_error import InputError
from ferrotile_runner.inputs import Case
from ferrotile_runner.launch_facts import Facts, broken_facts
from ferrotile_runner.sizes import grid_for
from ferrotile_runner.tileir.interpreter.elements import Array

GRID = "grid"
"""Where the launch's grid is not known, the numbers of blocks come under this name."""


def read_npz(path: Path) -> Mapping[str, Array]:
    """The arrays of a file that `numpy.savez` wrote, by name. Raises InputError. Runs nothing: no pickles."""
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise InputError(f"{path.name} holds one array without a name: write it with numpy.savez(file, x=...)")
        with archive:
            return {name: np.asarray(archive[name]) for name in archive.files}
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        why = "it holds Python objects, which are not loaded" if "pickle" in str(error) else str(error)
        raise InputError(f"{path.name} is no file of numpy.savez, or {why}") from None


def case_of(
    name: str, given: Mapping[str, Array], signature: Signature, facts: Facts, written: Set[str] = frozenset()
) -> Case:
    """The launch with these inputs. Arrays that the kernel has `written` may be left out where the others have their
    extents: they hold nothing at first. Raises InputError for names that are missing or unknown, for ranks, element
    types and extents that are not the signature's, for values that no scalar of that type has, and for launches that
    the translation does not claim to be right for."""
    known = {argument.name for argument in signature.arguments}
    unknown = sorted(set(given) - known - {GRID})
    if unknown:
        raise InputError(f"{', '.join(unknown)}: no parameter of {signature.kernel}; it has {', '.join(sorted(known))}")
    sizes: dict[str, int] = {}
    wanted = [argument for argument in signature.arguments if isinstance(argument, ArrayArgument)]
    blank = frozenset(a.name for a in wanted if a.name not in given and a.name in written)
    arrays = {a.name: _array(a, given, sizes) for a in wanted if a.name not in blank}
    arrays |= {a.name: _blank(a, sizes) for a in wanted if a.name in blank}
    scalars: dict[str, int | float | bool] = {}
    for argument in signature.arguments:
        match argument:
            case ScalarArgument(name=key, extent=extent):
                same = key if extent is None else extent
                if key not in given and same in sizes:
                    scalars[key] = sizes[same]
                    continue
                scalars[key] = _scalar(argument, given)
                if extent is not None and extent in sizes and scalars[key] != sizes[extent]:
                    raise InputError(f"{key}: the launch passes {extent}, which is {sizes[extent]}, not {scalars[key]}")
            case ConstantArgument(name=key, value=value):
                if key in sizes and isinstance(value, int) and sizes[key] != value:
                    raise InputError(f"{key} is the constant {value}, and an extent of {sizes[key]} in the inputs")
                if key in given and (given[key].ndim or given[key].item() != value):
                    raise InputError(f"{key} is the constant {value!r} of the signature and cannot be another")
            case ArrayArgument():
                pass
    grid = _grid(given if GRID not in known else {}, signature, sizes, facts)
    broken = broken_facts(facts, sizes, grid)
    if broken:
        raise InputError(f"the translation rests on {'; '.join(broken)}, which these inputs do not satisfy")
    return Case(name, sizes, arrays, scalars, grid, "extents >= 1" if 0 in sizes.values() else "", blank)


def _blank(argument: ArrayArgument, sizes: Mapping[str, int]) -> Array:
    unknown = [extent for extent in argument.extents if isinstance(extent, str) and extent not in sizes]
    if unknown:
        axes = ", ".join(map(str, argument.extents))
        what = f"{argument.name} is missing: an array of {argument.dtype.name}[{axes}]"
        raise InputError(f"{what}, and no other array has {', '.join(unknown)}")
    shape = tuple(sizes[extent] if isinstance(extent, str) else extent for extent in argument.extents)
    return np.zeros(shape, numpy_dtype(argument.dtype))


def _array(argument: ArrayArgument, given: Mapping[str, Array], sizes: dict[str, int]) -> Array:
    name, extents = argument.name, argument.extents
    shape = ", ".join(map(str, extents))
    if name not in given:
        raise InputError(f"{name} is missing: an array of {argument.dtype.name}[{shape}]")
    array, dtype = given[name], numpy_dtype(argument.dtype)
    if array.ndim != len(extents):
        raise InputError(f"{name} has {array.ndim} axes; the signature says {argument.dtype.name}[{shape}]")
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
        array = np.ascontiguousarray(array).view(dtype)
    if array.dtype != dtype:
        raise InputError(f"{name} has elements of {array.dtype.name}; the signature says {argument.dtype.name}")
    for extent, size in zip(extents, array.shape, strict=True):
        if isinstance(extent, int) and extent != size:
            raise InputError(f"{name} has {size} elements along an axis that the signature gives {extent}")
        if isinstance(extent, str) and sizes.setdefault(extent, size) != size:
            raise InputError(f"{name} has {size} elements along {extent}, which is {sizes[extent]} elsewhere")
    return np.ascontiguousarray(array)


def _scalar(argument: ScalarArgument, given: Mapping[str, Array]) -> int | float | bool:
    name, dtype = argument.name, numpy_dtype(argument.dtype)
    if name not in given:
        raise InputError(f"{name} is missing: a number of type {argument.dtype.name}")
    value = given[name]
    if value.ndim:
        raise InputError(f"{name} is a number of type {argument.dtype.name}, not an array of {value.ndim} axes")
    if not np.issubdtype(value.dtype, np.number) and value.dtype != np.bool_:
        raise InputError(f"{name} is a number of type {argument.dtype.name}, not {value.dtype.name}")
    number: int | float | bool = value.item()
    with np.errstate(all="ignore"):
        try:
            kept = np.asarray(number).astype(dtype)
        except (OverflowError, TypeError) as error:
            raise InputError(f"{name}: {number!r} is no {argument.dtype.name}: {error}") from None
    if argument.dtype.is_integer and kept.item() != number:
        raise InputError(f"{name}: {number!r} is no {argument.dtype.name}")
    return number


def _grid(
    given: Mapping[str, Array], signature: Signature, sizes: Mapping[str, int], facts: Facts
) -> tuple[int, int, int]:
    if GRID in given:
        blocks = given[GRID]
        whole = np.issubdtype(blocks.dtype, np.integer) and blocks.ndim <= 1 and blocks.size <= 3
        if not whole or not blocks.size or bool((blocks < 0).any()):
            raise InputError("grid: one to three numbers of blocks")
        x, y, z = [*blocks.reshape(-1).tolist(), 1, 1, 1][:3]
        return x, y, z
    found = grid_for(signature, sizes, facts)
    if found is None:
        raise InputError("the grid is not known: add `grid=(...)` to the directive, or `grid` to the inputs")
    return found

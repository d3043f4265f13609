"""Runs a function of the user's that makes inputs; a program: `input_factory.py SLICE FUNCTION SEED FOLDER`.

The file SLICE is executed: the caller has cut it down to the function and what it names, and answers for trust. The
function is called with `seed=SEED` where it has such a parameter; it gives a mapping from parameter names to arrays
and numbers, or several of them. Each becomes FOLDER/0.npz, 1.npz, ... What goes wrong is said on stderr, status 3.
"""

from __future__ import annotations

import inspect
import random
import runpy
import sys
import traceback
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

REFUSED = 3
MOST = 32
"""Launches that one function may give."""


class Refused(Exception):
    """What the function gave is no inputs; the message says why."""


def as_array(name: str, value: object) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Arrays, numbers, and whatever NumPy makes an array of numbers of."""
    made = np.asarray(value)
    if made.dtype.hasobject:
        raise Refused(f"{name} is no array of numbers but {type(value).__name__}")
    return made


def launches(made: object) -> list[Mapping[str, object]]:
    several: Iterable[object] = [made] if isinstance(made, Mapping) or not isinstance(made, Iterable) else list(made)
    found: list[Mapping[str, object]] = []
    for one in several:
        if not isinstance(one, Mapping) or not all(isinstance(name, str) for name in one):
            raise Refused(f"it gave {type(one).__name__}, not a mapping from parameter names to arrays")
        found.append(one)
    if not 1 <= len(found) <= MOST:
        raise Refused(f"it gave {len(found)} launches, not 1 to {MOST}")
    return found


def save(path: Path, arrays: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]) -> None:
    """As `numpy.savez`, which has parameters of its own that a kernel's may be called like."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def make(path: str, function: str, seed: int, folder: Path) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)  # functions that draw from NumPy's own state repeat too
    found = runpy.run_path(path)[function]
    options = {"seed": seed} if "seed" in inspect.signature(found).parameters else {}
    for number, launch in enumerate(launches(found(**options))):
        save(folder / f"{number}.npz", {name: as_array(name, value) for name, value in launch.items()})


def main(arguments: list[str]) -> int:
    path, function, seed, folder = arguments
    try:
        make(path, function, int(seed), Path(folder))
    except Refused as error:
        print(error, file=sys.stderr)
        return REFUSED
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
        print(f"{frames[-1].lineno if frames else 0}:{type(error).__name__}: {error}", file=sys.stderr)
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

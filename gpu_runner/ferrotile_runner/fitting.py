"""Launches with arrays as large as the original's accesses ask for.

Extents of which nothing is known are mostly those of other arrays, or what a scalar says; one that is too small makes
the original undefined. It is run to find out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set

from ferrotile.signatures.model import ArrayArgument, Signature

from ferrotile_runner.inputs import Case, Grids, with_room
from ferrotile_runner.launch_facts import facts_of
from ferrotile_runner.tileir.interpreter import FindingKind, Need, RunResult, UndefinedBehaviour

FITS = 40
"""How many times a launch is made larger."""
GROWTH = 4
OFTEN = 4
"""An axis that was made larger so often is not the one that is short."""
UNDEFINED = (FindingKind.OUTSIDE, FindingKind.LOOP)
"""What an original does not do where it is defined."""


_Place = tuple[str, int]
"""An axis of an array."""


class Fitter:
    """Makes launches larger under what is known of them. What one launch needed is tried first for the next."""

    def __init__(self, signature: Signature, hypotheses: Sequence[str], grids: Grids) -> None:
        self._signature, self._hypotheses, self._grids = signature, hypotheses, grids
        self._needed: dict[tuple[str, int], int] = {}

    def fit(
        self, case: Case, run: Callable[[Case], RunResult], undefined: Callable[[str, int], None]
    ) -> tuple[Case, RunResult] | None:
        """The launch that the original is defined for, and what `run` of the original gives; None where there is none:
        `undefined` is then told why, and at which line of the disassembly."""
        first, grown = case, dict[_Place, int]()
        useless: set[_Place] = set()
        for _ in range(FITS):
            try:
                result = run(case)
            except UndefinedBehaviour as error:
                text, line, need = str(error), error.text_line, error.need
            else:
                wrong = next((finding for finding in result.findings if finding.kind in UNDEFINED), None)
                if wrong is None:
                    self._needed |= {(name, axis): case.arrays[name].shape[axis] for name, axis in grown}
                    return case, result
                text, line, need = wrong.text, wrong.text_line, wrong.need
            larger = None if need is None else self._with_room(case, need, grown, useless)
            if larger is not None:
                case = larger
                continue
            # What is asked for grows with the axes that were made larger: it is another one that is short.
            tried = {place for place in grown if need is not None and place[0] == need.array} - useless
            if need is None or need.axis is not None or not tried:
                break
            useless |= tried
            case, grown = first, {}
        undefined(text, line)
        return None

    def _with_room(self, case: Case, need: Need, grown: dict[_Place, int], useless: Set[_Place]) -> Case | None:
        """`grown`: how often an axis was made larger so far."""
        array = case.arrays.get(need.array)
        if array is None:
            return None
        # Of the axes that may be meant, those come first that do not make more blocks.
        for axis in self._axes(need.array, array.ndim) if need.axis is None else [need.axis]:
            now, place = array.shape[axis], (need.array, axis)
            extent = need.extent if need.axis is not None else math.ceil(need.extent * now / max(array.size, 1))
            if place in useless or (need.axis is None and grown.get(place, 0) >= OFTEN):
                continue
            if case.tentative and extent > self._needed.get(place, 0):
                continue  # it is the values that ask for more
            # Loops show one tile after the other: what is needed again is made much larger.
            plenty = max(self._needed.get(place, 0), GROWTH * now if place in grown else 0)
            for most in (plenty, 0):
                found = with_room(case, self._signature, self._hypotheses, self._grids, *place, extent, most)
                if found is not None:
                    grown[place] = grown.get(place, 0) + 1
                    return found
        return None

    def _axes(self, name: str, rank: int) -> list[int]:
        """Last axes first; those of the grid at the end."""
        facts = facts_of(self._hypotheses)
        factors = (*(self._signature.grid or ()), *(said for _, said in facts.grids))
        blocks = {factor.extent for axis in factors for factor in axis}
        arrays = (a for a in self._signature.arguments if isinstance(a, ArrayArgument) and a.name == name)
        extents = next((a.extents for a in arrays), ())
        return sorted(range(rank), key=lambda axis: (axis < len(extents) and extents[axis] in blocks, -axis))

"""The table of kinds of mutations of Tile IR, and the mutants that they make of an entry."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import kinds_control
import kinds_floats
import kinds_memory
import kinds_shapes
import kinds_types
import kinds_values
from edit import Edit, Refused, applied, sites
from ferrotile_runner.tileir.model import Entry
from kinds import TileIrKind
from msgspec import Struct

KINDS: tuple[TileIrKind, ...] = (
    *kinds_values.KINDS,
    *kinds_floats.KINDS,
    *kinds_shapes.KINDS,
    *kinds_memory.KINDS,
    *kinds_control.KINDS,
    *kinds_types.KINDS,
)


class Mutant(Struct, frozen=True):
    """An entry with one change. `line`: that of the disassembly."""

    kind: TileIrKind
    edit: Edit
    entry: Entry

    @property
    def what(self) -> str:
        return self.edit.what

    @property
    def line(self) -> int:
        return self.edit.at.text_line


def edits(entry: Entry) -> Iterator[tuple[TileIrKind, Edit]]:
    """Every change of every kind, before it is known whether it gives Tile IR."""
    for site in sites(entry):
        for kind in KINDS:
            for edit in kind.edits(site):
                yield kind, edit


def mutants(entry: Entry, count: int | None, seed: str, kinds: Sequence[TileIrKind] = KINDS) -> Iterator[Mutant]:
    """`count` mutants that the verifier takes, by turns of each kind that has any; all where `count` is None."""
    found: dict[str, list[tuple[TileIrKind, Edit]]] = {}
    wanted = {kind.name for kind in kinds}
    for kind, edit in edits(entry):
        if kind.name in wanted:
            found.setdefault(kind.name, []).append((kind, edit))
    picks = random.Random(seed)
    for changes in found.values():
        picks.shuffle(changes)
    turn = list(found.values())
    picks.shuffle(turn)
    made = 0
    while turn:
        for changes in turn:
            while changes:
                kind, edit = changes.pop()
                try:
                    entry_made = applied(entry, edit)
                except Refused:
                    continue
                yield Mutant(kind, edit, entry_made)
                made += 1
                break
            if count is not None and made >= count:
                return
        turn = [changes for changes in turn if changes]

"""How a host function launches its kernel: the grid, partitions, copies, and the arrays that it can make itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ferrotile.crate.arithmetic import applied, times
from ferrotile.crate.facts import Count, GridIs, Rearranged, Renamed
from ferrotile.crate.host_model import CannotLaunch, Check, Let
from ferrotile.crate.host_values import Values
from ferrotile.crate.plan import Planned
from ferrotile.translation import RustParameter

_AXES = "xyz"
_MAKES = 4
"""The highest rank that `cutile::api::zeros` makes."""
_MAP = re.compile(r"\b(\w+):\s*MappedPartitionMut<\s*\w+,\s*\{ \[([^\]]*)\] \},\s*\{ \[([^\]]*)\] \},?\s*>")
_COUNTS = re.compile(r"\b(?:num_programs|get_num_tile_blocks)\(")
_OWNED = "0"
"""In a map: an axis that each block has for itself."""


class Map(Struct, frozen=True):
    """A mapped partition: the tile, and for each axis how many tiles one step takes; 0 for an axis that is owned."""

    tile: tuple[str, ...]
    steps: tuple[str, ...]


def maps_of(planned: Planned, values: Values) -> dict[str, Map]:
    """The mapped partitions of a kernel, by the names of their arrays, as its Rust declares them."""
    text = "\n".join(line for line in planned.parts.body if not line.lstrip().startswith("//"))
    declared = {found[1]: (found[2], found[3]) for found in _MAP.finditer(text)}
    generics = {g.name: g for g in planned.generics}

    def number(word: str) -> str:
        generic = generics.get(word)
        if generic is None:
            return word
        told = generic.constant is not None and generic.constant in planned.template.open
        return values.value(generic.constant) if told and generic.constant is not None else generic.value

    def numbers(words: str) -> tuple[str, ...]:
        return tuple(number(word.strip()) for word in words.split(",") if word.strip())

    return {
        p.name: Map(*map(numbers, declared[p.rust or p.name]))
        for p in planned.entry.parameters
        if (p.rust or p.name) in declared
    }


class Launching:
    """The launch of one kernel."""

    def __init__(self, values: Values) -> None:
        self.values, self.host, self.planned = values, values.host, values.planned
        self.maps: Mapping[str, Map] = maps_of(values.planned, values)

    # The grid

    def grid(self, facts: Sequence[GridIs | Renamed | Rearranged]) -> None:
        """Finds the Python's grid, checks that Rust's is the same, and says it where no partition does."""
        values, template = self.values, self.planned.template
        owner = next((p for p in self.planned.entry.parameters if p.kind == "tensor_mut" and p.tile), None)
        renamed = {f.python: f.rust for f in facts if isinstance(f, Renamed)}
        axes = [renamed.get(k, k) for k in range(3)]
        if sorted(axes) != [0, 1, 2]:
            raise CannotLaunch("its grid axes are renamed in a way that is not known")
        mixed = any(isinstance(f, Rearranged) for f in facts)
        rust = None if owner is None else self._partition_grid(owner)
        python: list[str]
        words = [f"the grid's {axis}" for axis in _AXES]
        if template.grid is not None:
            products = [tuple(Count(e, t) for e, t in axis) for axis in template.grid]
            products = [*products, *([()] * (3 - len(products)))]
            python = [values.product(p) for p in products]
        elif rust is not None:
            if mixed:
                raise CannotLaunch("its grid is not known, and blocks are arranged in another way")
            python = [rust[axes[k]] for k in range(3)]
        else:
            self.host.grid_argument = True
            python = [f"i64::from(grid.{k})" for k in range(3)]
        values.grid = python
        for fact in facts:
            if isinstance(fact, GridIs):
                wanted = values.product(fact.blocks)
                values.equal(words[fact.axis], python[fact.axis], values.words(fact.blocks), wanted)
        if self.maps and rust is None:
            if mixed or renamed:
                raise CannotLaunch("blocks are arranged in another way, and its partition is mapped")
            for k in (1, 2):
                values.equal(words[k], python[k], "1", "1")
        elif rust is None:
            if mixed or renamed:
                raise CannotLaunch("blocks are arranged in another way, and no partition says how many there are")
            self.host.grid = tuple(python)
        elif template.grid is not None and mixed:
            values.equal("the number of blocks", times(python), "the number of tiles", times(rust))
        elif template.grid is not None:
            for k in range(3):
                values.equal(words[k], python[k], f"the tiles along {_AXES[axes[k]]}", rust[axes[k]])

    def _partition_grid(self, owner: RustParameter) -> list[str]:
        """Blocks along the Rust axes: the tiles of the partition."""
        tile = [self.values.value(t) for t in self.planned.template.tiles[owner.name]]
        return [*self._tiles(owner.name, tile), "1", "1"][:3]

    def _tiles(self, name: str, tile: Sequence[str]) -> list[str]:
        """How many tiles an array has along each axis of its partition; leading axes are one where it has more."""
        array = self.values.arrays[name]
        merged = len(array.extents) - len(tile)
        extents = [self.host.variables[f"{name}.shape[{axis}]"] for axis in range(len(array.extents))]
        if merged > 0:
            extents = [times(extents[: merged + 1]), *extents[merged + 1 :]]
        counts = []
        for extent, size in zip(extents, tile, strict=True):
            counts.append(extent if size == "1" else f"tiles({extent}, {size})")
        return counts

    # Arguments

    def arguments(self) -> None:
        """What the kernel is passed, and what is made of it first."""
        for parameter in self.planned.entry.parameters:
            if parameter.copy_of is not None:
                self._copy(parameter, parameter.copy_of)
                continue
            array = self.values.arrays.get(parameter.name)
            if array is None:
                self.host.passed.append(self._scalar(parameter.name))
                continue
            name = self.host.names[parameter.name]
            self.host.passed.append(name)
            if parameter.name in self.maps:
                self._mapped(parameter.name, self.maps[parameter.name])
            elif parameter.kind == "tensor_mut":
                tile = [self.values.value(t) for t in self.planned.template.tiles[parameter.name]]
                if len(array.extents) > len(tile):
                    self._contiguous(parameter.name)
                    self.host.prepared.append(Let(name, f"Merged::new({name}, [{_sizes(tile)}])"))
                else:
                    self.host.prepared.append(Let(name, f"{name}.partition([{_sizes(tile)}])"))
            elif parameter.name in self.planned.written:
                self.host.prepared.append(Let(name, f"Written::new({name})"))
        self._made()

    def _mapped(self, name: str, map_: Map) -> None:
        """A partition whose tiles the blocks of the Python's grid take in turns."""
        rust, array = self.host.names[name], self.values.arrays[name]
        if len(array.extents) != len(map_.tile):
            raise CannotLaunch(f"`{rust}` is a mapped partition of another rank")
        tiles = self._tiles(name, map_.tile)
        streamed = times([t for t, step in zip(tiles, map_.steps, strict=True) if step != _OWNED])
        blocks = self.values.grid[0]
        if blocks != streamed and not any(_COUNTS.search(line) for line in self.planned.parts.body):
            # cutile wants no block without a tile; such blocks do nothing
            blocks = applied("min", self._named(blocks), self._named(streamed), inner=False)
        count = self.values.scope.take("blocks")
        self.host.steps.append(Let(count, blocks))
        self.values.check("blocks", f'"{rust}"', count)
        self.host.prepared.append(Let(rust, f"{rust}.partition([{_sizes(map_.tile)}])"))
        self.host.prepared.append(Let(rust, f"{rust}.map([{_sizes(map_.steps)}], {count} as u32)"))

    def _named(self, value: str) -> str:
        """A value, or a name for it where it is a product."""
        if " " not in value:
            return value
        name = self.values.scope.take("tiles_of_all", "count")
        self.host.steps.append(Let(name, value))
        return name

    def _copy(self, parameter: RustParameter, of: str) -> None:
        """A copy of an array that the kernel writes, as it was before the launch."""
        name = self.values.scope.take(parameter.rust or parameter.name)
        self._contiguous(of)  # cutile copies elements that follow each other
        self.host.copies[name] = self.host.names[of]
        self.host.passed.append(name)

    def _contiguous(self, name: str) -> None:
        check = Check("contiguous", (f'"{self.host.names[name]}"', self.host.names[name]))
        if check not in self.host.steps:
            self.host.steps.append(check)

    def _scalar(self, name: str) -> str:
        argument = next(a for a in self.planned.scalars if a.name == name)
        if argument.extent is None:
            return self.host.names[name]
        value = self.values.value(argument.extent)
        return value if value.isdigit() or argument.dtype.name == "i64" else f"{value} as {argument.dtype.name}"

    def _made(self) -> None:
        """Extents of arrays that are only written, of what the other arguments say."""
        planned = self.planned
        pure = [a for a in planned.arrays if a.name in planned.written and a.name not in planned.reach.read]
        told = {e for a in planned.arrays if a not in pure for e in a.extents if isinstance(e, str)}
        told |= {n for n, v in planned.fixed.items() if type(v) is int} | set(planned.config)
        for array in pure:
            if all(isinstance(e, int) or e in told for e in array.extents) and len(array.extents) <= _MAKES:
                self.host.made[array.name] = tuple(str(e) for e in array.extents)


def _sizes(tile: Sequence[str]) -> str:
    return ", ".join(t if t.isdigit() else f"{t} as usize" for t in tile)

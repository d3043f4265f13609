"""What a host function does before a launch: binds extents, checks every launch fact, makes partitions and the grid.

Every fact that the translation rests on ends here as a check, as a value that the function computes itself, or in
`promises`, which make the function `unsafe`; a fact of a form that is not known makes it refuse the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from ferrotile.crate.arithmetic import applied, bare, times
from ferrotile.crate.facts import (
    Atom,
    Contiguous,
    Count,
    Equal,
    GridIs,
    Multiple,
    Product,
    Rearranged,
    Renamed,
    Unread,
    Within,
    read_fact,
)
from ferrotile.crate.limits import Apply, Blocks, Expression, Leaf
from ferrotile.crate.names import Names
from ferrotile.crate.plan import Planned
from ferrotile.signatures.model import ScalarArgument
from ferrotile.translation import RustParameter

_AXES = "xyz"


class CannotLaunch(Exception):
    """A kernel for which no host function can be made; the message says why."""


class Check(Struct, frozen=True):
    """A call of a method of `Launch`: its name and arguments."""

    method: str
    arguments: tuple[str, ...]


class Bind(Struct, frozen=True):
    """The extents of an array, by the names that they get."""

    array: str
    names: tuple[str, ...]


class Let(Struct, frozen=True):
    name: str
    value: str


Step = Check | Bind | Let


class Host(Struct):
    """A host function in parts. `steps` come first; `passed` are the kernel's arguments, `prepared` what is made of
    those that are written. `grid`: the blocks along each axis, where the launch has to say them. `shapes`: the extents
    of arrays that are written and never read, for a function that makes them."""

    planned: Planned
    names: Mapping[str, str]
    steps: list[Step] = field(default_factory=list)
    prepared: list[Let] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    grid: tuple[str, ...] | None = None
    grid_argument: bool = False
    promises: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    made: dict[str, tuple[str, ...]] = field(default_factory=dict)


def host_of(planned: Planned) -> Host:
    """Plans the launch of a kernel. Raises `CannotLaunch`."""
    return _Builder(planned).build()


class _Builder:
    def __init__(self, planned: Planned) -> None:
        self.planned = planned
        arguments = [*planned.arrays, *planned.scalars]
        self.scope = Names(("config", "grid"))
        names = {a.name: self.scope.take(a.name) for a in planned.signature.arguments if a in arguments}
        self.host = Host(planned, names)
        self.arrays = {a.name: a for a in planned.arrays}
        self.checked: list[set[str]] = []
        self.python_grid: list[str] = []

    def build(self) -> Host:
        planned, host = self.planned, self.host
        for output in planned.kernel.outputs:
            if output.form == "mapped":
                raise CannotLaunch(f"`{output.name}` is a mapped partition, which has no host function yet")
        if any(p.copy_of for p in planned.entry.parameters):
            raise CannotLaunch("it takes a copy of an array from before the launch, which has no host function yet")
        self._constants()
        self._extents()
        facts = [read_fact(text) for text in planned.template.facts]
        for fact in facts:
            if isinstance(fact, Unread):
                raise CannotLaunch(f"no check is known for `{fact.text}`")
        for fact in facts:
            self._fact(fact)
        self._grid([f for f in facts if isinstance(f, GridIs | Renamed | Rearranged)])
        self._limits()
        self._promises()
        self._arguments()
        return host

    # What stands for what

    def _constants(self) -> None:
        for name in self.planned.config:
            variable = self.scope.take(name, f"{name}_value")
            self.host.variables[name] = variable
            self.host.steps.append(Let(variable, f"i64::from(config.{_field(name)})"))
            self._check("positive", f'"{_field(name)}"', variable)

    def _extents(self) -> None:
        fixed = {n: v for n, v in self.planned.fixed.items() if type(v) is int}
        for array in self.planned.arrays:
            if not array.extents:
                raise CannotLaunch(f"`{array.name}` has no axes")
            rust = self.host.names[array.name]
            given: list[str] = []
            later: list[Check] = []
            for axis, extent in enumerate(array.extents):
                known = self._known(extent, fixed)
                if known is None:
                    assert isinstance(extent, str)
                    variable = self.scope.take(extent, f"{rust}_{axis}")
                    self.host.variables[extent] = variable
                    given.append(variable)
                    continue
                variable = self.scope.take(f"{rust}_{axis}")
                given.append(variable)
                later.append(self._same(f"{rust}.shape[{axis}]", variable, *known))
            self.host.steps.append(Bind(rust, tuple(given)))
            self.host.steps.extend(later)
            for axis, (variable, extent) in enumerate(zip(given, array.extents, strict=True)):
                value = self._known(extent, fixed)
                self.host.variables[f"{array.name}.shape[{axis}]"] = variable if value is None else value[1]
            if array.name in self.planned.written:
                self._check("distinct", f'"{rust}"', rust)

    def _known(self, extent: str | int, fixed: Mapping[str, object]) -> tuple[str, str] | None:
        """How an extent is called in messages, and its value, if something before tells it."""
        if isinstance(extent, int):
            return str(extent), str(extent)
        if extent in self.host.variables:
            return self._place(extent), self.host.variables[extent]
        if extent in fixed:
            return f"the constant {extent}", str(fixed[extent])
        return None

    def _place(self, symbol: str) -> str:
        """Where an extent is first found: `x.shape[1]`."""
        for array in self.planned.arrays:
            for axis, extent in enumerate(array.extents):
                if extent == symbol:
                    return f"{self.host.names[array.name]}.shape[{axis}]"
        return symbol

    def _value(self, atom: Atom) -> str:
        if isinstance(atom, int):
            return str(atom)
        found = self.host.variables.get(atom)
        if found is not None:
            return found
        fixed = self.planned.fixed.get(atom)
        if type(fixed) is int:
            return str(fixed)
        raise CannotLaunch(f"nothing tells `{atom}`, which a launch fact speaks of")

    def _count(self, count: Count) -> str:
        extent, tile = self._value(count.extent), self._value(count.tile)
        if tile == "1":
            return extent
        if extent.isdigit() and tile.isdigit():
            return str(-(-int(extent) // int(tile)))
        return f"tiles({extent}, {tile})"

    def _product(self, product: Product) -> str:
        parts = [text for text in map(self._count, product) if text != "1"]
        return " * ".join(parts) or "1"

    def _words(self, product: Product) -> str:
        """A product as messages say it."""

        def atom(value: Atom) -> str:
            return str(value) if isinstance(value, int) else self._place(value)

        shown = [atom(c.extent) if c.tile == 1 else f"cdiv({atom(c.extent)}, {atom(c.tile)})" for c in product]
        return " * ".join(shown) or "1"

    # Checks

    def _check(self, method: str, *arguments: str) -> None:
        self.host.steps.append(Check(method, arguments))

    def _same(self, left: str, a: str, right: str, b: str) -> Check:
        if right == b:
            return Check("fixed", (f'"{left}"', a, b))
        return Check("same", (f'"{left}"', a, f'"{right}"', b))

    def _equal(self, left: str, a: str, right: str, b: str) -> None:
        if a != b and {a, b} not in self.checked:
            self.checked.append({a, b})
            self.host.steps.append(self._same(left, a, right, b))

    def _fact(self, fact: object) -> None:
        match fact:
            case Equal(left=left, right=right):
                self._equal(self._words(left), self._product(left), self._words(right), self._product(right))
            case Multiple(extent=extent, of=of):
                self._check("multiple", f'"{self._words((Count(extent),))}"', self._value(extent), self._value(of))
            case Contiguous(array=name):
                rust = self.host.names[name]
                self._check("contiguous", f'"{rust}"', rust)
            case _:
                pass

    def _limits(self) -> None:
        """Indices that stay inside if there are as many tiles as the launch makes them count."""
        asked: set[tuple[str, str]] = set()
        for limit in self.planned.reach.limits:
            rust = self.host.names[limit.array]
            count = Count(f"{limit.array}.shape[{limit.axis}]", limit.tile)
            below, tiles = self._expression(limit.limit), self._count(count)
            if below.isdigit() and tiles.isdigit() and int(below) <= int(tiles):
                continue
            if below != tiles and (below, tiles) not in asked:
                asked.add((below, tiles))
                if len(below) > _LONG:
                    name = self.scope.take("below")
                    self.host.steps.append(Let(name, below))
                    below = name
                self._check("inside", f'"{rust}"', str(limit.axis), below, tiles)

    def _expression(self, expression: Expression, inner: bool = False) -> str:
        match expression:
            case Leaf(atom=atom):
                scalar = next((a for a in self.planned.scalars if a.name == atom), None)
                if scalar is None:
                    return self._value(atom)
                if scalar.extent is not None:
                    return self._value(scalar.extent)
                if not scalar.dtype.is_integer or scalar.dtype.name == "u64":
                    raise CannotLaunch(f"an index depends on `{scalar.name}`, which is no integer of the host's")
                name = self.host.names[scalar.name]
                return name if scalar.dtype.name == "i64" else f"i64::from({name})"
            case Blocks(axis=axis):
                return self.python_grid[axis] if " " not in self.python_grid[axis] or not inner else (
                    f"({self.python_grid[axis]})"
                )  # fmt: skip
            case Apply(function="-", left=Apply(function="+", left=whole, right=right), right=Leaf(atom=1)) if (
                right == Leaf(1)
            ):
                return self._expression(whole, inner)
            case Apply(function=function, left=left, right=right):
                plain = function in ("tiles", "min")
                a, b = self._expression(left, not plain or function == "min"), self._expression(right, not plain)
                text = applied(function, a, b, inner)
                return text if inner or function == "min" else bare(text)

    def _promises(self) -> None:
        planned, promises = self.planned, self.host.promises
        outside = dict.fromkeys(planned.reach.outside)
        outside.update((f.array, None) for t in planned.template.facts if isinstance(f := read_fact(t), Within))
        for name in outside:
            shown = self.host.names.get(name, name)
            promises.append(f"every index of `{shown}` that the kernel computes lies inside of it, as in the Python")
        shared = any(o.form in ("full", "pointer") for o in planned.kernel.outputs)
        if planned.kernel.unsafe.assumed and (shared or not promises):
            names = ", ".join(f"`{self.host.names[n]}`" for n in sorted(planned.written))
            promises.append(f"blocks write different elements of {names}, as in the Python")
        if planned.reach.divisible:
            promises.append("what the Python says is divisible is")

    # The launch

    def _owner(self) -> RustParameter | None:
        return next((p for p in self.planned.entry.parameters if p.kind == "tensor_mut"), None)

    def _grid(self, facts: list[GridIs | Renamed | Rearranged]) -> None:
        template, owner = self.planned.template, self._owner()
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
            python = [self._product(p) for p in products]
        elif rust is not None:
            if mixed:
                raise CannotLaunch("its grid is not known, and blocks are arranged in another way")
            python = [rust[axes[k]] for k in range(3)]
        else:
            self.host.grid_argument = True
            python = [f"i64::from(grid.{k})" for k in range(3)]
        self.python_grid = python
        for fact in facts:
            if isinstance(fact, GridIs):
                wanted = self._product(fact.blocks)
                self._equal(words[fact.axis], python[fact.axis], self._words(fact.blocks), wanted)
        if rust is None:
            if mixed or renamed:
                raise CannotLaunch("blocks are arranged in another way, and no partition says how many there are")
            self.host.grid = tuple(python)
        elif template.grid is not None and mixed:
            self._equal("the number of blocks", times(python), "the number of tiles", times(rust))
        elif template.grid is not None:
            for k in range(3):
                self._equal(words[k], python[k], f"the tiles along {_AXES[axes[k]]}", rust[axes[k]])

    def _partition_grid(self, owner: RustParameter) -> list[str]:
        """Blocks along the Rust axes: the tiles of the partition."""
        array = self.arrays[owner.name]
        tile = self.planned.template.tiles[owner.name]
        merged = len(array.extents) - len(tile)
        extents = [self.host.variables[f"{owner.name}.shape[{axis}]"] for axis in range(len(array.extents))]
        if merged > 0:
            extents = [times(extents[: merged + 1]), *extents[merged + 1 :]]
        counts = []
        for extent, size in zip(extents, tile, strict=True):
            text = self._value(size)
            counts.append(extent if text == "1" else f"tiles({extent}, {text})")
        return [*counts, "1", "1"][:3]

    def _arguments(self) -> None:
        for parameter in self.planned.entry.parameters:
            name = self.host.names[parameter.name]
            array = self.arrays.get(parameter.name)
            if array is None:
                self.host.passed.append(self._scalar(parameter.name))
                continue
            self.host.passed.append(name)
            if parameter.kind == "tensor_mut":
                tile = [self._value(t) for t in self.planned.template.tiles[parameter.name]]
                shown = ", ".join(t if t.isdigit() else f"{t} as usize" for t in tile)
                if len(array.extents) > len(tile):
                    self._contiguous_once(parameter.name)
                    self.host.prepared.append(Let(name, f"Merged::new({name}, [{shown}])"))
                else:
                    self.host.prepared.append(Let(name, f"{name}.partition([{shown}])"))
            elif parameter.name in self.planned.written:
                self.host.prepared.append(Let(name, f"Written::new({name})"))
        self._made()

    def _contiguous_once(self, name: str) -> None:
        check = Check("contiguous", (f'"{self.host.names[name]}"', self.host.names[name]))
        if check not in self.host.steps:
            self.host.steps.append(check)

    def _scalar(self, name: str) -> str:
        argument = next(a for a in self.planned.scalars if a.name == name)
        if argument.extent is None:
            return self.host.names[name]
        value = self._value(argument.extent)
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


_LONG = 40
"""Characters of an expression that is given a name."""


_MAKES = 4
"""The highest rank that `cutile::api::zeros` makes."""


def _field(constant: str) -> str:
    return Names().take(constant)


def scalar_arguments(planned: Planned) -> tuple[ScalarArgument, ...]:
    """Scalars that the caller passes: those that are no array's extent."""
    return tuple(a for a in planned.scalars if a.extent is None)

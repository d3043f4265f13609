"""What a host function does before a launch: binds extents, checks every launch fact, makes partitions and the grid.

Every fact that the translation rests on ends here as a check, as a value that the function computes itself, or in
`promises`, which make the function `unsafe`; a fact of a form that is not known makes it refuse the kernel.
"""

from __future__ import annotations

from ferrotile.crate.facts import (
    Contiguous,
    Copied,
    Count,
    Equal,
    GridIs,
    Multiple,
    Rearranged,
    Renamed,
    Unread,
    Within,
    read_fact,
)
from ferrotile.crate.host_launch import Launching
from ferrotile.crate.host_model import Bind, CannotLaunch, Check, Host, Let
from ferrotile.crate.host_values import Values
from ferrotile.crate.names import Names
from ferrotile.crate.plan import Planned

_LONG = 40
"""Characters of an expression that is given a name."""


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
        self.values = Values(planned, self.scope, self.host)

    def build(self) -> Host:
        planned = self.planned
        self._constants()
        self._extents()
        facts = [read_fact(text) for text in planned.template.facts]
        for fact in facts:
            if isinstance(fact, Unread):
                raise CannotLaunch(f"no check is known for `{fact.text}`")
        for fact in facts:
            self._fact(fact)
        launching = Launching(self.values)
        launching.grid([f for f in facts if isinstance(f, GridIs | Renamed | Rearranged)])
        self._limits()
        self._promises()
        launching.arguments()
        return self.host

    def _constants(self) -> None:
        for name in self.planned.config:
            variable = self.scope.take(name, f"{name}_value")
            self.host.variables[name] = variable
            self.host.steps.append(Let(variable, f"i64::from(config.{_field(name)})"))
            self.values.check("positive", f'"{_field(name)}"', variable)

    def _extents(self) -> None:
        fixed = {n: v for n, v in self.planned.fixed.items() if type(v) is int}
        for array in self.planned.arrays:
            if not array.extents:
                raise CannotLaunch(f"`{array.name}` has no axes")
            rust = self.host.names[array.name]
            given: list[str] = []
            later: list[Check] = []
            for axis, extent in enumerate(array.extents):
                known = self.values.known(extent, fixed)
                if known is None:
                    assert isinstance(extent, str)
                    variable = self.scope.take(extent, f"{rust}_{axis}")
                    self.host.variables[extent] = variable
                    given.append(variable)
                    continue
                variable = self.scope.take(f"{rust}_{axis}")
                given.append(variable)
                later.append(self.values.same(f"{rust}.shape[{axis}]", variable, *known))
            self.host.steps.append(Bind(rust, tuple(given)))
            self.host.steps.extend(later)
            for axis, (variable, extent) in enumerate(zip(given, array.extents, strict=True)):
                value = self.values.known(extent, fixed)
                self.host.variables[f"{array.name}.shape[{axis}]"] = variable if value is None else value[1]
            if array.name in self.planned.written:
                self.values.check("distinct", f'"{rust}"', rust)

    def _fact(self, fact: object) -> None:
        match fact:
            case Equal(left=left, right=right):
                values = self.values
                values.equal(values.words(left), values.product(left), values.words(right), values.product(right))
            case Multiple(extent=extent, of=of):
                name = f'"{self.values.words((Count(extent),))}"'
                self.values.check("multiple", name, self.values.value(extent), self.values.value(of))
            case Contiguous(array=name):
                rust = self.host.names[name]
                self.values.check("contiguous", f'"{rust}"', rust)
            case _:
                pass

    def _limits(self) -> None:
        """Indices that stay inside if there are as many tiles as the launch makes them count."""
        asked: set[tuple[str, str]] = set()
        for limit in self.planned.reach.limits:
            rust = self.host.names[limit.array]
            count = Count(f"{limit.array}.shape[{limit.axis}]", limit.tile)
            below, tiles = self.values.expression(limit.limit), self.values.count(count)
            if below.isdigit() and tiles.isdigit() and int(below) <= int(tiles):
                continue
            if below != tiles and (below, tiles) not in asked:
                asked.add((below, tiles))
                if len(below) > _LONG:
                    name = self.scope.take("below")
                    self.host.steps.append(Let(name, below))
                    below = name
                self.values.check("inside", f'"{rust}"', str(limit.axis), below, tiles)

    def _promises(self) -> None:
        planned, promises = self.planned, self.host.promises
        outside = dict.fromkeys(planned.reach.outside)
        outside.update((f.array, None) for t in planned.template.facts if isinstance(f := read_fact(t), Within))
        copies = {f.copy: f.of for t in planned.template.facts if isinstance(f := read_fact(t), Copied)}
        for name in dict.fromkeys(copies.get(name, name) for name in outside):
            shown = self.host.names.get(name, name)
            promises.append(f"every index of `{shown}` that the kernel computes lies inside of it, as in the Python")
        shared = any(o.form in ("full", "pointer") for o in planned.kernel.outputs)
        if planned.kernel.unsafe.assumed and (shared or not promises):
            names = ", ".join(f"`{self.host.names[n]}`" for n in sorted(planned.written))
            promises.append(f"blocks write different elements of {names}, as in the Python")
        if planned.reach.divisible:
            promises.append("what the Python says is divisible is")


def _field(constant: str) -> str:
    return Names().take(constant)

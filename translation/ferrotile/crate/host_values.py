"""What stands for what in a host function: extents, constants and scalars as values, and as messages say them."""

from __future__ import annotations

from collections.abc import Mapping

from ferrotile.crate.arithmetic import applied, bare
from ferrotile.crate.facts import Atom, Count, Product
from ferrotile.crate.host_model import CannotLaunch, Check, Host
from ferrotile.crate.limits import Apply, Blocks, Expression, Leaf
from ferrotile.crate.names import Names
from ferrotile.crate.plan import Planned


class Values:
    """Of one host function, while it is planned. `grid`: blocks of the Python's launch along each axis."""

    def __init__(self, planned: Planned, scope: Names, host: Host) -> None:
        self.planned, self.scope, self.host = planned, scope, host
        self.arrays = {a.name: a for a in planned.arrays}
        self.grid: list[str] = []
        self._checked: list[set[str]] = []

    def known(self, extent: str | int, fixed: Mapping[str, object]) -> tuple[str, str] | None:
        """How an extent is called in messages, and its value, if something before tells it."""
        if isinstance(extent, int):
            return str(extent), str(extent)
        if extent in self.host.variables:
            return self.place(extent), self.host.variables[extent]
        if extent in fixed:
            return f"the constant {extent}", str(fixed[extent])
        return None

    def place(self, symbol: str) -> str:
        """Where an extent is first found: `x.shape[1]`."""
        for array in self.planned.arrays:
            for axis, extent in enumerate(array.extents):
                if extent == symbol:
                    return f"{self.host.names[array.name]}.shape[{axis}]"
        return symbol

    def value(self, atom: Atom) -> str:
        if isinstance(atom, int):
            return str(atom)
        found = self.host.variables.get(atom)
        if found is not None:
            return found
        fixed = self.planned.fixed.get(atom)
        if type(fixed) is int:
            return str(fixed)
        raise CannotLaunch(f"nothing tells `{atom}`, which a launch fact speaks of")

    def count(self, count: Count) -> str:
        extent, tile = self.value(count.extent), self.value(count.tile)
        if tile == "1":
            return extent
        if extent.isdigit() and tile.isdigit():
            return str(-(-int(extent) // int(tile)))
        return f"tiles({extent}, {tile})"

    def product(self, product: Product) -> str:
        parts = [text for text in map(self.count, product) if text != "1"]
        return " * ".join(parts) or "1"

    def words(self, product: Product) -> str:
        """A product as messages say it."""

        def atom(value: Atom) -> str:
            return str(value) if isinstance(value, int) else self.place(value)

        shown = [atom(c.extent) if c.tile == 1 else f"cdiv({atom(c.extent)}, {atom(c.tile)})" for c in product]
        return " * ".join(shown) or "1"

    def check(self, method: str, *arguments: str) -> None:
        self.host.steps.append(Check(method, arguments))

    def same(self, left: str, a: str, right: str, b: str) -> Check:
        if right == b:
            return Check("fixed", (f'"{left}"', a, b))
        return Check("same", (f'"{left}"', a, f'"{right}"', b))

    def equal(self, left: str, a: str, right: str, b: str) -> None:
        if a != b and {a, b} not in self._checked:
            self._checked.append({a, b})
            self.host.steps.append(self.same(left, a, right, b))

    def expression(self, expression: Expression, inner: bool = False) -> str:
        match expression:
            case Leaf(atom=atom):
                scalar = next((a for a in self.planned.scalars if a.name == atom), None)
                if scalar is None:
                    return self.value(atom)
                if scalar.extent is not None:
                    return self.value(scalar.extent)
                if not scalar.dtype.is_integer or scalar.dtype.name == "u64":
                    raise CannotLaunch(f"an index depends on `{scalar.name}`, which is no integer of the host's")
                name = self.host.names[scalar.name]
                return name if scalar.dtype.name == "i64" else f"i64::from({name})"
            case Blocks(axis=axis):
                return self.grid[axis] if " " not in self.grid[axis] or not inner else (
                    f"({self.grid[axis]})"
                )  # fmt: skip
            case Apply(function="-", left=Apply(function="+", left=whole, right=right), right=Leaf(atom=1)) if (
                right == Leaf(1)
            ):
                return self.expression(whole, inner)
            case Apply(function=function, left=left, right=right):
                plain = function in ("tiles", "min")
                a, b = self.expression(left, not plain or function == "min"), self.expression(right, not plain)
                text = applied(function, a, b, inner)
                return text if inner or function == "min" else bare(text)

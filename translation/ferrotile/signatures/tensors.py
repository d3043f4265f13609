"""Abstract tensors: their extents, shapes and element types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from math import prod

from msgspec import Struct

from ferrotile.program.dtypes import DType
from ferrotile.signatures.dtype_names import CODES, NAMES
from ferrotile.signatures.values import ElementType, Int, Known, Sequence, Shape, Tensor, Term, Value

_SERIAL = count()
"""Identities of extents that nothing names: compared and never shown, so their order does not matter."""

_EXTENT = 256
_GUESSES: Mapping[int | None, tuple[int, ...]] = {3: (4, 256, 64), 4: (2, 4, 256, 64), 5: (2, 4, 4, 256, 64)}
"""Extents assumed for a tensor of unknown ones, by rank: the last axis is often one tile."""


class Arguments(Struct, frozen=True):
    """Evaluated arguments of one call."""

    positional: tuple[Value, ...]
    named: Mapping[str, Value]

    def get(self, position: int, *names: str) -> Value | None:
        for name in names:
            if name in self.named:
                return self.named[name]
        return self.positional[position] if 0 <= position < len(self.positional) else None


def tensor_of(dims: tuple[Int, ...] | None, dtype: DType | None) -> Tensor:
    """A new tensor. A literal extent is identified by its value: equal literals are taken as the same extent,
    but not twice in one tensor."""
    if dims is None:
        return Tensor(dtype)
    seen: dict[int, int] = {}
    named: dict[int, Int] = {}
    for axis, dim in enumerate(dims):
        computed = identity(dim) if dim.terms else None
        if computed is not None:
            dim = Int(dim.value, computed, dim.terms, True, dim.guess)
        elif dim.ident is None and (dim.derived or dim.value is None):
            guess = _EXTENT if dim.guess is None else dim.guess
            dim = Int(dim.value, f"@{next(_SERIAL)}", dim.terms, True, guess)
        elif dim.ident is None and dim.value is not None:
            before = seen.get(dim.value, 0)
            seen[dim.value] = before + 1
            dim = Int(dim.value, f"#{dim.value}" + "'" * before)
        named[axis] = dim
    return Tensor(dtype, len(dims), named)


def shape_of(value: Value | None) -> tuple[Int, ...] | None:
    """A shape argument as extents; an extent of unknown value is an Int that knows nothing."""
    match value:
        case Int():
            return (value,)
        case Sequence(items=items):
            return tuple(i if isinstance(i, Int) else Int() for i in items)
        case Shape(tensor=tensor) if tensor.rank is not None:
            return tuple(extent(tensor, Int(axis)) for axis in range(tensor.rank))
        case _:
            return None


def element_type(value: Value | None) -> DType | None:
    match value:
        case ElementType(dtype=dtype):
            return dtype
        case Known(value=str(name)):
            code = name.lstrip("<>=|")
            return CODES[code] if code in CODES else NAMES.get(name.rpartition(".")[2])
        case _:
            return None


def extent(tensor: Tensor, axis: Value) -> Int:
    """`tensor.shape[axis]`; the extent gets an identity when it is first asked for. While the rank is unknown, an
    axis that counts from the end is kept under its negative number."""
    if not isinstance(axis, Int) or axis.value is None:
        return Int()
    at = axis.value
    if at < 0 and tensor.rank is not None:
        at += tensor.rank
        if at < 0:
            return Int()
    if tensor.rank is not None and at >= tensor.rank:
        return Int()
    if at not in tensor.dims:
        tensor.dims[at] = Int(None, f"@{next(_SERIAL)}", guess=_guess(tensor.rank, at))
    return tensor.dims[at]


def set_rank(tensor: Tensor, rank: int) -> None:
    """Say how many axes a tensor has, where that was unknown."""
    if tensor.rank is not None or rank < 0:
        return
    tensor.rank = rank
    for axis in [a for a in tensor.dims if a < 0 or a >= rank]:
        dim = tensor.dims.pop(axis)
        if 0 <= axis + rank < rank:
            tensor.dims.setdefault(axis + rank, dim)


def _guess(rank: int | None, axis: int) -> int:
    guesses = _GUESSES.get(rank)
    return _EXTENT if guesses is None else guesses[axis]


def product(terms: Iterable[Term]) -> str | None:
    """The identity of a product of whole extents: the same for the same factors in any order."""
    factors: list[str] = []
    for term in terms:
        if term.tile != 1:
            return None
        extent = term.extent if isinstance(term.extent, str) else f"#{term.extent}"
        factors.extend(extent[1:].split("*") if extent.startswith("*") else (extent,) if extent != "#1" else ())
    if not factors:
        return "#1"
    return factors[0] if len(factors) == 1 else "*" + "*".join(sorted(factors))


def identity(value: Int) -> str | None:
    """The identity of an integer, that of its form where it has no other."""
    if value.ident is not None or not value.terms:
        return value.ident
    return product(value.terms) or f"({'*'.join(sorted(f'{t.extent}/{t.tile}' for t in value.terms))})"


def product_of(dims: Iterable[Int]) -> Int:
    """The product of extents, as one integer."""
    dims = tuple(dims)
    known = [d.value for d in dims if d.value is not None]
    likely = [d.likely for d in dims if d.likely is not None]
    value = prod(known) if len(known) == len(dims) else None
    guess = prod(likely) if value is None and len(likely) == len(dims) else None
    return Int(value, product(t for d in dims for t in d.as_terms() or ()), derived=True, guess=guess)


def numel(tensor: Tensor) -> Int:
    """`tensor.numel()`."""
    if tensor.rank == 1:
        return extent(tensor, Int(0))
    if tensor.rank is None:
        return Int()
    return product_of(extent(tensor, Int(axis)) for axis in range(tensor.rank))

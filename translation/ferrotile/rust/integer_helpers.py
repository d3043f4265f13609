"""Helper functions for Python's `//` and `%` of scalars, which round down where Rust's operators round toward zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ferrotile.rust.layout import Code, atom, call
from ferrotile.rust.safety import Helper, put
from ferrotile.rust.writer import Writer

_SCALAR = "Tile<i32, { [] }>"


def _floor_div(name: str) -> Helper:
    writer = _function(name, "Python's `//`: the quotient rounded down.")
    writer.line("let (a, b) = (a.broadcast(shape![]), b.broadcast(shape![]));")
    put(writer, f"let q: {_SCALAR} = ", call("divi", *map(atom, ("a", "b", "rounding::NegativeInf"))))
    return _end(writer, name, "q")


def _floor_mod(name: str) -> Helper:
    writer = _function(name, "Python's `%`: the remainder with the sign of `b`.")
    writer.line("let r = a % b;")
    put(writer, f"let wrong: {_SCALAR.replace('i32', 'bool')} = ", _as_tile("((r < 0) ^ (b < 0)) & (r != 0)"))
    put(writer, f"let fixed: {_SCALAR} = ", _as_tile("r + b"))
    put(writer, f"let r: {_SCALAR} = ", call("select", *map(atom, ("wrong", "fixed", "r.broadcast(shape![])"))))
    return _end(writer, name, "r")


def _function(name: str, comment: str) -> Writer:
    writer = Writer(4)
    writer.line(f"// {comment}")
    writer.line(f"fn {name}(a: i32, b: i32) -> i32 {{")
    writer.deeper()
    return writer


def _as_tile(scalar: str) -> Code:
    return call("scalar_to_tile", atom(scalar))


def _end(writer: Writer, name: str, result: str) -> Helper:
    writer.line(f"tile_to_scalar({result})")
    writer.back()
    writer.line("}")
    return Helper(name, tuple(writer.lines), 0)


INTEGER_HELPERS: Mapping[str, Callable[[str], Helper]] = MappingProxyType(
    {"floor_div": _floor_div, "floor_mod": _floor_mod}
)
"""Each by its wish."""

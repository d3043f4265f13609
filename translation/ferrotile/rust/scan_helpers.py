"""Helper functions that say one step of a scan."""

from __future__ import annotations

from ferrotile.program.dtypes import BY_NAME, DType
from ferrotile.program.ir import Operation
from ferrotile.rust.layout import atom, call
from ferrotile.rust.safety import Helper, put
from ferrotile.rust.targets import cutile_0_5 as target
from ferrotile.rust.types import literal
from ferrotile.rust.writer import Writer

_FUNCTIONS = {
    "sum": ("addi", "addf"), "prod": ("muli", "mulf"), "min": ("mini", "minf"), "max": ("maxi", "maxf"),
    "and": ("andi", "andi"), "or": ("ori", "ori"), "xor": ("xori", "xori"),
}  # fmt: skip
_KEYED = (
    "cutile 0.5 begins every scan with 0, so the scan runs on bits in which 0 stands for the",
    "neutral element of this function.",
)


def step(name: str, scan: Operation, dtype: DType) -> Helper:
    """`p` and `q` combined; with a key, on the bits of elements exclusive-or'ed with it."""
    key = scan.attribute("key")
    element = BY_NAME[str(scan.attribute("element"))] if key is not None else dtype
    writer = Writer(4)
    for text in _KEYED if key is not None else ():
        writer.line(f"// {text}")
    writer.line(f"fn {name}(p: {dtype}, q: {dtype}) -> {dtype} {{")
    writer.deeper()
    held, typed = f"Tile<{dtype}, {{ [] }}>", f"Tile<{element}, {{ [] }}>"
    if key is not None:
        assert isinstance(key, int)
        put(writer, f"let key: {held} = ", call("constant", atom(literal(key, dtype, True) or "0"), atom("shape![]")))
    for tile, scalar in (("a", "p"), ("b", "q")):
        put(writer, f"let {tile}: {held} = ", call("scalar_to_tile", atom(scalar)))
        if key is not None:
            put(writer, f"let {tile}: {typed} = ", call("bitcast", atom(_keyed(tile, dtype))))
    put(writer, f"let c: {typed} = ", atom(_combined(scan, element)))
    if key is not None:
        put(writer, f"let c: {held} = ", call("bitcast", atom("c")))
    put(writer, "", call("tile_to_scalar", atom(_keyed("c", dtype) if key is not None else "c")), "")
    writer.back()
    writer.line("}")
    return Helper(name, tuple(writer.lines), 0)


def _keyed(tile: str, dtype: DType) -> str:
    return f"{tile} ^ key" if dtype.name in target.WIDE_INTEGERS else f"xori({tile}, key)"


def _combined(scan: Operation, element: DType) -> str:
    integer, floating = _FUNCTIONS[str(scan.attribute("function"))]
    opcode = floating if element.is_float else integer
    mode = target.ROUNDING[str(scan.attribute("rounding") or "nearest_even")]
    ftz = "Enabled" if scan.attribute("ftz") else "Disabled"
    nan = "Enabled" if scan.attribute("propagate_nan") else "Disabled"
    plain = mode == "NearestEven" and ftz == "Disabled"
    if opcode in ("minf", "maxf"):
        return f"{opcode}(a, b, nan::{nan}, ftz::{ftz})"
    if opcode in target.OPERATORS and (element.is_float or element.name in target.WIDE_INTEGERS) and plain:
        return f"a {target.OPERATORS[opcode][0]} b"
    return f"{opcode}(a, b, rounding::{mode}, ftz::{ftz})" if element.is_float else f"{opcode}(a, b)"

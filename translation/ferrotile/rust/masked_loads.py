"""Loads with any padding in safe Rust: a zero-padded load, and a select on the lanes inside the array."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ferrotile.program.dtypes import BOOL, I32
from ferrotile.program.ir import Operation
from ferrotile.program.types import ViewType
from ferrotile.rust.expressions import constant_code
from ferrotile.rust.layout import Code, atom, binary, call, method
from ferrotile.rust.static_extents import RUN_TIME

if TYPE_CHECKING:
    from ferrotile.rust.memory import Memory
    from ferrotile.rust.statements import Body


def masked_load(memory: Memory, body: Body, operation: Operation, view: ViewType) -> Code:
    """Any padding without `unsafe`: a zero-padded load, and a select on the lanes inside the array."""
    spelling = body.spelling
    plain = replace(view, padding=None)
    source = operation.operands[0]
    made = body.values.defined[source.id]
    assert isinstance(made, Operation)
    array_ = made.operands[0].name or memory.plan.array(made.operands[0].id).name
    unpadded = replace(source, type=plain)
    access = memory.access[id(operation)]
    loaded = replace(operation, operands=(unpadded, *operation.operands[1:]))
    memory.access[id(loaded)] = replace(access, operation=loaded, view=plain)
    kind = spelling.tile(view.dtype, view.tile)
    mask: Code | None = None
    flags = spelling.tile(BOOL, view.tile)
    for d, size in enumerate(view.tile):
        axis = view.dim_map[d]
        if size.value == 1:
            continue
        line = replace(size, symbol=size.symbol)
        lanes = body.bind("lanes", spelling.tile(I32, (line,)), call("iota", atom(spelling.shape((line,)))))
        shape = atom(spelling.shape((line,)))
        start = access.index[d]
        if start.known != 0:
            index = binary(body.scalar(operation.operands[1 + d]), "*", atom(spelling.size(size)), 10)
            lanes = body.bind(
                "at",
                spelling.tile(I32, (line,)),
                binary(method(index, "broadcast", shape), "+", lanes, 9),
            )
        known = memory.extents.get(memory.array(source).value)
        length = RUN_TIME if known is None else known[axis]
        words = f"{array_}.shape()[{axis}]" if length is RUN_TIME else spelling.size(length)
        end = method(atom(f"{words}i32" if words.isdigit() else words), "broadcast", shape)
        inside = call("lt_tile", lanes, end)
        ones = ", ".join(spelling.size(size) if e == d else "1" for e in range(len(view.tile)))
        inside = method(inside, "reshape", atom(f"shape![{ones}]"))
        if any(s.value != 1 for e, s in enumerate(view.tile) if e != d):
            inside = body.bind("inside", flags.replace(spelling.braces(view.tile), f"{{ [{ones}] }}"), inside)
            inside = method(inside, "broadcast", atom(spelling.shape(view.tile)))
        mask = inside if mask is None else binary(mask, "&", inside, 7)
    tile = body.bind("loaded", kind, memory.loads.plain(loaded))
    if mask is None:
        return tile
    number = {"neg_zero": -0.0, "nan": math.nan, "pos_inf": math.inf, "neg_inf": -math.inf}[str(view.padding)]
    fill = body.bind("fill", kind, constant_code(body.operands, number, view.dtype, view.tile))
    return call("select", body.bind("inside", flags, mask), tile, fill)

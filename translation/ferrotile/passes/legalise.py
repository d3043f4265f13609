"""Shapes the program so that cutile 0.5 can express it: folded constants, `for` without `break`, structured returns."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from ferrotile.passes.affine import non_negative
from ferrotile.passes.expansions import expand
from ferrotile.passes.remainders import python_remainder
from ferrotile.passes.returns import structure_returns
from ferrotile.passes.uses import definitions, eliminate_dead, loop_ends, next_id, rewrite, substitute
from ferrotile.program.dtypes import BOOL, I32
from ferrotile.program.ir import Block, End, For, If, Loop, Operation, Program, Statement, Terminator, Value
from ferrotile.program.types import TileType, ViewType

_EXACT_FLOAT = 1 << 24
_LEAST_NORMAL: Mapping[str, float] = MappingProxyType(
    {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}
)
"""Numbers from here on keep their sign when a constant is rounded to the type."""
_PREDICATES: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {
        "equal": operator.eq,
        "not_equal": operator.ne,
        "less_than": operator.lt,
        "less_than_or_equal": operator.le,
        "greater_than": operator.gt,
        "greater_than_or_equal": operator.ge,
    }
)


def legalise(program: Program) -> Program:
    """The same kernel, without dead code before and after, in forms the target has."""
    program = expand(_pinned(program))
    program = _fold_constants(_simple_remainder(program))
    program = _count_tiles(program)
    program = _drop_empty_loops(program)
    program = _without_break_in_for(structure_returns(program))
    program = replace(program, body=_flatten_jumps(program.body))
    return eliminate_dead(program)


def _constant_value(value: Value, defined: Mapping[int, Statement]) -> int | float | bool | None:
    source = defined.get(value.id)
    if isinstance(source, Operation) and source.opcode == "constant":
        number = source.attribute("value")
        return number if isinstance(number, (int, float)) else None
    return None


def _pinned(program: Program) -> Program:
    """Constants whose value decided something are plain numbers."""
    values = {c.name: c.value for c in program.constants if c.pinned}

    def pin(s: Statement) -> Sequence[Statement]:
        if isinstance(s, Operation) and s.opcode == "const_param" and s.attribute("name") in values:
            value = values[str(s.attribute("name"))]
            return (replace(s, opcode="constant", attributes=(("value", value),)),)
        return (s,)

    return replace(program, body=rewrite(program.body, pin, ("const_param",))) if values else program


_FOLDED = frozenset(("cmpf", "cmpi", "xori", "reshape", "broadcast", "itof"))


def _fold_constants(program: Program) -> Program:
    """Reshapes and broadcasts of constants, small integer constants made floats, comparisons of integer constants and
    of a float constant with 0 are constants; `x xor false` is x."""
    defined: dict[int, Statement] = dict(definitions(program.body))
    same: dict[int, Value] = {}

    def compared(s: Operation) -> Operation | None:
        a, b = (_constant_value(v, defined) for v in s.operands)
        predicate = _PREDICATES.get(str(s.attribute("predicate")))
        kind = s.operands[0].type
        if a is None or b is None or predicate is None or not isinstance(kind, TileType):
            return None
        least = _LEAST_NORMAL.get(kind.dtype.name, math.inf)
        if kind.dtype.is_float and not (b == 0 and (a == 0 or abs(a) >= least)):
            return None
        return replace(s, opcode="constant", operands=(), attributes=(("value", predicate(a, b)),))

    def fold(s: Statement) -> Sequence[Statement]:
        if isinstance(s, Operation) and s.opcode in ("cmpi", "cmpf"):
            known = compared(s)
            if known is not None:
                defined[s.result.id] = known
            return (known or s,)
        if isinstance(s, Operation) and s.opcode == "xori":
            for value, other in (s.operands, s.operands[::-1]):
                if _constant_value(other, defined) is False:
                    same[s.result.id] = value
        if not isinstance(s, Operation) or s.opcode not in ("reshape", "broadcast", "itof"):
            return (s,)
        number = _constant_value(s.operands[0], defined)
        kind = s.result.type
        if number is None or not isinstance(kind, TileType):
            return (s,)
        if s.opcode == "itof":
            if kind.dtype.name not in ("f32", "f64") or abs(number) > _EXACT_FLOAT:
                return (s,)
            number = float(number)
        folded = replace(s, opcode="constant", operands=(), attributes=(("value", number),))
        defined[s.result.id] = folded
        return (folded,)

    return replace(program, body=substitute(rewrite(program.body, fold, _FOLDED), same))


def _count_tiles(program: Program) -> Program:
    """A loop up to `cdiv(array extent, tile)` whose counter indexes that array's tiles counts the view's tiles."""
    defined = definitions(program.body)
    fresh = next_id(program)

    def count(s: Statement) -> Sequence[Statement]:
        nonlocal fresh
        if not isinstance(s, For):
            return (s,)
        upper = defined.get(s.upper.id)
        if not isinstance(upper, Operation) or upper.opcode != "divi" or upper.attribute("rounding") != "positive_inf":
            return (s,)
        extent = defined.get(upper.operands[0].id)
        tile = _number(upper.operands[1], defined, program)
        if not isinstance(extent, Operation) or extent.opcode != "extent" or tile is None:
            return (s,)
        for load in s.body.statements:
            if not isinstance(load, Operation) or load.opcode != "load_view":
                continue
            view = load.operands[0].type
            make = defined.get(load.operands[0].id)
            if not isinstance(view, ViewType) or not isinstance(make, Operation):
                continue
            for d, index in enumerate(load.operands[1:]):
                fits = view.dim_map[d] == extent.attribute("axis") and view.tile[d].value == tile
                if index.id == s.variable.id and make.operands[0].id == extent.operands[0].id and fits:
                    made, tiles = Value(fresh, view), Value(fresh + 1, TileType(I32))
                    fresh += 2
                    return (
                        replace(make, results=(made,)),
                        Operation("num_tiles", (made,), (tiles,), (("axis", d),), s.span),
                        replace(s, upper=tiles),
                    )
        return (s,)

    return replace(program, body=rewrite(program.body, count, ()))


def _number(value: Value, defined: Mapping[int, Statement], program: Program) -> int | None:
    source = defined.get(value.id)
    if isinstance(source, Operation) and source.opcode == "const_param":
        return next((int(c.value) for c in program.constants if c.name == source.attribute("name")), None)
    number = _constant_value(value, defined)
    return int(number) if number is not None else None


def _simple_remainder(program: Program) -> Program:
    """Python's `%` of two numbers that are not negative is the plain remainder."""
    defined = definitions(program.body)

    def simplify(s: Statement) -> Sequence[Statement]:
        source = python_remainder(s, defined)
        if source is None or not all(non_negative(v, defined) for v in source.operands):
            return (s,)
        return (replace(source, results=s.results),)

    return replace(program, body=rewrite(program.body, simplify, ("select",)))


def _drop_empty_loops(program: Program) -> Program:
    """Loops over constant empty ranges, which the assembler refuses, leave their initial values."""
    defined = definitions(program.body)
    mapping: dict[int, Value] = {}

    def drop(s: Statement) -> Sequence[Statement]:
        if not isinstance(s, For):
            return (s,)
        lower, upper = (_number(v, defined, program) for v in (s.lower, s.upper))
        if lower is None or upper is None or lower < upper:
            return (s,)
        mapping.update((r.id, i) for r, i in zip(s.results, s.initial, strict=True))
        return ()

    body = rewrite(program.body, drop, ())
    return replace(program, body=substitute(body, mapping))


def _without_break_in_for(program: Program) -> Program:
    """A `for` with a `break` becomes a counting loop, for cutile's `for` has no `break`."""
    fresh = next_id(program)

    def new(name: str | None = None) -> Value:
        nonlocal fresh
        fresh += 1
        return Value(fresh - 1, TileType(I32), name)

    def ends(block: Block, loop: For, top: bool) -> Block:
        statements = [
            replace(s, then=ends(s.then, loop, False), otherwise=ends(s.otherwise, loop, False))
            if isinstance(s, If)
            else s
            for s in block.statements
        ]
        end = block.terminator
        if end.kind is End.CONTINUE or (top and end.kind is End.YIELD):
            after = new()
            statements.append(Operation("addi", (loop.variable, loop.step), (after,), (), loop.span))
            end = Terminator(End.CONTINUE, (after, *end.values))
        elif end.kind is End.BREAK:
            end = replace(end, values=(loop.variable, *end.values))
        return Block(tuple(statements), end)

    def convert(s: Statement) -> Sequence[Statement]:
        if not isinstance(s, For) or not any(t.kind is End.BREAK for t in loop_ends(s.body)):
            return (s,)
        body = ends(s.body, s, True)
        inside = Value(new().id, TileType(BOOL))
        test = Operation("cmpi", (s.variable, s.upper), (inside,), (("predicate", "less_than"),), s.span)
        head = If(
            inside,
            Block((), Terminator(End.YIELD)),
            Block((), Terminator(End.BREAK, (s.variable, *s.arguments))),
            (),
            s.span,
        )
        return (
            Loop(
                (s.lower, *s.initial),
                (s.variable, *s.arguments),
                Block((test, head, *body.statements), body.terminator),
                (new(), *s.results),
                s.span,
            ),
        )

    return replace(program, body=rewrite(program.body, convert, ()))


_JUMPS = (End.BREAK, End.CONTINUE)


def _flatten_jumps(block: Block) -> Block:
    """`if c {break} else {rest}` becomes `if c {break}; rest`: an `if` that jumps assigns nothing."""
    out: list[Statement] = []
    queue = list(block.statements)
    end = block.terminator
    while queue:
        s = queue.pop(0)
        if isinstance(s, (For, Loop)):
            out.append(replace(s, body=_flatten_jumps(s.body)))
            continue
        if not isinstance(s, If):
            out.append(s)
            continue
        jumps = [b.terminator.kind in _JUMPS for b in (s.then, s.otherwise)]
        stay = s.otherwise if jumps[0] else s.then
        if sum(jumps) != 1 or stay.terminator.kind is not End.YIELD:
            out.append(replace(s, then=_flatten_jumps(s.then), otherwise=_flatten_jumps(s.otherwise)))
            continue
        mapping = {r.id: v for r, v in zip(s.results, stay.terminator.values, strict=True)}
        idle = Block((), Terminator(End.YIELD))
        jump = _flatten_jumps(s.then if jumps[0] else s.otherwise)
        then, otherwise = (jump, idle) if jumps[0] else (idle, jump)
        out.append(replace(s, then=then, otherwise=otherwise, results=()))
        rest = substitute(Block(tuple(queue), end), mapping)
        queue, end = [*stay.statements, *rest.statements], rest.terminator
    return Block(tuple(out), end)

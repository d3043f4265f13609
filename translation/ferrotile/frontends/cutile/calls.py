"""Calls: which handler a callee has, and what is known but not translated yet."""

from __future__ import annotations

import difflib
import math

from ferrotile.frontends.cutile import elementwise, matrix, memory, reductions, shapes
from ferrotile.frontends.cutile.arguments import Call, Spec, bind
from ferrotile.frontends.cutile.environment import Context, Poisoned, Refused
from ferrotile.frontends.cutile.values import (
    NONE,
    Abstract,
    Array,
    Const,
    DTypeOf,
    Function,
    Global,
    Method,
    Poison,
    RangeOf,
    Static,
    Tile,
    TupleOf,
    Unusable,
    describe,
)
from ferrotile.signatures.dtype_names import NAMES

FUNCTIONS: dict[str, Spec] = {
    **memory.FUNCTIONS,
    **shapes.FUNCTIONS,
    **elementwise.FUNCTIONS,
    **reductions.FUNCTIONS,
    **matrix.FUNCTIONS,
}
_LATER = """
gather scatter load_advanced_indexing store_advanced_indexing Slice astile insert pack_to_bytes unpack_from_bytes
atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor atomic_xchg atomic_cas
argmax argmin reduce scan cumsum cumprod mma_scaled assume_divisible_by print printf assert_
grid_dependency_control_wait grid_dependency_control_launch_dependents float8_e5m3fnu float4_e2m1fn int4 uint4
"""
LATER = frozenset(_LATER.split())
"""Device functions of `cuda.tile` that have no lowering yet."""
METHODS_LATER = frozenset(["insert", "slice", "tiled_view", "get_raw_memory", "load", "store", "num_tiles"])
_HOST_MATH = frozenset(["log", "log2", "log10", "exp", "sqrt", "pow", "sin", "cos", "tan", "ceil", "floor"])
_CASTS = {"int": int, "float": float, "bool": bool}


def call(ctx: Context, callee: Abstract, made: Call) -> Abstract:
    match callee:
        case Global(dotted=dotted):
            return _global(ctx, dotted, made)
        case Method(receiver=receiver, name=name):
            positional = (receiver, *made.positional)
            inner = Call(name, positional, made.keywords, (ctx.span, *made.spans), made.keyword_spans)
            spec = shapes.METHODS[name]
            return spec.handler(ctx, bind(ctx, inner, spec.parameters))
        case DTypeOf():
            return shapes.constructor(ctx, callee, bind(ctx, made, "x"))
        case Function():
            return ctx.inline(ctx, callee, made.positional, dict(made.keywords))
        case Poison():
            raise Poisoned
        case Unusable(code=code, reason=reason):
            raise ctx.refused(code, reason)
        case _:
            raise ctx.refused("FT205", f"{describe(callee)} cannot be called")


def _global(ctx: Context, dotted: str, made: Call) -> Abstract:
    root, _, name = dotted.rpartition(".")
    if root == "cuda.tile":
        return _device(ctx, name, made)
    if root == "builtins":
        return _builtin(ctx, name, made)
    if root == "operator" and name in elementwise.FUNCTIONS:
        spec = elementwise.FUNCTIONS[name]
        return spec.handler(ctx, bind(ctx, made, spec.parameters))
    if root == "math" and name in _HOST_MATH and ctx.host:
        return _host_math(ctx, name, made)
    hint = f": use `ct.{name}`" if root in ("math", "numpy", "torch") and name in FUNCTIONS else ""
    raise ctx.refused("FT205", f"`{dotted}` is not supported in device code{hint}")


def _device(ctx: Context, name: str, made: Call) -> Abstract:
    if name in FUNCTIONS:
        spec = FUNCTIONS[name]
        return spec.handler(ctx, bind(ctx, made, spec.parameters))
    match name:
        case "static_iter":
            return _static(ctx, made)
        case "static_eval":
            return bind(ctx, made, "expression").get("expression")
        case "static_assert":
            return _static_assert(ctx, made)
        case "ensure_constant":
            value = bind(ctx, made, "x").get("x")
            if not isinstance(value, Const):
                raise ctx.refused("FT205", f"`ensure_constant` got {describe(value)}")
            return value
    if name in LATER:
        raise ctx.refused("FT301", f"`ct.{name}` has no translation yet")
    raise unknown(ctx, name)


def _static_assert(ctx: Context, made: Call) -> Abstract:
    args = bind(ctx, made, "condition message?")
    condition = args.get("condition")
    if not isinstance(condition, Const):
        raise args.refused("condition", "FT205", f"`static_assert` needs a constant, not {describe(condition)}")
    if not ctx.literal(condition):
        message = args.get("message")
        raise ctx.refused("FT205", f"static assertion failed: {describe(message)}")
    return NONE


def unknown(ctx: Context, name: str) -> Refused:
    """Refuses a name that `cuda.tile` does not have."""
    near = difflib.get_close_matches(name, [*FUNCTIONS, *LATER, *NAMES], 1, 0.75)
    hint = f"; did you mean `ct.{near[0]}`?" if near else ""
    return ctx.refused("FT210", f"`cuda.tile` has no `{name}`{hint}")


def _host_math(ctx: Context, name: str, made: Call) -> Abstract:
    numbers = [v.value for v in made.positional if isinstance(v, Const) and isinstance(v.value, (int, float))]
    if len(numbers) != len(made.positional) or made.keywords:
        raise ctx.refused("FT205", f"`math.{name}` of values that are not constant")
    try:
        return Const(getattr(math, name)(*numbers))
    except (ArithmeticError, ValueError, TypeError) as error:
        raise ctx.refused("FT205", f"`math.{name}`: {error}") from None


def _builtin(ctx: Context, name: str, made: Call) -> Abstract:
    if name in elementwise.BUILTINS:
        spec = elementwise.BUILTINS[name]
        return spec.handler(ctx, bind(ctx, made, spec.parameters))
    match name:
        case "range":
            return _range(ctx, made)
        case "len":
            value = bind(ctx, made, "x").get("x")
            if isinstance(value, TupleOf):
                return Const(len(value.items))
            raise ctx.refused("FT203", f"{describe(value)} has no len()")
        case "int" | "float" | "bool":
            return _cast(ctx, name, made)
        case "tuple":
            value = bind(ctx, made, "x?").values.get("x", TupleOf(()))
            if isinstance(value, Static):
                return TupleOf(value.items)
            if isinstance(value, TupleOf):
                return value
    raise ctx.refused("FT205", f"`{name}()` is not supported in device code")


def _cast(ctx: Context, name: str, made: Call) -> Abstract:
    value = bind(ctx, made, "x").get("x")
    if isinstance(value, Const) and value.value is not None:
        try:
            return Const(_CASTS[name](ctx.literal(value) or 0))
        except (ValueError, OverflowError) as error:
            raise ctx.refused("FT208", str(error)) from None
    if name == "bool" and isinstance(value, Tile):
        return shapes.constructor(ctx, DTypeOf(NAMES["bool"]), bind(ctx, made, "x"))
    raise ctx.refused("FT205", f"`{name}()` expects a constant: use `.astype(...)`")


def _range(ctx: Context, made: Call) -> Abstract:
    if made.keywords or not 1 <= len(made.positional) <= 3:
        raise ctx.refused("FT205", "`range` takes one to three positional arguments")
    match made.positional:
        case (stop,):
            return RangeOf(Const(0), stop, Const(1))
        case (start, stop):
            return RangeOf(start, stop, Const(1))
        case _:
            return RangeOf(*made.positional)


def _static(ctx: Context, made: Call) -> Abstract:
    value = bind(ctx, made, "iterable").get("iterable")
    match value:
        case TupleOf(items=items):
            return Static(items)
        case RangeOf(start=start, stop=stop, step=step):
            bounds: list[int] = []
            for bound in (start, stop, step):
                if not isinstance(bound, Const) or not isinstance(bound.value, int):
                    raise ctx.refused("FT205", "`static_iter` needs a constant range")
                bounds.append(int(ctx.literal(bound) or 0))
            if not bounds[2]:
                raise ctx.refused("FT205", "the step of a range is zero")
            trips = range(*bounds)
            if len(trips) > 1000:
                raise ctx.refused("FT205", f"`static_iter` unrolls at most 1000 trips, not {len(trips)}")
            return Static(tuple(Const(i) for i in trips))
        case _:
            raise ctx.refused("FT205", f"`static_iter` cannot go through {describe(value)}")


def method(ctx: Context, receiver: Tile | Array | Const, name: str) -> Abstract:
    """`receiver.name` where it is a method."""
    if not isinstance(receiver, Array) and name in shapes.METHODS:
        return Method(receiver, name)
    if name in METHODS_LATER:
        raise ctx.refused("FT301", f"`.{name}` has no translation yet")
    raise ctx.refused("FT205", f"{describe(receiver)} has no attribute `{name}`")

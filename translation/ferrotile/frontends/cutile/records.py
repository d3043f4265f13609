"""Instances of frozen dataclasses: their methods, and operators on them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.values import Abstract, ClassOf, Const, Function, Record, describe


def statements_of(cls: ClassOf, name: str) -> Iterator[ast.stmt]:
    """The statements that define an attribute, of the class itself first."""
    for statement in reversed(cls.node.body):
        match statement:
            case ast.FunctionDef(name=found) if found == name:
                yield statement
            case ast.Assign(targets=targets) if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                yield statement
            case ast.AnnAssign(target=ast.Name(id=found), value=value) if found == name and value is not None:
                yield statement
    for base in cls.bases:
        yield from statements_of(base, name)


def method_of(cls: ClassOf, name: str) -> ast.FunctionDef | None:
    """A method by its name, inherited ones included."""
    return next((s for s in statements_of(cls, name) if isinstance(s, ast.FunctionDef)), None)


_DUNDERS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
_ORDER = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def special(ctx: Context, record: Record, name: str, *arguments: Abstract) -> Abstract | None:
    """The result of a special method, None where the class has none."""
    node = method_of(record.cls, f"__{name}__")
    return None if node is None else ctx.inline(ctx, Function(node), (record, *arguments), {})


def operate_records(ctx: Context, symbol: str, left: Abstract, right: Abstract) -> Abstract:
    """A binary operator with a dataclass instance on one side."""
    found = special(ctx, left, _DUNDERS[symbol], right) if isinstance(left, Record) else None
    if found is None and isinstance(right, Record):
        found = special(ctx, right, f"r{_DUNDERS[symbol]}", left)
    if found is None:
        raise ctx.refused("FT203", f"`{symbol}` of {describe(left)} and {describe(right)}")
    return found


def compare_records(ctx: Context, symbol: str, left: Abstract, right: Abstract) -> Abstract:
    """A comparison of dataclass instances: their own method, else field by field where the fields are constant."""
    if isinstance(left, Record):
        found = special(ctx, left, _ORDER[symbol], right)
        if found is not None:
            return found
    if symbol in ("==", "!=") and isinstance(left, Record):
        if not isinstance(right, Record) or right.cls is not left.cls:
            return Const(False)
        if all(isinstance(i, Const) for i in (*left.items, *right.items)):
            ctx.pin(*(i.symbol for i in (*left.items, *right.items) if isinstance(i, Const)))
            values = [[i.value for i in r.items if isinstance(i, Const)] for r in (left, right)]
            return Const((values[0] == values[1]) is (symbol == "=="))
        raise ctx.refused("FT301", "comparing dataclass instances at run time has no translation yet")
    raise ctx.refused("FT203", f"`{symbol}` of {describe(left)} and {describe(right)}")

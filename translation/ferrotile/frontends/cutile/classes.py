"""Classes of the module in a kernel: frozen dataclasses, enums, and classes that only hold constants and functions."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ferrotile.frontends.cutile.arguments import Call
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.records import method_of, statements_of
from ferrotile.frontends.cutile.static import Interpreter, Scope, to_abstract
from ferrotile.frontends.cutile.static_names import StaticError
from ferrotile.frontends.cutile.values import (
    Abstract,
    BoundMethod,
    ClassOf,
    Const,
    Function,
    Member,
    Record,
    describe,
)

_ENUMS = frozenset(f"enum.{n}" for n in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"))
_PLAIN_BASES = frozenset(("object", "typing.Generic", "typing.Protocol"))


def find_class(ctx: Context, name: str) -> ClassOf | None:
    """The top-level class that a name means."""
    for statement in reversed(ctx.module.statements):
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            return class_of(ctx, statement)
    other = ctx.module.classes.get(name)
    return None if other is None else class_of(ctx, other)


def class_of(ctx: Context, node: ast.ClassDef) -> ClassOf:
    """Reads what kind of class it is; nothing of it is refused before it is used."""
    bases: list[ClassOf] = []
    enum = named = integers = False
    for base in node.bases:
        resolved = ctx.module.resolve(base)
        enum = enum or resolved in _ENUMS
        named = named or resolved == "typing.NamedTuple"
        plain_int = isinstance(base, ast.Name) and base.id == "int"
        integers = integers or plain_int or resolved in ("enum.IntEnum", "enum.IntFlag")
        inner = find_class(ctx, base.id) if isinstance(base, ast.Name) and resolved is None else None
        if inner is not None and inner.node is not node:
            bases.append(inner)
    fields: dict[str, ast.expr | None] = {}
    for base_class in bases:
        fields |= base_class.fields
        enum = enum or base_class.kind in ("enum", "int-enum")
        integers = integers or base_class.kind == "int-enum"
    dataclass, frozen = _dataclass(ctx, node)
    if dataclass or named:
        for statement in node.body:
            if not isinstance(statement, ast.AnnAssign) or "ClassVar" in ast.unparse(statement.annotation):
                continue
            if isinstance(statement.target, ast.Name):
                fields[statement.target.id] = statement.value
    kinds = {"int-enum": enum and integers, "enum": enum, "dataclass": dataclass, "namedtuple": named}
    kind = next((k for k, true in kinds.items() if true), "plain")
    return ClassOf(node.name, node, kind, frozen, fields, tuple(bases))


def _dataclass(ctx: Context, node: ast.ClassDef) -> tuple[bool, bool]:
    """Whether a class is a dataclass, and a frozen one."""
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if ctx.module.resolve(call.func if call else decorator) == "dataclasses.dataclass":
            words = {k.arg: k.value for k in call.keywords} if call else {}
            frozen = words.get("frozen")
            return True, isinstance(frozen, ast.Constant) and frozen.value is True
    return False, False


def class_attribute(ctx: Context, cls: ClassOf, name: str) -> Abstract:
    """`Class.name`."""
    found = next(statements_of(cls, name), None)
    match found:
        case None:
            raise ctx.refused("FT205", f"`{cls.name}` has no attribute `{name}`")
        case ast.FunctionDef() as node:
            kind = _decorated(ctx, node)
            return BoundMethod(cls, Function(node)) if kind == "classmethod" else Function(node)
    if cls.kind == "enum":
        return Member(cls, name, _class_value(ctx, cls, found))
    # A member of an integer enum is its number, wherever it is used.
    return _class_value(ctx, cls, found)


def _decorated(ctx: Context, node: ast.FunctionDef) -> str:
    names = [d.id if isinstance(d, ast.Name) else ctx.module.resolve(d) or "" for d in node.decorator_list]
    unknown = [n for n in names if n not in ("staticmethod", "classmethod", "property", "cuda.tile.function")]
    calls = [d for d in node.decorator_list if isinstance(d, ast.Call)]
    if calls and all(ctx.module.resolve(c.func) == "cuda.tile.function" for c in calls):
        unknown = unknown[len(calls) :]
    if unknown:
        raise ctx.refused("FT205", f"the decorator `{unknown[0] or 'call'}` of `{node.name}` is not supported")
    return next((n for n in names if n in ("staticmethod", "classmethod", "property")), "")


def _class_value(ctx: Context, cls: ClassOf, statement: ast.stmt) -> Abstract:
    assert isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None
    scope: Scope = {}
    run = Interpreter(ctx, [scope])
    last = 0
    try:
        for earlier in cls.node.body:
            if (isinstance(earlier, ast.Assign) and isinstance(earlier.targets[0], ast.Name)) or earlier is statement:
                assert isinstance(earlier, (ast.Assign, ast.AnnAssign)) and earlier.value is not None
                automatic = _is_auto(ctx, earlier.value)
                value = _next_value(ctx, cls, last) if automatic else run.value(earlier.value)
                last = value if isinstance(value, int) else last
                if earlier is statement:
                    return to_abstract(value)
                assert isinstance(earlier, ast.Assign) and isinstance(earlier.targets[0], ast.Name)
                scope[earlier.targets[0].id] = value
    except StaticError as error:
        raise ctx.refused("FT205", f"an attribute of `{cls.name}` is not known: {error}") from None
    raise ctx.refused("FT205", f"`{cls.name}` has no such attribute")


def _is_auto(ctx: Context, value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ctx.module.resolve(value.func) == "enum.auto"


def _next_value(ctx: Context, cls: ClassOf, last: int) -> int:
    """What `enum.auto()` gives after `last`: the next number, or the next power of two in a flag."""
    flags = {"enum.Flag", "enum.IntFlag"} & {ctx.module.resolve(b) for b in cls.node.bases}
    return 1 << last.bit_length() if flags else last + 1


def record_attribute(ctx: Context, record: Record, name: str) -> Abstract:
    """A field, a bound method, a property's value or a constant of the class."""
    names = list(record.cls.fields)
    if name in names:
        return record.items[names.index(name)]
    node = method_of(record.cls, name)
    if node is None:
        return class_attribute(ctx, record.cls, name)
    match _decorated(ctx, node):
        case "staticmethod":
            return Function(node)
        case "classmethod":
            return BoundMethod(record.cls, Function(node))
        case "property":
            return ctx.inline(ctx, Function(node), (record,), {})
        case _:
            return BoundMethod(record, Function(node))


def member_attribute(ctx: Context, member: Member, name: str) -> Abstract:
    match name:
        case "value":
            return member.value
        case "name":
            return Const(member.name)
        case _:
            raise ctx.refused("FT205", f"an enum member has `name` and `value` only, not `{name}`")


def construct(ctx: Context, cls: ClassOf, made: Call) -> Abstract:
    """`Class(...)`."""
    if cls.kind in ("enum", "int-enum"):
        return _enum_member(ctx, cls, made)
    if cls.kind != "dataclass":
        raise ctx.refused("FT205", f"creating instances of `{cls.name}` is not supported in a kernel")
    if not cls.frozen:
        raise ctx.refused("FT203", f"`{cls.name}` must be a frozen dataclass: `@dataclass(frozen=True)`")
    if method_of(cls, "__init__") is not None or method_of(cls, "__new__") is not None:
        raise ctx.refused("FT203", f"`{cls.name}` must have the `__init__` that `dataclass` makes")
    bound: dict[str, Abstract] = dict(zip(cls.fields, made.positional, strict=False))
    if len(made.positional) > len(cls.fields):
        raise ctx.refused("FT205", f"`{cls.name}` takes {len(cls.fields)} arguments, {len(made.positional)} are given")
    for name, value in made.keywords.items():
        if name not in cls.fields or name in bound:
            raise ctx.refused("FT205", f"`{cls.name}` gets an unexpected argument `{name}`")
        bound[name] = value
    for name, default in cls.fields.items():
        if name not in bound:
            if default is None:
                raise ctx.refused("FT205", f"`{cls.name}` misses its argument `{name}`")
            bound[name] = _default(ctx, cls, default)
    record = Record(cls, tuple(bound[name] for name in cls.fields))
    post = method_of(cls, "__post_init__")
    if post is not None:
        ctx.inline(ctx, Function(post), (record,), {})
    return record


def _default(ctx: Context, cls: ClassOf, node: ast.expr) -> Abstract:
    if isinstance(node, ast.Call) and ctx.module.resolve(node.func) == "dataclasses.field":
        words = {k.arg: k.value for k in node.keywords}
        if "default_factory" in words or "init" in words or "default" not in words:
            raise ctx.refused("FT203", f"`{cls.name}` has a field that cuTile Python does not support")
        node = words["default"]
    try:
        return to_abstract(Interpreter(ctx, []).value(node))
    except StaticError as error:
        raise ctx.refused("FT205", f"a default of `{cls.name}` is not known: {error}") from None


def _enum_member(ctx: Context, cls: ClassOf, made: Call) -> Abstract:
    if len(made.positional) != 1 or made.keywords:
        raise ctx.refused("FT203", "an enum takes exactly one positional argument")
    (wanted,) = made.positional
    for statement in cls.node.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            value = _class_value(ctx, cls, statement)
            if value == wanted or (isinstance(value, Const) and isinstance(wanted, Const)
                                   and value.value == wanted.value):  # fmt: skip
                if isinstance(wanted, Const):
                    ctx.pin(wanted.symbol)
                return Member(cls, name, value) if cls.kind == "enum" else value
    raise ctx.refused("FT203", f"{describe(wanted)} is no value of `{cls.name}`")


def replaced(ctx: Context, made: Call) -> Abstract:
    """`dataclasses.replace(record, field=...)`."""
    if len(made.positional) != 1 or not isinstance(made.positional[0], Record):
        raise ctx.refused("FT203", "`dataclasses.replace` takes a dataclass instance and fields")
    record = made.positional[0]
    for name in made.keywords:
        if name not in record.cls.fields:
            raise ctx.refused("FT203", f"`{record.cls.name}` has no field `{name}`")
    values: Mapping[str, Abstract] = {**dict(zip(record.cls.fields, record.items, strict=True)), **made.keywords}
    return construct(ctx, record.cls, Call(record.cls.name, (), values, (), made.keyword_spans))

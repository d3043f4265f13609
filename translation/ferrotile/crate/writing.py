"""Lines of host code, broken as rustfmt breaks them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ferrotile.rust.layout import CALL_WIDTH, WIDTH, atom, call, statement

STRUCT_WIDTH = 18
_COMMENT = 100
_SHORT = 10


def docs(text: str, indent: int = 0, mark: str = "///") -> list[str]:
    """A doc comment; blank lines separate paragraphs, and lines that start with `#` or a space stay."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        if not paragraph.strip():
            lines.append("")
        elif paragraph[0] in "-# |`":
            indented = "  " if paragraph[0] == "-" else ""
            lines += textwrap.wrap(
                paragraph, _COMMENT - indent - len(mark) - 1, subsequent_indent=indented,
                break_long_words=False, break_on_hyphens=False,
            ) if paragraph[0] == "-" else [paragraph]  # fmt: skip
        else:
            lines += textwrap.wrap(
                paragraph, _COMMENT - indent - len(mark) - 1, break_long_words=False, break_on_hyphens=False
            )
    return [f"{' ' * indent}{mark} {line}".rstrip() for line in lines]


def put(lines: list[str], indent: int, prefix: str, head: str, arguments: Sequence[str], suffix: str = ";") -> None:
    """`prefix head(arguments) suffix` as one statement."""
    code = call(head, *map(atom, arguments))
    made = statement(prefix, code, suffix, indent)
    if made is None and len(arguments) == 1:
        made = [f"{prefix}{head}(", f"    {arguments[0]},", f"){suffix}"]
    if made is not None and len(made) > 2 and made[0].endswith(f"{head}(") and all(len(a) <= _SHORT for a in arguments):
        made = [made[0], *_packed(arguments, indent + 4), made[-1]]
    lines += [" " * indent + line for line in made or [f"{prefix}{code.text}{suffix}"]]


def unsafe_call(lines: list[str], indent: int, prefix: str, name: str, arguments: Sequence[str], suffix: str) -> None:
    """`prefix unsafe { name(arguments) } suffix`."""
    inside, space = ", ".join(arguments), " " * indent
    block = f"unsafe {{ {name}({inside}) }}{suffix}"
    if len(inside) <= CALL_WIDTH and len(prefix) + len(block) <= WIDTH - indent:
        lines.append(f"{space}{prefix}{block}")
    elif len(inside) <= CALL_WIDTH and prefix and len(block) <= WIDTH - indent - 4:
        lines += [f"{space}{prefix.rstrip()}", f"{space}    {block}"]
    else:
        body: list[str] = []
        put(body, indent + 4, "", name, arguments, "")
        lines += [f"{space}{prefix}unsafe {{", *body, f"{space}}}{suffix}"]


def _packed(items: Sequence[str], indent: int) -> list[str]:
    """Short arguments, as many on a line as fit."""
    lines = [""]
    for number, item in enumerate(items, 1):
        more = f"{lines[-1]} {item},".lstrip()
        if indent + len(more) > WIDTH - (number < len(items)):
            lines.append(f"{item},")
        else:
            lines[-1] = more
    return [f"    {line}" for line in lines]


def header(head: str, parameters: Sequence[str], result: str, indent: int = 0) -> list[str]:
    """A function's head, up to its `{`, for lines that are indented later."""
    one = f"{head}({', '.join(parameters)}){result} {{"
    if indent + len(one) <= WIDTH:
        return [one]
    heads = [f"{head}("]
    if indent + len(heads[0]) > WIDTH - 3:
        name, _, generics = head.removesuffix(">").partition("<")
        heads = [f"{name}<", *(f"    {g}," for g in generics.split(", ")), ">("]
    return [*heads, *(f"    {p}," for p in parameters), f"){result} {{"]


def bracketed(lines: list[str], indent: int, prefix: str, items: Sequence[str], suffix: str) -> None:
    """`prefix[items]suffix`, an array or what is written like one; items of more than ten characters each."""
    inside = ", ".join(items)
    one = f"{' ' * indent}{prefix}[{inside}]{suffix}"
    if len(inside) <= CALL_WIDTH and len(one) <= WIDTH:
        lines.append(one)
        return
    inner = " " * (indent + 4)
    lines += [f"{' ' * indent}{prefix}[", *(f"{inner}{item}," for item in items), f"{' ' * indent}]{suffix}"]


def struct_value(lines: list[str], indent: int, head: str, fields: Sequence[str], suffix: str = "") -> None:
    """`head { fields }`."""
    inside = ", ".join(fields)
    if len(inside) <= STRUCT_WIDTH:
        one = f"{head} {{ {inside} }}{suffix}"
        left, assigned, right = one.partition(" = ")
        if assigned and indent + len(one) > WIDTH:
            lines += [f"{' ' * indent}{left} =", f"{' ' * (indent + 4)}{right}"]
        else:
            lines.append(f"{' ' * indent}{one}")
        return
    inner = " " * (indent + 4)
    lines += [f"{' ' * indent}{head} {{", *(f"{inner}{f}," for f in fields), f"{' ' * indent}}}{suffix}"]


def imported(path: str, names: Sequence[str], indent: int = 0) -> list[str]:
    """`use path::{names};`, for lines that are indented later."""
    one = f"use {path}::{names[0] if len(names) == 1 else '{' + ', '.join(names) + '}'};"
    if indent + len(one) < WIDTH:
        return [one]
    return [f"use {path}::{{", *_packed(names, indent + 4), "};"]


def call_parts(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Of `f(a, g(b, c))` the name and the arguments; None for what is no call."""
    head, opened, rest = text.partition("(")
    if not opened or not head.isidentifier() or not rest.endswith(")"):
        return None
    arguments, depth, start = [], 0, 0
    inside = rest[:-1]
    for at, letter in enumerate(inside):
        depth += (letter in "([") - (letter in ")]")
        if depth < 0:
            return None
        if letter == "," and depth == 0:
            arguments.append(inside[start:at].strip())
            start = at + 1
    return head, (*arguments, inside[start:].strip())

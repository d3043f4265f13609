"""The `mod` line that makes a folder of modules part of a crate that is someone else's."""

from __future__ import annotations

import re

from ferrotile_runner.export.rust_text import code_alone, depths

_MOD = re.compile(r"(?P<head>(?:pub(?:\([^)]*\))?\s+)?mod)\s+(?:r#)?(?P<name>\w+)\s*(?P<end>[;{])")
_PREAMBLE = re.compile(r"(?:#!\[|extern\s+crate\b|use\s|$)")


def declares(text: str, name: str) -> bool:
    """Whether the file has a module of this name, at its top level."""
    code = code_alone(text)
    rows = zip(code.split("\n"), depths(code), strict=True)
    return any(d == 0 and (m := _MOD.match(line)) is not None and m.group("name") == name for line, d in rows)


def declare(text: str, line: str) -> str:
    """`text` with `line`, a `mod` item: among the first modules where these are in order, else in a paragraph of its
    own below them; without any, above the first item that is not an import."""
    code = code_alone(text).split("\n")
    depth = depths("\n".join(code))
    lines = text.split("\n")
    wanted = _MOD.match(line)
    assert wanted is not None
    modules = [
        (number, found.group("name"))
        for number, row in enumerate(code)
        if depth[number] == 0 and (found := _MOD.match(row)) is not None and found.group("end") == ";"
    ]
    if not modules:
        at = _first_item(code, depth, lines)
        return "\n".join(_paragraph(lines, at, line))
    group = modules[:1]
    while len(group) < len(modules) and modules[len(group)][0] == group[-1][0] + 1:
        group.append(modules[len(group)])
    names = [name for _, name in group]
    first, last = group[0][0], group[-1][0]
    plain = first == 0 or not lines[first - 1].strip() or not lines[first - 1].lstrip().startswith(("#[", "///"))
    if plain and names == sorted(names):
        at = next((number for number, name in group if name > wanted.group("name")), last + 1)
        return "\n".join([*lines[:at], line, *lines[at:]])
    return "\n".join(_paragraph(lines, last + 1, line))


def _first_item(code: list[str], depth: list[int], lines: list[str]) -> int:
    """The line of the first item that is no import, its comments and attributes included; the end if there is none."""
    at = 0
    for number, row in enumerate(code):
        inner = lines[number].lstrip().startswith(("//!", "/*!"))
        if depth[number] == 0 and not row.startswith(("}", ")", "]")) and not _PREAMBLE.match(row.strip()):
            break
        if depth[number] > 0 or row.strip() or inner:
            at = number + 1
    return at


def _paragraph(lines: list[str], at: int, line: str) -> list[str]:
    above = [""] if at > 0 and lines[at - 1].strip() else []
    below = [""] if at < len(lines) and lines[at].strip() else []
    rest = lines[at:] or [""]
    return [*lines[:at], *above, line, *below, *rest]

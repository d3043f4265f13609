"""`cuda_tile_print!`: C formats to the macro's own."""

from __future__ import annotations

import re
from collections.abc import Callable

from ferrotile.program.ir import Operation, Value

_DIRECTIVE = re.compile(r"%(%|[^%a-zA-Z]*(?:hh|h|ll|l)?[a-zA-Z])")


def print_line(operation: Operation, name: Callable[[Value], str]) -> str:
    """The macro call. The front end lets only directives through that `{}` says: `%d`, `%i`, `%u`, `%f`."""
    text = str(operation.attribute("format"))
    shown = _DIRECTIVE.sub(lambda m: "%%" if m[1] == "%" else "{}", text.replace("{", "{{").replace("}", "}}"))
    for raw, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r")):
        shown = shown.replace(raw, escaped)
    arguments = "".join(f", {name(v)}" for v in operation.operands)
    return f'cuda_tile_print!("{shown}"{arguments});'

"""`ferrotile explain FT###`: the page of a diagnostic; without a code, the list of all."""

from __future__ import annotations

from ferrotile.diagnostics.catalogue import CATALOGUE

from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.output import stdout_style
from ferrotile_server.cli.paths import PathError
from ferrotile_server.packaged import page_text


def page(code: str) -> str:
    """The text about one code; raises `PathError` where there is no such code."""
    found = page_text(code)
    if found is None:
        raise PathError(f"no diagnostic is called '{code}'; `ferrotile explain` lists them all")
    return found


def run(arguments: Arguments) -> int:
    """Print the pages of the codes, or the list of all codes."""
    if arguments.paths:
        print("\n\n".join(page(code.upper()) for code in arguments.paths))
        return 0
    style = stdout_style()
    for entry in sorted(CATALOGUE.values(), key=lambda e: e.code):
        print(f"{style.bold(entry.code)}  {entry.severity.value:<11}  {entry.title}")
    return 0

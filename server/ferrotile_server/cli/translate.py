"""`ferrotile translate`: the Rust of a file's kernels, on stdout or in a file."""

from __future__ import annotations

import sys
from pathlib import Path

from ferrotile.diagnostics.model import Severity

from ferrotile_server.application import MARK
from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.output import Style, use_colour
from ferrotile_server.cli.paths import PathError, read_source, split_node
from ferrotile_server.cli.places import render
from ferrotile_server.cli.translating import application, translate_source


def write(path: Path, text: str, force: bool) -> None:
    """Write `text`; raises `PathError` where that would destroy a file that ferrotile did not write."""
    try:
        if path.exists() and not force:
            with path.open(encoding="utf-8", errors="replace") as existing:
                if not existing.readline().startswith(MARK):
                    raise PathError(f"{path}: not written by ferrotile; --force overwrites it")
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise PathError(f"{path}: {error.strerror or error}") from None


def run(arguments: Arguments) -> int:
    """Exit code 1 where a kernel was refused; those that were not are written all the same."""
    name, kernel = split_node(arguments.paths[0])
    if Path(name).is_dir():
        raise PathError(f"{name}: is a folder; `translate` takes one file")
    core = application(arguments)
    translated = translate_source(core, read_source(Path(name), name, kernel))
    if not translated.kernels:
        print(f"ferrotile: {name}: no kernel is defined here", file=sys.stderr)

    style = Style(use_colour(sys.stderr))
    problems = [d for d in translated.diagnostics if d.severity in (Severity.ERROR, Severity.WARNING)]
    for diagnostic in problems:
        print(render(name, translated.source.text, diagnostic, style), file=sys.stderr)

    text = core.rust_file(translated.analysis, translated.source.stem, translated.names)
    if text is not None and translated.names:
        if arguments.output is None:
            sys.stdout.write(text)
        else:
            write(Path(arguments.output), text, arguments.force)
    refused = not translated.kernels or any(k.rust is None for k in translated.kernels)
    return 1 if refused or any(d.severity is Severity.ERROR for d in problems) else 0

"""`ferrotile check`: diagnostics for files and folders. Nothing of the user's code is run or imported."""

from __future__ import annotations

import sys
from collections import Counter

from ferrotile.diagnostics.model import Severity
from ferrotile.signatures.describe import describe_signature

from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.output import Style, plural, stdout_style
from ferrotile_server.cli.paths import read_sources
from ferrotile_server.cli.places import line_and_column, render
from ferrotile_server.cli.translating import Translated, application, translate_sources

COUNTED = (
    (Severity.ERROR, "error"),
    (Severity.WARNING, "warning"),
    (Severity.INFORMATION, "note"),
    (Severity.HINT, "hint"),
)


def _print_signatures(translated: Translated, style: Style) -> None:
    """What each kernel's arguments are taken to be, and where that is known from."""
    source = translated.source
    for kernel in translated.kernels:
        line, _ = line_and_column(source.text, kernel.name_span)
        head = f"{source.name}:{line}: {style.bold(kernel.name)}"
        if kernel.signature is None:
            print(f"{head}: the signature is not known")
            continue
        rows = describe_signature(kernel.signature)
        part, what = max(len(row.part) for row in rows), max(len(row.what) for row in rows)
        print(head)
        for row in rows:
            print(f"  {row.part:{part}}  {row.what:{what}}  {style.dim(row.origin)}")


def run(arguments: Arguments) -> int:
    """Exit code 1 where anything of severity error or warning was found."""
    sources, errors = read_sources(arguments.paths)
    core = application(arguments)
    checked = translate_sources(core, sources)
    counts = Counter(d.severity for translated in checked for d in translated.diagnostics)

    if arguments.format == "json":
        from ferrotile_server.cli import json_output

        print(json_output.check_report(checked))
    elif arguments.format == "sarif":
        from ferrotile_server.cli.sarif import sarif

        print(sarif(checked, [str(error) for error in errors]))
    elif arguments.format == "github":
        from ferrotile_server.cli.github_annotations import workflow_commands

        if found := workflow_commands(checked, [str(error) for error in errors]):
            print(found)
    else:
        style = stdout_style()
        for translated in checked:
            for diagnostic in translated.diagnostics:
                print(render(translated.source.name, translated.source.text, diagnostic, style))
            if arguments.verbose:
                _print_signatures(translated, style)
        kernels = sum(len(translated.names) for translated in checked)
        summary = ", ".join(plural(counts[s], noun) for s, noun in COUNTED if counts[s])
        print(f"{plural(kernels, 'kernel')} in {plural(len(checked), 'file')}: {summary or 'no findings'}")

    for error in errors:
        print(f"ferrotile: {error}", file=sys.stderr)
    if errors:
        return 2
    return 1 if counts[Severity.ERROR] or counts[Severity.WARNING] else 0

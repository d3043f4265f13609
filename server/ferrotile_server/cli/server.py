"""`ferrotile server`: the language server, on standard input and output."""

from __future__ import annotations

from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.lsp.server import serve


def run(arguments: Arguments) -> int:
    """Serve until the editor says `exit`."""
    return serve(("--verbose",) if arguments.verbose else ())

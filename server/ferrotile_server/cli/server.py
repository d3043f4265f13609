"""`ferrotile server`: the language server, on standard input and output."""

from __future__ import annotations

import gc

from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.lsp import lean_types


def run(arguments: Arguments) -> int:
    """Serve until the editor says `exit`."""
    gc.disable()  # until all is imported: nothing of it is garbage
    lean_types.load()
    from ferrotile_server.lsp.server import serve

    return serve(("--verbose",) if arguments.verbose else ())

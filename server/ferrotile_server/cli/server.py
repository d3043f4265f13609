"""`ferrotile server`: the language server, on standard input and output."""

from __future__ import annotations

from ferrotile_server.lsp.server import serve


def run() -> int:
    """Serve until the editor says `exit`."""
    return serve()

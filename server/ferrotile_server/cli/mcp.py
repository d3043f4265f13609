"""`ferrotile mcp`: the server for agents, on standard input and output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ferrotile_runner.mcp_sdk import INSTALL, problem

from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.paths import PathError


def _folders(given: Sequence[str]) -> tuple[Path, ...]:
    for folder in given:
        if not Path(folder).is_dir():
            raise PathError(f"{folder}: no such folder")
    return tuple(Path(folder).resolve() for folder in given)


def run(arguments: Arguments) -> int:
    """Serve until the client closes standard input. Raises `PathError` without the SDK, or for a folder that is not
    there."""
    lacking = problem()
    if lacking is not None:
        raise PathError(f"mcp: {lacking}; run: {INSTALL}")
    readable, trusted = _folders(arguments.paths), _folders(arguments.trusted)
    from ferrotile_server.mcp.server import serve

    return serve(readable, trusted)

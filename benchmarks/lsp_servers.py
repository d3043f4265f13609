"""The language servers that are timed, and what each is good for as a measure."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Server:
    """A server to time, with as many keystrokes as its speed allows."""

    name: str
    command: tuple[str, ...]
    keys: int = 200


FERROTILE = Server("ferrotile", (sys.executable, "-P", "-m", "ferrotile_server.lsp"))
ECHO = Server("pygls echo", (sys.executable, "-P", str(Path(__file__).with_name("echo_server.py"))))
"""The floor of a server in Python: pygls with a hover and 20 diagnostics for any text."""


def peers() -> list[Server]:
    """Those of other makers, as far as they are installed."""
    known = [
        Server("ruff", (str(BIN / "ruff"), "server")),
        Server("ty", (str(BIN / "ty"), "server"), 60),
        Server("pyright", (str(BIN / "pyright-langserver"), "--stdio"), 12),
    ]
    return [s for s in known if Path(s.command[0]).exists()]

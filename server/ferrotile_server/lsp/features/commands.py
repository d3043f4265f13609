"""The commands that lenses and actions name: the editor client's own where it has them, else the server's."""

from __future__ import annotations

from lsprotocol import types

from ferrotile_server.lsp.session import Client

TRANSLATE = "ferrotile.server.translate"
PREVIEW = "ferrotile.server.preview"
VERIFY = "ferrotile.server.verify"
DEBUG = "ferrotile.server.debugInformation"


def translate(uri: str) -> types.Command:
    """Write `<stem>.rs`."""
    return types.Command(title="Translate to Rust", command=TRANSLATE, arguments=[uri])


def preview(client: Client, uri: str, kernel: str | None, title: str = "Preview Rust") -> types.Command:
    """Show the Rust of a kernel."""
    name = "ferrotile.preview" if "ferrotile.preview" in client.commands else PREVIEW
    return types.Command(title=title, command=name, arguments=[uri, kernel])


def verify(client: Client, uri: str, kernel: str, title: str = "Verify") -> types.Command:
    """Climb the ladder for a kernel."""
    name = "ferrotile.verify" if "ferrotile.verify" in client.commands else VERIFY
    return types.Command(title=title, command=name, arguments=[uri, kernel])

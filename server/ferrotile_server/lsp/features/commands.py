"""The commands that lenses and actions name: the editor client's own where it has them, else the server's."""

from __future__ import annotations

from lsprotocol import types

from ferrotile_server.lsp.session import Client

TRANSLATE = "ferrotile.server.translate"
SHOW = "ferrotile.server.showRust"
PREVIEW = "ferrotile.server.preview"
VERIFY = "ferrotile.server.verify"
RUN = "ferrotile.server.run"
CANCEL = "ferrotile.server.cancel"
DRAFT = "ferrotile.server.draft"
VERIFY_RUST = "ferrotile.server.verifyRust"
VERIFY_WORKSPACE = "ferrotile.server.verifyWorkspace"
DEBUG = "ferrotile.server.debugInformation"


def translate(uri: str, kernel: str | None = None) -> types.Command:
    """Write `<stem>.rs`; with `kernel`, that one beside those that are there."""
    arguments: list[object] = [uri] if kernel is None else [uri, kernel]
    return types.Command(title="Translate to Rust", command=TRANSLATE, arguments=arguments)


def show(uri: str) -> types.Command:
    """Open the `<stem>.rs` that an edit has just made: some editors keep it where nobody sees it."""
    return types.Command(title="Show the Rust", command=SHOW, arguments=[uri])


def preview(client: Client, uri: str, kernel: str | None, title: str = "Preview Rust") -> types.Command:
    """Show the Rust of a kernel."""
    name = "ferrotile.preview" if "ferrotile.preview" in client.commands else PREVIEW
    return types.Command(title=title, command=name, arguments=[uri, kernel])


def verify(client: Client, uri: str, kernel: str, title: str = "Verify") -> types.Command:
    """Climb the ladder for a kernel."""
    name = "ferrotile.verify" if "ferrotile.verify" in client.commands else VERIFY
    return types.Command(title=title, command=name, arguments=[uri, kernel])


def draft(client: Client, uri: str, kernel: str, title: str = "Draft with AI") -> types.Command:
    """Have a model propose Rust for a refused kernel."""
    name = "ferrotile.draft" if "ferrotile.draft" in client.commands else DRAFT
    return types.Command(title=title, command=name, arguments=[uri, kernel])


def run(uri: str, kernel: str, title: str = "Run") -> types.Command:
    """Run a kernel and its translation on the same inputs, on the GPU if there is one."""
    return types.Command(title=title, command=RUN, arguments=[uri, kernel])


def cancel(uri: str, kernel: str, title: str = "Cancel") -> types.Command:
    """End what runs for a kernel."""
    return types.Command(title=title, command=CANCEL, arguments=[uri, kernel])


def verify_rust(uri: str, line: int, title: str) -> types.Command:
    """Climb the ladder with the Rust below a comment that names its Python; `line` from 0."""
    return types.Command(title=title, command=VERIFY_RUST, arguments=[uri, line])


def icon(drawn: bool, name: str) -> str:
    """Before a lens's title, where the editor draws icons."""
    # VS Code swallows a plain space after an icon.
    return f"$({name})\N{NO-BREAK SPACE}" if drawn else ""

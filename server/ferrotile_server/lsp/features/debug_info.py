"""`ferrotile/debugInformation`: what a problem report needs. No document text, no paths, no environment."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.protocol import Json

METHOD = "ferrotile/debugInformation"
_PACKAGES = ("ferrotile", "pygls", "lsprotocol", "tree-sitter", "tree-sitter-python", "cuda-tile")


def text(context: Context) -> str:
    """Versions, the session's agreements and sizes."""
    client, options = context.client, context.settings.options
    lines = [
        f"python {platform.python_version()} on {platform.system()} {platform.machine()}",
        *(f"{name} {_version(name)}" for name in _PACKAGES),
        f"client {client.name or 'unnamed'}, encoding {client.encoding.value}",
        f"trusted {context.trusted}",
        f"pull diagnostics {client.pulls_diagnostics}, lenses {client.shows_lenses}, "
        f"virtual documents {client.text_document_content}, progress {client.progress}",
        f"target {options.target}, unsafe {options.unsafe}, checks {options.checks}",
        f"open documents {sum(1 for _ in context.documents)}",
    ]
    return "\n".join(lines)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def register(context: Context) -> None:
    """Offer the debug information."""

    async def debug(params: Json) -> dict[str, str]:
        return {"text": text(context)}

    context.server.feature(METHOD)(debug)

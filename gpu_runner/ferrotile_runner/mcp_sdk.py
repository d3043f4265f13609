"""Whether the MCP SDK, which `ferrotile mcp` serves with, is there and new enough. Does not import it."""

from __future__ import annotations

import re
from importlib import metadata

OLDEST = 2
"""The first major version whose server this is written for."""
INSTALL = "pip install 'ferrotile[mcp]'"


def installed() -> str | None:
    """The version of the `mcp` distribution."""
    try:
        return metadata.version("mcp")
    except metadata.PackageNotFoundError:
        return None


def problem() -> str | None:
    """Why `ferrotile mcp` cannot be used; None where it can."""
    version = installed()
    if version is None:
        return "the MCP SDK is not installed"
    found = re.match(r"\d+", version)
    if found is None or int(found.group()) != OLDEST:
        return f"the MCP SDK {version} is installed, and version {OLDEST} is needed"
    return None

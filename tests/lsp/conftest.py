"""Clients with the capabilities of real editors, reduced to what the server looks at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from .strict_client import Client

CAPABILITIES = Path(__file__).with_name("capabilities")
TRUSTED = {"workspaceTrusted": True}


def capabilities(editor: str) -> dict[str, object]:
    """The capabilities of `vscode`, `neovim` or `minimal`."""
    loaded = json.loads((CAPABILITIES / f"{editor}.json").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture
def client() -> Iterator[Client]:
    """A server that is not initialized yet; stopped in order at the end."""
    made = Client()
    try:
        yield made
        made.stop()
    finally:
        made.kill()


@pytest.fixture
def vscode(client: Client) -> Client:
    """An initialized session of a trusted VS Code."""
    client.initialize(capabilities("vscode"), TRUSTED)
    return client

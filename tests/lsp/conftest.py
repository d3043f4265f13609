"""Sessions with the server around a fake translator, with the capabilities of real editors, reduced to what the server
looks at: `client` and `vscode` write bytes, `session` and `code` are pytest-lsp's."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_lsp
from pytest_lsp import ClientServerConfig

from .lsp_client import CAPABILITIES, ENVIRONMENT, StrictClient
from .strict_client import FAKE, REAL, Client

TRUSTED = {"workspaceTrusted": True}
FAKE_SERVER = ClientServerConfig(list(FAKE), client_factory=StrictClient, server_env=ENVIRONMENT)
REAL_SERVER = ClientServerConfig(list(REAL), client_factory=StrictClient, server_env=ENVIRONMENT)


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


@pytest.fixture(scope="module")
def shared() -> Iterator[Client]:
    """One session of a trusted VS Code with the real translator, for all tests of a file: each has URIs of its own."""
    made = Client(REAL)
    try:
        made.initialize(capabilities("vscode"), TRUSTED)
        yield made
        made.stop()
    finally:
        made.kill()


async def until_the_end(client: StrictClient) -> AsyncIterator[None]:
    """Let the test run, then end its session."""
    try:
        yield
        await client.finish()
    finally:
        client.kill()


@pytest_lsp.fixture(config=FAKE_SERVER)
async def session(client: StrictClient) -> AsyncIterator[None]:
    """A session that is not initialized yet; it must end in order."""
    async for _ in until_the_end(client):
        yield


@pytest_lsp.fixture(config=FAKE_SERVER)
async def code(client: StrictClient) -> AsyncIterator[None]:
    """A session of a trusted VS Code; it must end in order."""
    await client.begin("vscode", TRUSTED)
    async for _ in until_the_end(client):
        yield


@pytest_lsp.fixture(config=REAL_SERVER)
async def real(client: StrictClient) -> AsyncIterator[None]:
    """As `code`, with the real translator and the real compilers."""
    await client.begin("vscode", TRUSTED)
    async for _ in until_the_end(client):
        yield

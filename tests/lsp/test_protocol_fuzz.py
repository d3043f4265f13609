"""Sessions made of valid messages, some of them damaged: every request that could be read is answered once, and at the
end the server holds the right text."""

from __future__ import annotations

import json
import random

import pytest

from .conftest import TRUSTED, capabilities
from .strict_client import Client
from .texts import KERNEL, REFUSED, URI

pytestmark = pytest.mark.timeout(60)

ODD: tuple[object, ...] = (
    None,
    True,
    -1,
    2**31,
    2**70,
    0.5,
    "",
    "\0",
    "😀",
    [],
    [[]],
    {},
    {"uri": 5},
    "file:///w/%",
    "x" * 999,
)
METHODS = (
    "textDocument/hover", "textDocument/completion", "textDocument/implementation", "textDocument/definition",
    "textDocument/inlayHint", "textDocument/codeAction", "textDocument/codeLens", "textDocument/diagnostic",
    "textDocument/documentSymbol", "textDocument/foldingRange", "textDocument/rename", "textDocument/references",
    "codeAction/resolve", "workspace/textDocumentContent", "workspace/executeCommand", "workspace/diagnostic",
    "ferrotile/previewUri", "ferrotile/debugInformation", "ferrotile/workspaceKernels", "ferrotile/lineMap",
)  # fmt: skip
NOTIFICATIONS = (
    "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "textDocument/didSave",
    "workspace/didChangeConfiguration", "workspace/didChangeWatchedFiles", "$/setTrace",
    "window/workDoneProgress/cancel", "notebookDocument/didChange", "notebookDocument/didClose", "$/unheard",
)  # fmt: skip


def params(chance: random.Random) -> dict[str, object]:
    """What most methods take, together."""
    place = {"line": chance.randint(0, 9), "character": chance.randint(0, 30)}
    document = {"uri": URI, "version": chance.randint(-3, 40), "languageId": "python", "text": KERNEL}
    return {
        "textDocument": document,
        "position": place,
        "range": {"start": place, "end": place},
        "context": {"diagnostics": [], "includeDeclaration": True},
        "contentChanges": [{"range": {"start": place, "end": place}, "text": "x"}],
        "uri": URI,
        "settings": {"ferrotile": {}},
        "changes": [{"uri": URI, "type": 2}],
        "command": "ferrotile.server.translate",
        "arguments": [{"uri": URI}],
        "newName": "T",
        "title": "t",
        "previousResultIds": [],
    }


def damaged(value: object, chance: random.Random) -> object:
    """`value` with one part of it replaced or taken out."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(sorted(value))
        rest = {k: v for k, v in value.items() if k != key}
        return rest if chance.random() < 0.2 else rest | {key: damaged(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.7:
        return [damaged(value[0], chance), *value[1:]]
    return chance.choice(ODD)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_sessions(seed: int) -> None:
    chance = random.Random(seed)
    client = Client()
    waiting: list[object] = []
    try:
        client.initialize(capabilities(chance.choice(("vscode", "neovim", "minimal"))), TRUSTED)
        client.open(URI, KERNEL)
        for number in range(400):
            given: object = params(chance)
            if chance.random() < 0.6:
                given = damaged(given, chance)
            if chance.random() < 0.4:
                client.notify(chance.choice(NOTIFICATIONS), given)
                continue
            identity: object = chance.choice((f"r{number}", 10_000 + number))
            client.send({"jsonrpc": "2.0", "id": identity, "method": chance.choice(METHODS), "params": given})
            waiting.append(identity)
            if chance.random() < 0.2:
                client.notify("$/cancelRequest", {"id": chance.choice(waiting)})
            if chance.random() < 0.1:
                body = bytearray(json.dumps({"jsonrpc": "2.0", "method": "$/unheard", "params": given}).encode())
                for _ in range(3):
                    body[chance.randrange(len(body))] = chance.randrange(256)
                client.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        for identity in waiting:
            answer = client.wait(identity, 20)
            assert ("result" in answer) != ("error" in answer)
            if "error" in answer:
                assert answer["error"]["code"] != -32603, answer  # type: ignore[index]
        client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
        client.open(URI, REFUSED)
        report = client.request("textDocument/diagnostic", {"textDocument": {"uri": URI}})
        assert [i["range"]["start"]["line"] for i in report["items"]] == [8]  # type: ignore[index]
        client.stop()
    finally:
        client.kill()

"""Changes that come in another order than they were made in: the text is what the editor shows, once all are there."""

from __future__ import annotations

import random

import pytest
from ferrotile.syntax.document import Document
from ferrotile.syntax.positions import Encoding
from ferrotile_server.lsp.changes import MOST_STEPS, Change
from ferrotile_server.lsp.documents import Documents

from .conftest import capabilities
from .strict_client import Client
from .test_random_edits import PIECES, between, place
from .texts import KERNEL, URI

ROUNDS = 150
TOGETHER = 8
"""So many changes are on their way at once."""


def made(model: str, chance: random.Random, encoding: Encoding) -> tuple[str, Change]:
    """A random change, and the text after it."""
    new = "".join(chance.choices(PIECES, k=chance.randint(0, 4)))
    if chance.random() < 0.05:
        return new, Change(new)
    start = between(model, chance)
    end = min(len(model), start + chance.randint(0, 6))
    end += model[end - 1 : end + 1] == "\r\n"  # no place that LSP can name
    change = Change(new, place(model, start, encoding), place(model, end, encoding))
    return model[:start] + new + model[end:], change


@pytest.mark.parametrize("encoding", Encoding)
def test_any_order_of_arrival_gives_the_text_of_the_editor(encoding: Encoding) -> None:
    chance = random.Random(encoding.value)
    documents, model, version = Documents(), "é = '😀'\n", 7
    documents.open(URI, version, model)
    turned = 0
    for _ in range(ROUNDS):
        sent: list[tuple[int, list[Change]]] = []
        for _ in range(chance.randint(1, TOGETHER)):
            version += chance.choice((1, 1, 2))
            changes = []
            for _ in range(chance.choice((1, 1, 3))):
                model, change = made(model, chance, encoding)
                changes.append(change)
            sent.append((version, changes))
        came = chance.sample(sent, len(sent))
        turned += came != sent
        for number, changes in came:
            assert documents.change(URI, number, changes, encoding) is not None
        now = documents.get(URI)
        assert now is not None
        assert (now.version, now.document.text) == (version, model)
    assert turned > ROUNDS // 2
    assert str(now.document.tree.root_node) == str(Document(model).tree.root_node)


def insertion(text: str, column: int) -> list[Change]:
    return [Change(text, (0, column), (0, column))]


def test_what_comes_twice_or_far_too_late_is_ignored() -> None:
    documents = Documents()
    documents.open(URI, 0, "")
    for version in range(2, MOST_STEPS + 3):
        assert documents.change(URI, version, insertion("x", 0), Encoding.UTF8) is not None
    text = "x" * (MOST_STEPS + 1)
    assert documents.change(URI, MOST_STEPS, insertion("y", 0), Encoding.UTF8) is None, "it was made already"
    assert documents.change(URI, 1, insertion("y", 0), Encoding.UTF8) is None, "the text before it is no longer known"
    now = documents.get(URI)
    assert now is not None and now.document.text == text


def test_a_new_life_of_a_document_knows_nothing_of_the_one_before() -> None:
    documents = Documents()
    documents.open(URI, 0, "")
    documents.change(URI, 2, insertion("b", 1), Encoding.UTF8)
    documents.open(URI, 5, "ab")
    assert documents.change(URI, 1, insertion("a", 0), Encoding.UTF8) is None
    documents.close(URI)
    assert documents.change(URI, 6, insertion("a", 0), Encoding.UTF8) is None


def test_the_session_shows_the_text_of_the_editor(client: Client) -> None:
    """As Helix types `REFUSE` over a word: gone, then letter by letter, and the letters overtake one another."""
    client.initialize(capabilities("helix"))
    client.open(URI, KERNEL.replace("    pass", "    gone"), 0)
    line = 4
    letters = [((4, 8), "")] + [((4 + n, 4 + n), letter) for n, letter in enumerate("REFUSE")]
    for version in (2, 1, 4, 3, 7, 6, 5):
        (start, end), text = letters[version - 1]
        span = {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}
        client.change(URI, version, {"range": span, "text": text})
    said: dict[str, object] = {}
    while said.get("version") != 7 or not said["diagnostics"]:
        said = client.notification("textDocument/publishDiagnostics")
    (found,) = said["diagnostics"]  # type: ignore[misc]
    assert found["range"] == {"start": {"line": line, "character": 4}, "end": {"line": line, "character": 10}}

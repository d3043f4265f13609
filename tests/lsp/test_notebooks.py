"""Kernels in the cells of a notebook."""

from __future__ import annotations

import os

import pytest
from ferrotile_server.lsp.notebooks import as_python

from .strict_client import Client

pytestmark = pytest.mark.timeout(180)

IMPORTS = """%matplotlib inline
import cuda.tile as ct
!pip list
from math import pi

def twice(t):
    return t * 2.0"""
KERNEL = """# ferrotile: x: f32[N], y: f32[N], T=64, grid=(N/T)
@ct.kernel
def k(x, y, T: ct.Constant[int]):
    t = twice(ct.load(x, (ct.bid(0),), (T,)))
    ct.store(y, (ct.bid(0),), t)
"""
OTHER = KERNEL.replace("def k", "def other").replace("twice", "ct.no_such")


class Notebook:
    """A notebook in VS Code: a URI for it, and one for each cell."""

    def __init__(self, client: Client, name: str, *texts: str) -> None:
        self.client = client
        self.uri = f"file:///w/{name}.ipynb"
        self.cells = [self.cell(i) for i in range(len(texts))]
        notebook = {
            "uri": self.uri,
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [{"kind": 2, "document": c} for c in self.cells],
        }
        documents = [self.item(c, t) for c, t in zip(self.cells, texts, strict=True)]
        client.notify("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": documents})

    def cell(self, number: int) -> str:
        return f"vscode-notebook-cell:{self.uri.removeprefix('file:')}#W{number}sZmlsZQ%3D%3D"

    @staticmethod
    def item(uri: str, text: str) -> dict[str, object]:
        return {"uri": uri, "languageId": "python", "version": 1, "text": text}

    def change(self, cells: dict[str, object]) -> None:
        params = {"notebookDocument": {"uri": self.uri, "version": 2}, "change": {"cells": cells}}
        self.client.notify("notebookDocument/didChange", params)

    def problems(self, uri: str) -> list[tuple[object, int, int]]:
        """Errors and warnings of a cell: code, first line and column."""
        report = self.client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        assert isinstance(report, dict)
        starts = [(d, d["range"]["start"]) for d in report["items"] if d["severity"] <= 2]
        return [(d["code"], at["line"], at["character"]) for d, at in starts]

    def lenses(self, uri: str) -> list[tuple[int, str]]:
        found = self.client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        assert isinstance(found, list)
        return [(lens["range"]["start"]["line"], lens["command"]["title"]) for lens in found]


def hover(client: Client, uri: str, line: int, character: int) -> tuple[str, int]:
    """The text, and the line that it is about."""
    params = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
    found = client.request("textDocument/hover", params)
    assert isinstance(found, dict)
    return found["contents"]["value"], found["range"]["start"]["line"]


def test_cells_are_one_module_with_lines_of_their_own(shared: Client) -> None:
    notebook = Notebook(shared, "one", IMPORTS, KERNEL, OTHER)
    first, second, third = notebook.cells
    assert notebook.problems(first) == []
    assert notebook.problems(second) == []
    assert notebook.problems(third) == [("FT210", 3, 8)]
    assert notebook.lenses(first) == []
    assert notebook.lenses(second) == [(2, "Verify"), (2, "Run"), (2, "Preview Rust")]
    assert notebook.lenses(third) == [(2, "not translated: FT210")]
    text, line = hover(shared, second, 3, 4)
    assert text.startswith("```python\nt: f32[T]  # f32[64]\n")
    assert line == 3
    text, line = hover(shared, first, 6, len("    return "))
    assert text.startswith("```python\nt: f32[T]  # f32[64]\n")
    assert line == 6


def test_hints_symbols_and_actions_are_of_the_cell(shared: Client) -> None:
    notebook = Notebook(shared, "two", IMPORTS, KERNEL, KERNEL.replace("def k", "def l"))
    document = {"textDocument": {"uri": notebook.cells[2]}}
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    hints = shared.request("textDocument/inlayHint", {**document, "range": everything})
    assert isinstance(hints, list)
    assert [(h["position"]["line"], h["position"]["character"], h["label"]) for h in hints] == [(3, 5, ": f32[T]")]
    symbols = shared.request("textDocument/documentSymbol", document)
    assert isinstance(symbols, list)
    assert [(s["name"], s["selectionRange"]["start"]["line"]) for s in symbols] == [("l", 2)]
    params = {**document, "range": everything, "context": {"diagnostics": []}}
    actions = shared.request("textDocument/codeAction", params)
    assert isinstance(actions, list)
    assert [a["title"] for a in actions] == ["Preview Rust of `l`"]  # no file beside a cell


def test_an_edit_in_one_cell_is_seen_in_another(shared: Client) -> None:
    notebook = Notebook(shared, "three", IMPORTS, KERNEL)
    first, second = notebook.cells
    end = {"line": 6, "character": len("    return t * 2.0")}
    edit = {"range": {"start": {"line": 6, "character": len("    return ")}, "end": end}, "text": "ct.no_such(t)"}
    changes = [{"document": {"uri": first, "version": 2}, "changes": [edit]}]
    assert notebook.problems(second) == []
    notebook.change({"textContent": changes})
    assert notebook.problems(first) == [("FT210", 6, len("    return "))]
    assert notebook.problems(second) == []
    assert notebook.lenses(second) == [(2, "not translated: FT210")]


def test_cells_come_and_go(shared: Client) -> None:
    notebook = Notebook(shared, "four", IMPORTS, KERNEL)
    first, second = notebook.cells
    new = notebook.cell(7)
    added = {"start": 1, "deleteCount": 0, "cells": [{"kind": 2, "document": new}]}
    text = "%%bash\necho é 😀\nif\n"
    notebook.change({"structure": {"array": added, "didOpen": [notebook.item(new, text)]}})
    assert notebook.problems(new) == []
    assert notebook.lenses(second) == [(2, "Verify"), (2, "Run"), (2, "Preview Rust")]
    gone = {"start": 0, "deleteCount": 1}
    notebook.change({"structure": {"array": gone, "didClose": [{"uri": first}]}})
    assert notebook.problems(first) == []
    assert notebook.lenses(second) == []  # its import of `cuda.tile` is gone, and with it the kernel
    shared.notify(
        "notebookDocument/didClose",
        {"notebookDocument": {"uri": notebook.uri}, "cellTextDocuments": [{"uri": new}, {"uri": second}]},
    )
    assert notebook.problems(second) == []
    assert notebook.lenses(second) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%timeit f()\nx = 1", "#timeit f()\nx = 1"),
        ("  !ls", "  #ls"),
        ("x = 5 % 3\ny = a != b", "x = 5 % 3\ny = a != b"),
        ("ct.load?", "#t.load?"),
        ("%%time\nx = 1", "#%time\nx = 1"),
        ("%%bash\nls é", "      \n    "),
    ],
)
def test_what_only_notebooks_understand(text: str, expected: str) -> None:
    made = as_python(text)
    assert made == expected
    assert [len(line) for line in made.split(os.linesep)] == [len(line) for line in text.split(os.linesep)]

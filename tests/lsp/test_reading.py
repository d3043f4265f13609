"""What helps in reading and writing a kernel, from the real translator: hints, outline, types, directives."""

from __future__ import annotations

import pytest
from lsprotocol import types

from .lsp_client import StrictClient, timely

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning"),
]

URI = "file:///w/rows.py"
HERE = types.TextDocumentIdentifier(URI)
TEXT = """import cuda.tile as ct


def scaled(v):
    w = v * 2.0
    return w


# ferrotile: x: f16[M, N], y: f32[M], TN=64, grid=(M,)
@ct.kernel
def rows(x, y, TN: ct.Constant[int]):
    i, j = ct.bid(0), 0
    t = ct.load(x, index=(i, j), shape=(1, TN))
    total = ct.zeros((1,), ct.float32)
    total += ct.sum(scaled(t).astype(ct.float32), axis=1)
    ct.store(y, index=(i,), tile=total)
"""
LINES = TEXT.split("\n")
DIRECTIVE = LINES.index(next(line for line in LINES if line.startswith("# ferrotile")))


def place(line_of: str, word: str) -> types.Position:
    line = next(n for n, text in enumerate(LINES) if line_of in text)
    return types.Position(line, LINES[line].index(word))


def whole(first: int = 0, last: int = len(LINES) - 1) -> types.Range:
    return types.Range(types.Position(first, 0), types.Position(last, 0))


async def hints(client: StrictClient, asked: types.Range) -> list[tuple[str, str]]:
    """The text before each hint's place, and the hint."""
    found = await timely(client.text_document_inlay_hint_async(types.InlayHintParams(HERE, asked)))
    assert found is not None
    return [(LINES[h.position.line][: h.position.character].strip(), str(h.label)) for h in found]


async def test_hints_tell_the_type_of_each_tile(real: StrictClient) -> None:
    real.open(URI, TEXT)
    assert await hints(real, whole()) == [("t", ": f16[1, TN]"), ("total", ": f32[1]"), ("total", ": f32[1]")]


async def test_hints_are_for_the_lines_that_are_asked_for(real: StrictClient) -> None:
    real.open(URI, TEXT)
    line = place("ct.zeros", "total").line
    assert await hints(real, whole(line, line + 1)) == [("total", ": f32[1]")]
    assert await hints(real, whole(0, 3)) == []


async def test_hints_keep_their_place_after_an_edit_above(real: StrictClient) -> None:
    real.open(URI, TEXT)
    await hints(real, whole())
    real.change(URI, 1, "# new\n" + TEXT)
    found = await timely(real.text_document_inlay_hint_async(types.InlayHintParams(HERE, whole(0, len(LINES)))))
    assert found is not None
    assert found[0].position == types.Position(place("ct.load", "t").line + 1, 5)


@pytest.mark.parametrize(
    ("line", "word", "expected"),
    [
        ("total +=", "t)", "f16[1, TN]"),  # a variable
        ("total +=", "total", "f32[1]"),
        ("total +=", "ct.sum", "f32[1]"),  # an expression
        ("total +=", "astype", "f32[1, TN]"),
        ("ct.store", "total", "f32[1]"),
        ("i, j", "ct.bid", "i32"),
    ],
)
async def test_the_type_under_the_cursor(real: StrictClient, line: str, word: str, expected: str) -> None:
    real.open(URI, TEXT)
    hover = await timely(real.text_document_hover_async(types.HoverParams(HERE, place(line, word))))
    assert hover is not None and isinstance(hover.contents, types.MarkupContent)
    assert hover.contents.value.replace("\\", "").split(";")[0].split("\n")[0] == expected


async def test_the_outline_has_kernels_with_their_parameters(real: StrictClient) -> None:
    real.open(URI, TEXT)
    found = await timely(real.text_document_document_symbol_async(types.DocumentSymbolParams(HERE)))
    assert found is not None
    (kernel,) = found
    assert isinstance(kernel, types.DocumentSymbol)
    assert (kernel.name, kernel.detail) == ("rows", "x: f16[M, N], y: f32[M], TN=64, grid=(M,)")
    assert [(c.name, c.detail) for c in kernel.children or ()] == [("x", "f16[M, N]"), ("y", "f32[M]"), ("TN", "= 64")]
    head = place("def rows", "x,")
    assert (kernel.children or ())[0].range.start == head


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ("# ferrotile: ", {"x", "y", "TN", "grid"}),
        ("# ferrotile: x: f16[M, N], ", {"y", "TN", "grid"}),
        ("# ferrotile: x: f16[M, N], y: f32[", {"M", "N"}),
        ("# ferrotile: x: f16[M, N], TN=", set()),
        ("# ferrotile: x: f16[M, N], grid=(M, N), ", {"y", "TN"}),
        ("# a note, ", set()),
    ],
)
async def test_completion_in_a_directive(real: StrictClient, directive: str, expected: set[str]) -> None:
    lines = [*LINES[:DIRECTIVE], directive, *LINES[DIRECTIVE + 1 :]]
    real.open(URI, "\n".join(lines))
    params = types.CompletionParams(HERE, types.Position(DIRECTIVE, len(directive)))
    found = await timely(real.text_document_completion_async(params))
    assert isinstance(found, list)
    assert {item.label for item in found} == expected


async def test_completion_of_element_types(real: StrictClient) -> None:
    directive = "# ferrotile: x: "
    real.open(URI, "\n".join([*LINES[:DIRECTIVE], directive, *LINES[DIRECTIVE + 1 :]]))
    params = types.CompletionParams(HERE, types.Position(DIRECTIVE, len(directive)))
    found = await timely(real.text_document_completion_async(params))
    assert isinstance(found, list)
    assert {"f16", "bf16", "f32", "i32", "u8"} <= {item.label for item in found}
    elsewhere = types.CompletionParams(HERE, place("ct.zeros", "ct.zeros"))
    assert await timely(real.text_document_completion_async(elsewhere)) == []

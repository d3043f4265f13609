"""What helps in reading and writing a kernel, from the real translator: hints, outline, types, directives."""

from __future__ import annotations

import pytest
from lsprotocol import types

from .lsp_client import StrictClient, refusal, timely

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
    assert await hints(real, whole()) == [("t", ": f16[1, TN]"), ("total", ": f32[1]")]


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
        ("total +=", "t)", "t: f16[1, TN]  # f16[1, 64]"),  # a variable
        ("total +=", "total", "total: f32[1]"),
        ("total +=", "ct.sum", "f32[1]"),  # an expression
        ("total +=", "astype", "f32[1, TN]  # f32[1, 64]"),
        ("total +=", "scaled", "f16[1, TN]  # f16[1, 64]"),  # a helper's result
        ("ct.store", "total", "total: f32[1]"),
        ("i, j", "i", "i: i32"),
        ("i, j", "j", "j = 0"),
        ("i, j", "ct.bid", "i32"),
        ("def rows", "y", "y: f32[M]  # directive"),
        ("def rows", "TN", "TN = 64  # directive"),
        ("shape=(1, TN)", "TN", "TN = 64"),
        ("shape=(1, TN)", "x,", "x: f16[M, N]  # directive"),
        ("w = v", "w", "w: f16[1, TN]  # f16[1, 64]"),  # in a helper
        ("# ferrotile", "y", "y: f32[M]  # directive"),
        ("# ferrotile", "N]", "N: axis 1 of x"),
        ("# ferrotile", "M]", "M: axis 0 of x, y"),
    ],
)
async def test_the_type_under_the_cursor(real: StrictClient, line: str, word: str, expected: str) -> None:
    real.open(URI, TEXT)
    hover = await timely(real.text_document_hover_async(types.HoverParams(HERE, place(line, word))))
    assert hover is not None and isinstance(hover.contents, types.MarkupContent)
    assert hover.contents.value.replace("\\", "").removeprefix("```python\n").split("\n")[0] == expected


async def test_the_outline_has_kernels_with_their_parameters(real: StrictClient) -> None:
    real.open(URI, TEXT)
    found = await timely(real.text_document_document_symbol_async(types.DocumentSymbolParams(HERE)))
    assert found is not None
    (kernel,) = found
    assert isinstance(kernel, types.DocumentSymbol)
    assert (kernel.name, kernel.detail) == ("rows", "x: f16[M, N], y: f32[M], TN=64, grid=(M)")
    assert [(c.name, c.detail) for c in kernel.children or ()] == [("x", "f16[M, N]"), ("y", "f32[M]"), ("TN", "= 64")]
    head = place("def rows", "x,")
    assert (kernel.children or ())[0].range.start == head


async def test_the_outline_moves_with_the_text(real: StrictClient) -> None:
    real.open(URI, TEXT)

    async def lines() -> list[list[int]]:
        found = await timely(real.text_document_document_symbol_async(types.DocumentSymbolParams(HERE)))
        symbols = [s for s in found or () if isinstance(s, types.DocumentSymbol)]
        named = [n for s in symbols for n in (s, *(s.children or ()))]
        return [[p.line for r in (n.range, n.selection_range) for p in (r.start, r.end)] for n in named]

    before = await lines()
    assert len(before) == 4
    for version, above in enumerate(("# above\n", "# above\n# and more\n", ""), 1):
        real.change(URI, version, above + TEXT)
        by = above.count("\n")
        assert await lines() == [[line + by for line in one] for one in before]
    real.change(URI, 4, TEXT.replace("TN: ct", "\n    TN: ct"))
    head, *_, last = await lines()
    assert (head[1], last[0]) == (before[0][1] + 1, before[3][0] + 1)


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ("# ferrotile: ", {"x", "y", "TN", "grid"}),
        ("# ferrotile: x: f16[M, N], ", {"y", "TN", "grid"}),
        ("# ferrotile: x: f16[M, N], y: f32[", {"M", "N"}),
        ("# ferrotile: x: f16[M, N], TN=", {"16", "32", "64", "128", "256", "512", "1024"}),
        ("# ferrotile: x: f16[M, N], y=", set()),
        ("# ferrotile: x: f16[M, N], TN=32, grid=(", {"M", "N", "TN"}),
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


LAUNCHED = """import cuda.tile as ct
import torch


@ct.kernel
def scale(x, y, n: int, s, T: ct.Constant[int]):
    t = ct.load(x, (ct.bid(0),), (T,)) * s
    ct.store(y, (ct.bid(0),), t)


def run(n: int) -> None:
    x = torch.zeros(n, dtype=torch.float16)
    ct.launch(None, (ct.cdiv(n, 64),), scale, (x, torch.empty_like(x), n, 0.5, 64))
"""


async def test_hints_in_the_head_tell_what_no_directive_says(real: StrictClient) -> None:
    lines = LAUNCHED.split("\n")
    real.open(URI, LAUNCHED)
    head = types.Range(types.Position(5, 0), types.Position(5, len(lines[5])))
    found = await timely(real.text_document_inlay_hint_async(types.InlayHintParams(HERE, head)))
    assert found is not None
    shown = [(lines[5][: h.position.character].rsplit(" ", 1)[-1].rsplit("(", 1)[-1], h.label) for h in found]
    assert shown == [
        ("x", ": f16[n]"),
        ("y", ": f16[n]"),
        ("int", ": i32"),
        ("s", ": f32"),
        ("ct.Constant[int]", " = 64"),
    ]
    resolved = await timely(real.inlay_hint_resolve_async(found[0]))
    assert resolved.tooltip == "x: f16[n]\nlaunch in line 13"
    stated = LAUNCHED.replace("@ct", "# ferrotile: x: f16[N], y: f16[N], s: f32, T=64\n@ct")
    real.change(URI, 1, stated)
    head = types.Range(types.Position(6, 0), types.Position(6, len(lines[5])))
    found = await timely(real.text_document_inlay_hint_async(types.InlayHintParams(HERE, head)))
    assert [h.label for h in found or ()] == [": i32"]


async def test_an_extent_is_renamed_in_all_lines_of_its_directive(real: StrictClient) -> None:
    two = "# ferrotile: x: f16[M, N], y: f32[M]\n# ferrotile: TN=64, grid=(M,)"
    text = TEXT.replace(LINES[DIRECTIVE], two) + "\n# M, and M\n# ferrotile: y: f32[M]\n"
    real.open(URI, text)
    at = types.Position(DIRECTIVE + 1, text.split("\n")[DIRECTIVE + 1].index("M"))
    place = await timely(real.text_document_prepare_rename_async(types.PrepareRenameParams(HERE, at)))
    assert place == types.Range(at, types.Position(at.line, at.character + 1))
    edit = await timely(real.text_document_rename_async(types.RenameParams(HERE, at, "rows_of_x")))
    assert edit is not None and edit.document_changes is not None
    (change,) = edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    starts = {(e.range.start.line - DIRECTIVE, e.range.start.character) for e in change.edits}
    assert starts == {(0, two.index("M")), (0, two.index("M]")), (1, two.split("\n")[1].index("M"))}


@pytest.mark.parametrize(("line", "word"), [("def rows", "x,"), ("# ferrotile", "x:"), ("total +=", "total")])
async def test_other_names_are_for_other_servers_to_rename(real: StrictClient, line: str, word: str) -> None:
    real.open(URI, TEXT)
    at = place(line, word)
    assert await timely(real.text_document_prepare_rename_async(types.PrepareRenameParams(HERE, at))) is None
    assert await timely(real.text_document_rename_async(types.RenameParams(HERE, at, "z"))) is None


@pytest.mark.parametrize("name", ["N", "x", "1M", "f32", "grid", "def"])
async def test_a_name_that_an_extent_cannot_have(real: StrictClient, name: str) -> None:
    real.open(URI, TEXT)
    at = place("# ferrotile", "M,")
    number, message = await refusal(real.text_document_rename_async(types.RenameParams(HERE, at, name)))
    assert number == -32602
    assert f"`{name}`" in message


async def test_a_comment_above_a_kernel_becomes_a_directive(real: StrictClient) -> None:
    text = LAUNCHED.replace("@ct", "# fer\n@ct")
    real.open(URI, text)
    found = await timely(
        real.text_document_completion_async(types.CompletionParams(HERE, types.Position(4, len("# fer"))))
    )
    assert isinstance(found, list)
    (item,) = found
    assert isinstance(item.text_edit, types.TextEdit)
    assert item.text_edit.new_text == "# ferrotile: x: f16[n], y: f16[n], n: i32, s: f32, T=64, grid=(n/64)"
    assert item.text_edit.range == types.Range(types.Position(4, 0), types.Position(4, 5))


async def test_lenses_stay_while_a_kernel_is_typed(real: StrictClient) -> None:
    real.open(URI, TEXT)

    async def lenses() -> list[tuple[int, str]]:
        found = await timely(real.text_document_code_lens_async(types.CodeLensParams(HERE)))
        return [(lens.range.start.line, lens.command.title) for lens in found or () if lens.command]

    line = place("def rows", "rows").line
    before = await lenses()
    assert before == [(line, "Verify"), (line, "Run"), (line, "Preview Rust")]
    for version, typed in enumerate(("total = (", 'total = """', "if total"), 1):
        broken = TEXT.replace("    total = ct.zeros", f"    {typed}\n    total = ct.zeros")
        real.change(URI, version, f"# new\n{broken}")
        assert await lenses() == [(line + 1, title) for _, title in before]
    real.change(URI, 9, TEXT.replace("def rows", "def columns"))
    assert await lenses() == before
    real.change(URI, 10, TEXT[: TEXT.index("# ferrotile")])
    assert await lenses() == []

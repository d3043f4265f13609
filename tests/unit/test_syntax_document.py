"""Positions and snapshots: total, exact, and incremental equal to full."""

from __future__ import annotations

from ferrotile.syntax.document import Document, ItemKind
from ferrotile.syntax.module import parse_module
from ferrotile.syntax.positions import Encoding, LineTable
from hypothesis import given, settings
from hypothesis import strategies as st

PIECES = st.sampled_from(
    ["a", "é", "😀", "\n", "\r", "\r\n", " ", "    ", "#", '"""', "(", ")", ":", "def f():\n", "@ct.kernel\n",
     "x = 1\n", "\ud83d", "\0", "\ufeff", "\u2028", "import cuda.tile as ct\n", "    return 1\n", "\\", "'"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=25).map("".join)


@given(TEXTS)
def test_every_character_boundary_makes_the_round_trip(text: str) -> None:
    document = Document(text)
    offset = 0
    for character in document.text:
        inside_line_end = offset and document.data[offset - 1 : offset + 1] == b"\r\n"
        if not inside_line_end:
            for encoding in Encoding:
                line, column = document.lines.position(offset, encoding)
                assert document.lines.offset(line, column, encoding) == offset
        offset += len(character.encode())


@given(TEXTS, st.integers(-5, 50), st.integers(-5, 50))
def test_positions_are_total(text: str, line: int, column: int) -> None:
    document = Document(text)
    for encoding in Encoding:
        offset = document.lines.offset(line, column, encoding)
        assert 0 <= offset <= len(document.data)
        document.data[:offset].decode("utf-8")
        document.lines.position(column, encoding)


def test_columns_in_three_encodings() -> None:
    lines = LineTable("s = '😀é'; y".encode())
    assert [lines.position(14, e)[1] for e in (Encoding.UTF8, Encoding.UTF16, Encoding.UTF32)] == [14, 11, 10]
    assert lines.offset(0, 6, Encoding.UTF16) == 5  # inside the surrogate pair: back to its start


def test_lines_end_at_lf_crlf_and_cr_only() -> None:
    assert LineTable("a\nb\r\nc\rd\u2028e\x0cf".encode()).count == 4


@settings(max_examples=300)
@given(TEXTS, st.lists(st.tuples(st.integers(0, 80), st.integers(0, 20), TEXTS, st.booleans()), max_size=5))
def test_incremental_edit_equals_full_parse(text: str, edits: list[tuple[int, int, str, bool]]) -> None:
    document = Document(text)
    for start, length, new, looked_at in edits:
        document = document.edit(start, start + length, new)
        if looked_at:  # also keeps the items for the next edit; edits that nobody looks at are parsed together
            assert document.items == Document(document.text).items
    full = Document(document.text)
    assert document.data == full.data
    assert document.items == full.items
    assert str(document.tree.root_node) == str(full.tree.root_node)
    assert document.items == full.items
    assert document.comments == full.comments


@settings(max_examples=300)
@given(TEXTS)
def test_no_text_makes_analysis_raise(text: str) -> None:
    module = parse_module(Document(text))
    size = len(module.document.data)
    for item in module.items:
        assert 0 <= item.span.start <= item.span.end <= size
    for found in module.diagnostics:
        assert 0 <= found.span.start <= found.span.end <= size + 1


def test_items_have_kind_names_span_and_text() -> None:
    source = "import cuda.tile as ct\nN = 4\n\n# ferrotile: x: f32[M]\n@ct.kernel\ndef k(x):\n    pass\n"
    source += "\nclass C: ...\n"
    document = Document(source)
    assert [(i.kind, i.names) for i in document.items] == [
        (ItemKind.IMPORT, ()), (ItemKind.ASSIGNMENT, ("N",)), (ItemKind.FUNCTION, ("k",)),
        (ItemKind.CLASS, ("C",)),
    ]  # fmt: skip
    kernel = document.items[2]
    assert kernel.text.startswith("@ct.kernel\ndef k") and document.slice(kernel.span) == kernel.text
    assert [c.text for c in document.leading_comments(kernel)] == ["# ferrotile: x: f32[M]"]


def test_a_digest_survives_a_move() -> None:
    before = Document("x = 1\ndef f():\n    return 2\n")
    after = before.edit(0, 0, "# é\n\n")
    assert [i.digest for i in before.items] == [i.digest for i in after.items]


def test_comments_are_not_looked_for_in_strings() -> None:
    document = Document("a = '# no'  # yes\n'''\n# no\n'''\n# yes\n")
    assert [c.text for c in document.comments] == ["# yes", "# yes"]


def test_the_old_snapshot_stays_valid() -> None:
    old = Document("def f():\n    return 1\n")
    tree = str(old.tree.root_node)
    old.edit(0, 8, "class C:")
    assert str(old.tree.root_node) == tree and old.items[0].kind is ItemKind.FUNCTION

"""`ferrotile/lines`: which lines of a preview belong to which of the Python."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from .strict_client import Client
from .test_actions import TWO

pytestmark = pytest.mark.timeout(180)


def lines_of(client: Client, uri: str, kernel: str | None) -> tuple[list[list[int]], list[str], object]:
    """Rows, the lines of the preview that they are about, and the version."""
    made = client.request("ferrotile/lines", {"uri": uri, "kernel": kernel})
    assert isinstance(made, dict)
    content = client.request("workspace/textDocumentContent", {"uri": made["uri"]})
    assert isinstance(content, dict)
    return made["lines"], str(content["text"]).split("\n"), made["version"]


@pytest.mark.parametrize("kernel", ["twice", "half", None])
def test_lines_of_a_preview(shared: Client, tmp_path: Path, kernel: str | None) -> None:
    uri = (tmp_path / "two.py").as_uri()
    shared.open(uri, TWO, 3)
    rows, rust, version = lines_of(shared, uri, kernel)
    assert version == 3
    python = TWO.split("\n")
    spans = [(first, last) for _, _, first, last in rows]
    assert spans == sorted(spans) and all(a[1] < b[0] for a, b in pairwise(spans))
    found = {number: rust[first : last + 1] for number, _, first, last in rows}
    for name, factor in (("twice", "2.0"), ("half", "0.5")):
        head = python.index(f"def {name}(x, y, T: ct.Constant[int]):")
        if kernel in (name, None):
            assert any(f"fn {name}<" in line for line in found[head])
            assert any("store" in line for line in found[head + 1])
            assert any(factor in line for line in found[head + 1])
        else:
            assert head not in found and head + 1 not in found


def test_what_is_not_translated_has_no_lines(shared: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "two.py").as_uri()
    shared.open(uri, TWO.replace("ct.load", "ct.no_such"))
    assert lines_of(shared, uri, "twice")[0] == []
    assert shared.error("ferrotile/lines", {"uri": 3})[0] == -32602
    assert shared.error("ferrotile/lines", {"uri": "file:///not/open.py"})[0] == -32602

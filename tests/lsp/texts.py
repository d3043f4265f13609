"""Texts and places that the tests share."""

from __future__ import annotations

URI = "file:///w/kernels.py"
KERNEL = "import cuda.tile as ct\n\n@ct.kernel\ndef add(a, b):\n    pass\n"
REFUSED = KERNEL + "\n@ct.kernel\ndef bad(a):\n    REFUSE\n"
AT = {"textDocument": {"uri": URI}}


def head(line: int = 3) -> dict[str, object]:
    """A place in the head of a kernel."""
    return {**AT, "position": {"line": line, "character": 5}}

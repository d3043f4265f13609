"""The guide as one Markdown text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document

from ferrotile_server.guide.constructs import CONSTRUCTS
from ferrotile_server.guide.snippet import NAMES
from ferrotile_server.guide.traps import LOUD, SILENT, Trap

FOLDER = Path(__file__).resolve().parent


def kernels() -> str:
    """The Python of the worked kernels."""
    return (FOLDER / "kernels.txt").read_text(encoding="utf-8").strip()


def _constructs() -> str:
    return _block([f"// Python: {c.python}\n{c.rust}" for c in CONSTRUCTS])


def _traps(traps: Sequence[Trap]) -> str:
    return _block([f"// NOT ({t.happens})\n{t.wrong}\n// BUT\n{t.instead}" for t in traps])


def _block(parts: Sequence[str]) -> str:
    return "\n".join(["```rust", "\n\n".join(parts), "```"])


@lru_cache
def target_guide() -> str:
    """What cutile 0.5 can say and its traps, Markdown. The same for every kernel."""
    python = kernels()
    parts = {
        "kernels": python,
        "rust": translate_document(Document(python)).render_file("kernels").strip(),
        "names": NAMES,
        "constructs": _constructs(),
        "silent": _traps(SILENT),
        "loud": _traps(LOUD),
    }
    text = (FOLDER / "guide.md").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    return text

"""Text that is nearly Python is translated or refused, never a fault of ours, and soon."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from generate import kernel
from texts import mutated

EXAMPLES = sorted(Path(__file__).parents[2].joinpath("examples").glob("*.py"))
SECONDS = 20
"""Hundreds of times what a kernel takes: only an endless loop is that slow."""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_mutated_examples(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    _check({seed: mutated(text, seed) for seed in range(60)})


def test_mutated_random_kernels() -> None:
    head = "import cuda.tile as ct\n\n"
    _check({seed: mutated(head + kernel(seed), seed) for seed in range(300)})


def _check(texts: dict[int, str]) -> None:
    for seed, text in texts.items():
        started = time.monotonic()
        found = translate_document(Document(text))
        seconds = time.monotonic() - started
        messages = [
            d.message
            for d in (*found.diagnostics, *(d for k in found.kernels for d in k.diagnostics))
            if d.code == "FT900"
        ]
        assert messages == [], f"seed {seed}"
        assert seconds < SECONDS, f"seed {seed}: {seconds:.1f} s"
        for one in found.kernels:
            assert one.rust is not None or one.diagnostics, f"seed {seed}: refused without a word"

"""The examples' pairs from `tests/fixtures/tileir`: no compiler is needed."""

from __future__ import annotations

from collections.abc import Iterator

from subjects import TESTS, Pair, example_sources

FOLDER = TESTS / "fixtures" / "tileir"


def fixture_pairs(*names: str) -> Iterator[Pair]:
    for source in example_sources(names):
        stem = source.name.partition("::")[0]
        texts = tuple(FOLDER / f"{stem}.{side}.ir" for side in ("py", "rs"))
        kernel = source.subject.kernel
        if all(text.exists() for text in texts) and kernel.signature is not None and kernel.entry is not None:
            python, rust = (text.read_text(encoding="utf-8") for text in texts)
            entries = kernel.name, f"{kernel.entry.name}_entry"
            yield Pair(source.name, (python, rust), entries, kernel.signature, kernel.entry)

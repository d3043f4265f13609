"""The examples are what they claim to be: valid cuTile Python, translated or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from ferrotile.diagnostics.model import Severity
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Options

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))
GOOD = [file for file in FILES if file.stem != "refused"]


def kernels(file: Path) -> tuple[KernelTranslation, ...]:
    return translate_document(Document(file.read_text(encoding="utf-8")), Options()).kernels


def errors(kernel: KernelTranslation) -> list[str]:
    return [f"{d.code} {d.message}" for d in kernel.diagnostics if d.severity is Severity.ERROR]


def test_there_are_enough() -> None:
    assert len(FILES) >= 9


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_has_docstring_and_is_listed(file: Path) -> None:
    assert file.read_text(encoding="utf-8").startswith('"""')
    assert f"`{file.name}`" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", GOOD, ids=lambda file: file.stem)
def test_translates(file: Path) -> None:
    found = kernels(file)
    assert found
    for kernel in found:
        assert errors(kernel) == []
        assert kernel.rust is not None
        assert kernel.entry is not None


def test_refused_for_three_different_reasons() -> None:
    found = kernels(EXAMPLES / "refused.py")
    assert len(found) == 3
    assert all(kernel.rust is None for kernel in found)
    assert all(errors(kernel) for kernel in found)
    assert len({errors(kernel)[0].split()[0] for kernel in found}) == 3

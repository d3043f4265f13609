"""Of which kernels a draft can be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrotile.diagnostics.model import Severity

if TYPE_CHECKING:
    from ferrotile.translation import KernelTranslation

    from ferrotile_server.application import Analysis

OF_THE_PYTHON = ("FT0", "FT1", "FT2")
"""How codes begin that tell of mistakes in the Python or its directive: with such a one there is no original to compare
a draft with."""


def is_draftable(analysis: Analysis, name: str) -> bool:
    """Whether a kernel is sound, refused, and of known signature."""
    return any(k.rust is None and k.signature is not None and not mistakes(k) for k in analysis.named(name))


def mistakes(kernel: KernelTranslation) -> tuple[str, ...]:
    """The codes of what is to be mended in the Python first."""
    errors = (d.code for d in kernel.diagnostics if d.severity is Severity.ERROR)
    return tuple(dict.fromkeys(code for code in errors if code.startswith(OF_THE_PYTHON)))

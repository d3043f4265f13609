"""Rung `translated`: static translation gave no error. Already decided; nothing is run."""

from __future__ import annotations

from ferrotile.diagnostics.model import Severity
from ferrotile.translation import KernelTranslation

from ferrotile_runner.report import RungResult, RungStatus


def translated(kernel: KernelTranslation) -> RungResult:
    """Failed with the first error's message, whose diagnostic the translator made."""
    errors = [d for d in kernel.diagnostics if d.severity is Severity.ERROR]
    if errors:
        return RungResult(RungStatus.FAILED, f"{errors[0].code}: {errors[0].message}")
    if kernel.rust is None or kernel.entry is None:
        return RungResult(RungStatus.FAILED, "no Rust was emitted")
    return RungResult(RungStatus.PASSED)

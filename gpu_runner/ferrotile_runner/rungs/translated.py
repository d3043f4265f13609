"""Rung `translated`: static translation gave no error. Already decided; nothing is run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ferrotile.diagnostics.model import Severity
from ferrotile.translation import KernelTranslation, Origin

from ferrotile_runner.report import RungResult, RungStatus

NOT_OURS: Mapping[Origin, str] = MappingProxyType(
    {
        Origin.HAND: "the Rust is not ferrotile's: written by hand",
        Origin.AI: "the Rust is not ferrotile's: a model's draft",
    }
)


def translated(kernel: KernelTranslation) -> RungResult:
    """Failed with the first error's message, whose diagnostic the translator made. Skipped for Rust of another origin,
    with what was found out about it."""
    if kernel.origin is not Origin.RULES:
        return RungResult(RungStatus.SKIPPED, "\n".join((NOT_OURS[kernel.origin], *kernel.inferred)))
    errors = [d for d in kernel.diagnostics if d.severity is Severity.ERROR]
    if errors:
        return RungResult(RungStatus.FAILED, f"{errors[0].code}: {errors[0].message}")
    if kernel.rust is None or kernel.entry is None:
        return RungResult(RungStatus.FAILED, "no Rust was emitted")
    return RungResult(RungStatus.PASSED)

"""Files that come with the checkout (documentation pages, examples), where there is one."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
"""The repository, when ferrotile runs from a checkout (also an editable install)."""


def data_file(relative: str) -> Path | None:
    """A file or folder of the repository, or None where ferrotile was installed without it."""
    path = ROOT / relative
    return path if path.exists() else None

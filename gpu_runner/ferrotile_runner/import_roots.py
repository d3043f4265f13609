"""Where workers import ferrotile from."""

from __future__ import annotations

from pathlib import Path

import ferrotile


def import_roots() -> tuple[str, ...]:
    """The folders that hold ferrotile's packages: `python -I` knows neither PYTHONPATH nor the script's folder."""
    packages = (Path(next(iter(ferrotile.__path__))), Path(__file__).parent)
    return tuple(dict.fromkeys(str(package.parent) for package in packages))

"""What tests of several folders need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    """Warm compilers for the tests of one file, which are skipped where there are none."""
    toolchain = locate()
    if toolchain.missing:
        pytest.skip(f"needs {', '.join(toolchain.missing)}: run `ferrotile setup`")
    with Session(toolchain) as found:
        yield found

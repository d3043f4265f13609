"""Random kernels are proved, or refused where cuTile Python's own compiler refuses them too: nothing in between."""

from __future__ import annotations

import pytest
from ferrotile_runner.session import Session
from generate import file
from judge import Fate, judge

SEEDS = range(2000, 2040)

pytestmark = [pytest.mark.compilers, pytest.mark.timeout(300)]


def test_proved_or_refused_by_both(session: Session) -> None:
    found = {j.name: j for j in judge(session, file(SEEDS), ("proved",))}
    assert sorted(found) == sorted(f"k{seed}" for seed in SEEDS)
    assert [j for j in found.values() if not j.fate.good] == []
    assert sum(1 for j in found.values() if j.fate is Fate.AGREED) >= len(SEEDS) // 2


def test_the_judge_tells_valid_kernels_from_invalid_ones(session: Session) -> None:
    """Else the test above would be worth nothing."""
    text = "import cuda.tile as ct\n\n# ferrotile: x: f32[N], y: f32[N], grid=(1,)\n@ct.kernel\ndef {}(x, y):\n    {}\n"
    valid = text.format("valid", "ct.store(y, (0,), ct.load(x, (0,), (16,)))")
    invalid = text.format("invalid", "ct.store(y, (0,), ct.load(x, (0,), (15,)))")
    assert [j.fate for j in judge(session, valid, ("proved",))] == [Fate.AGREED]
    assert [j.fate for j in judge(session, invalid, ("proved",))] == [Fate.REFUSED_BY_BOTH]

"""Rung `matched`: what the verdicts of launches come to; nothing is compiled where there is no GPU."""

from __future__ import annotations

import threading

import pytest
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module
from ferrotile.translate import translate_document
from ferrotile_runner.gpu.presence import Presence
from ferrotile_runner.rungs.matched import judged, matched
from ferrotile_runner.rungs.subject import RungFailure, RungSkipped, Subject, ToolMissing
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate
from ferrotile_runner.worker import Fault, LaunchVerdict
from ferrotile_runner.workers.bundle_format import BundleKernel

TEXT = "import cuda.tile as ct\n\n\n# ferrotile: x: f32[N], grid=(N/16,)\n@ct.kernel\ndef k(x):\n    pass\n"
KERNEL = BundleKernel("k.py", "k", "x: f32[N]", ())
SAME = {"equal": True, "bit_equal": True, "words": "bit-equal"}
NEAR = {"equal": True, "bit_equal": False, "words": "equal within rounding"}
OTHER = {"equal": False, "bit_equal": False, "words": "1 of 4 elements differ, [2]: 1 and 2"}
TIME = {"ratio": 0.25, "quartiles": [0.2, 0.3], "original_ms": 4.0, "translation_ms": 1.0, "launches": 25}


def subject() -> Subject:
    document = Document(TEXT)
    (kernel,) = translate_document(document).kernels
    return Subject(document, parse_module(document), None, kernel, "sm_90", threading.Event())


def launch(verdict: dict[str, object], *, racing: bool = False, time: dict[str, object] | None = None) -> LaunchVerdict:
    return LaunchVerdict(KERNEL, "four", None, {"x": verdict}, {}, {}, time, racing)


def fault(step: str) -> LaunchVerdict:
    return LaunchVerdict(KERNEL, "five", Fault(step, "hang", "no end"), {}, {}, {}, None)


def test_equal_launches_match_with_their_time() -> None:
    found = judged(subject(), "H200", [launch(SAME), launch(SAME, time=TIME)])
    assert found.time_ratio == 0.25
    assert found.detail == (
        "bit-equal on 2 launches on H200\n0.25 of the original's time (0.2 .. 0.3): 1 ms against 4 ms, four"
    )
    assert judged(subject(), "H200", [launch(NEAR)]).detail.startswith("equal within the rounding of reductions")


def test_a_difference_or_a_fault_of_the_translation_fails() -> None:
    with pytest.raises(RungFailure, match=r"x: 1 of 4 elements differ, \[2\]: 1 and 2 \(four\)") as failure:
        judged(subject(), "H200", [launch(SAME), launch(OTHER)])
    assert failure.value.code == "FT507"
    with pytest.raises(RungFailure, match="translation: hang: no end"):
        judged(subject(), "H200", [launch(SAME), fault("translation")])


def test_what_the_original_leaves_open_says_nothing() -> None:
    found = judged(subject(), "H200", [launch(SAME), launch(OTHER, racing=True), fault("original")])
    assert found.detail.splitlines()[0] == "bit-equal on 1 launch on H200"
    assert "the original itself fails: original: hang" in found.detail
    assert "depends on the order of its blocks" in found.detail
    with pytest.raises(RungSkipped, match="the original itself fails"):
        judged(subject(), "H200", [fault("original")])


def test_without_a_gpu_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ferrotile_runner.rungs.matched.usable_gpu", lambda: Presence(None, "no NVIDIA driver"))
    with Session(locate()) as session, pytest.raises(ToolMissing, match="no GPU: no NVIDIA driver"):
        matched(session, subject())

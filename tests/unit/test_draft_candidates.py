"""Reports as judgements, and machines on which nothing can be judged."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event

import pytest
from draft_support import KERNEL, RIGHT
from ferrotile.syntax.document import Document
from ferrotile.translation import KernelTranslation, Options
from ferrotile_runner.candidate_error import CandidateError
from ferrotile_runner.report import Difference, KernelReport, Place, Rung, RungResult, RungStatus, kernel_report
from ferrotile_runner.toolchain import Toolchain
from ferrotile_server.application import Analysis, Application
from ferrotile_server.drafting import candidates
from ferrotile_server.drafting.judgement import Judgement, NoLadder
from ferrotile_server.drafting.task import kernel_of
from msgspec.structs import replace

BARE = Toolchain(None, None, None, None, None, None, None, None, False)
PASSED = RungResult(RungStatus.PASSED)
SKIPPED = RungResult(RungStatus.SKIPPED, "not asked for")


class Fixed(Application):
    """Gives one report of every candidate, or raises."""

    def __init__(
        self, rungs: Mapping[Rung, RungResult] | CandidateError, unsafe: int = 0, allowed: str = "proved"
    ) -> None:
        super().__init__(Options(unsafe=allowed))
        self.rungs, self.count = rungs, unsafe

    def verify_candidate(
        self, analysis: Analysis, kernel: KernelTranslation, *rest: object, **more: object
    ) -> tuple[KernelReport, KernelTranslation]:
        del rest, more
        if isinstance(self.rungs, CandidateError):
            raise self.rungs
        made = replace(kernel, rust=RIGHT, unsafe=replace(kernel.unsafe, assumed=self.count))
        return kernel_report(analysis.document, made, self.rungs), made


def judge(application: Application, monkeypatch: pytest.MonkeyPatch) -> Judgement:
    monkeypatch.setattr(candidates, "_require_tools", lambda: None)
    analysis = application.check_document(Document(KERNEL))
    ladder = candidates.ladder_of(application, analysis, kernel_of(analysis, "clear_tile"))
    return ladder(RIGHT, lambda _: None, Event())


def rungs(**statuses: RungResult) -> dict[Rung, RungResult]:
    names = {name.replace("_", "-"): result for name, result in statuses.items()}
    return {Rung.TRANSLATED: PASSED} | {Rung(name): result for name, result in names.items()}


def test_a_proof_verifies(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judge(Fixed(rungs(assembled=PASSED, proved=PASSED, simulated=PASSED)), monkeypatch)
    assert (found.verified, found.words) == ("proved", "assembled passed, proved passed, simulated passed")


def test_a_difference_outweighs_simulations_and_is_told_at_both_places(monkeypatch: pytest.MonkeyPatch) -> None:
    places = Difference(Place(19, 5, "a == b"), Place(14, 9, "a != b"), "it differs", "y[0] = 1.0", "y[0] = 2.0")
    failed = RungResult(RungStatus.FAILED, "y: it differs\nmore", difference=places)
    found = judge(Fixed(rungs(assembled=PASSED, proved=failed, simulated=PASSED)), monkeypatch)
    assert (found.verified, found.failure) == ("", "proved failed: y: it differs")
    for words in (
        "first difference",
        "Python line 19: `a == b`",
        "the Python: y[0] = 1.0",
        "the candidate: y[0] = 2.0",
    ):
        assert words in found.feedback
    assert f"Rust line 14: `{RIGHT.splitlines()[13].strip()}`" in found.feedback


def test_who_comes_further_scores_more(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = RungResult(RungStatus.FAILED, "no")
    steps = (
        rungs(type_checked=bad, assembled=bad, proved=bad, simulated=bad),
        rungs(type_checked=PASSED, assembled=bad, proved=bad, simulated=bad),
        rungs(type_checked=PASSED, assembled=PASSED, proved=bad, simulated=bad),
        rungs(type_checked=PASSED, assembled=PASSED, proved=bad, simulated=PASSED),
    )
    scores = [judge(Fixed(one), monkeypatch).score for one in steps]
    assert scores == sorted(set(scores))


def test_time_out_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    late = RungResult(RungStatus.TIMEOUT, "60 s")
    assert judge(Fixed(rungs(assembled=PASSED, proved=late, simulated=PASSED)), monkeypatch).verified == "simulated"
    found = judge(Fixed(rungs(assembled=PASSED, proved=late, simulated=late)), monkeypatch)
    assert (found.verified, "took too long" in found.feedback) == ("", True)


def test_what_no_compiler_is_given_is_told_at_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judge(Fixed(CandidateError("no `include_str!` here", 3)), monkeypatch)
    assert (found.verified, found.score) == ("", 0)
    assert "Rust line 3: `use cutile::core::*;`" in found.feedback


def test_the_project_may_forbid_unsafe(monkeypatch: pytest.MonkeyPatch) -> None:
    good = rungs(assembled=PASSED, proved=PASSED)
    assert judge(Fixed(good, unsafe=2), monkeypatch).verified == "proved"
    found = judge(Fixed(good, unsafe=2, allowed="never"), monkeypatch)
    assert (found.verified, "2 blocks" in found.failure) == ("", True)


def test_a_machine_that_breaks_ends_the_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = RungResult(RungStatus.SKIPPED, "tileiras is not installed", broken=True)
    with pytest.raises(NoLadder, match="tileiras is not installed"):
        judge(Fixed(rungs(assembled=lost, proved=lost, simulated=lost)), monkeypatch)


def test_without_compilers_no_model_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ferrotile_runner.toolchain.locate", lambda: BARE)
    core = Application()
    analysis = core.check_document(Document(KERNEL))
    with pytest.raises(NoLadder, match="without cuda-tile, tileiras, tileirdisasm, ferrotile-host"):
        candidates.ladder_of(core, analysis, kernel_of(analysis, "clear_tile"))

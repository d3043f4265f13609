"""What `verify` and `run` share: consent, the climb, the report. Both run the user's code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from threading import Event

from ferrotile_runner.candidate import accepted
from ferrotile_runner.candidate_error import CandidateError
from ferrotile_runner.report import Json, KernelReport
from msgspec import Struct

from ferrotile_server.application import Candidate
from ferrotile_server.mcp.answers import Answer, Problem
from ferrotile_server.mcp.call import Call, Report
from ferrotile_server.mcp.consent import Consent
from ferrotile_server.mcp.folders import Folders
from ferrotile_server.mcp.reports import cut, verdict, verified_json
from ferrotile_server.mcp.sources import Checked, Source, Translating, read_file


async def translated(
    call: Call, consent: Consent, path: str, kernel: str | None, what: str, material: str = ""
) -> Checked:
    """The kernels that a call names, whose code the user allows to run. Raises `Problem`."""
    readable = await call.folders()
    source = await call.compute(lambda report, cancel: read_file(path, readable))
    folders = await consent.require(call, source, what, material)
    found = await call.compute(lambda report, cancel: _translate(call, source, folders, kernel, cancel))
    if not found.kernels:
        raise Problem(f"{found.source.name}: no kernel is defined here.")
    return found


def _translate(call: Call, source: Source, folders: Folders, kernel: str | None, cancel: Event) -> Checked:
    return Translating(call.application, folders, cancel).file(source, kernel)


PASSES = "This Rust passes: what the rungs say holds, under the facts that they list."
FAILS = "This Rust does not pass: it is not verified. Mend what is reported first."
MISSING = "Rungs were skipped since tools are missing: the user can run `ferrotile doctor`."


class Judged(Struct, frozen=True):
    """What became of a kernel's signatures with other Rust: reports, and why it cannot be judged for the rest."""

    reports: tuple[KernelReport, ...]
    refusals: tuple[CandidateError, ...] = ()


async def climb(call: Call, found: Checked, rungs: Sequence[str]) -> tuple[KernelReport, ...]:
    """The reports of the kernels on these rungs, one after another; cancelling the call kills what runs."""
    names = tuple(dict.fromkeys(kernel.name for kernel in found.kernels))

    def work(report: Report, cancel: Event) -> tuple[KernelReport, ...]:
        return tuple(call.application.verify(found.analysis, names, rungs, _counting(report), cancel))

    return await call.execute(work, len(found.kernels) * len(rungs) + 1)


async def climb_with(call: Call, found: Checked, candidate: Candidate, rungs: Sequence[str]) -> Judged:
    """One kernel with other Rust, under each of its signatures. Raises `Problem` where the Rust cannot be judged under
    any."""

    def work(report: Report, cancel: Event) -> Judged:
        progress = _counting(report)
        made: list[KernelReport] = []
        refusals: dict[str, CandidateError] = {}
        for kernel in found.kernels:
            if cancel.is_set():
                break
            try:
                verified, _ = call.application.verify_candidate(
                    found.analysis, kernel, candidate, rungs, progress, cancel
                )
            except CandidateError as error:
                refusals[str(error)] = error
            else:
                made.append(verified)
        return Judged(tuple(made), tuple(refusals.values()))

    judged = await call.execute(work, len(found.kernels) * len(rungs) + 1)
    if not judged.reports:
        raise Problem(f"The Rust cannot be judged: {'; '.join(map(str, judged.refusals))}.")
    return judged


def _counting(report: Report) -> Callable[[str], None]:
    """Progress by steps, from what the ladder says at the beginning of each."""
    steps = count()
    return lambda message: report(message, next(steps))


def answer(found: Checked, reports: Sequence[KernelReport]) -> Answer:
    """The verdicts in words and as a report."""
    failed = [report.name for report in reports if report.failed]
    summary = f"A rung failed: {', '.join(dict.fromkeys(failed))}." if failed else "No rung that was tried failed."
    return _answer(found, reports, summary)


def judgement(found: Checked, judged: Judged, rust: str) -> Answer:
    """The same of other Rust, whose file is called `rust`: above all whether the ladder lets it pass."""
    passes = not judged.refusals and all(accepted(report) for report in judged.reports)
    refusals = "".join(f" Not judged under another signature: {refusal}." for refusal in judged.refusals)
    plain = _answer(found, judged.reports, f"{PASSES if passes else FAILS}{refusals}")
    beside: list[Json] = [
        {
            "file": rust,
            "code": "FT508",
            "severity": "error",
            "line": refusal.line or 1,
            "column": 1,
            "message": refusal.message,
        }
        for refusal in judged.refusals
    ]
    return Answer(plain.text, {**plain.data, "diagnostics": beside})


def _answer(found: Checked, reports: Sequence[KernelReport], summary: str) -> Answer:
    name = found.source.name
    missing = any(result.broken for report in reports for result in report.rungs.values())
    said = f"{summary} {MISSING}" if missing else summary
    lines = [line for report in reports for line in verdict(name, report).splitlines()]
    return Answer(cut([said, *lines]), verified_json(name, reports, said))

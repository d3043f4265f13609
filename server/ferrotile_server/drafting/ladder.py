"""The real ladder as the loop sees it: a candidate's report becomes a judgement, with what failed first at the places
of both sources."""

from __future__ import annotations

from ferrotile_runner.report import Difference, KernelReport, Place, Rung, RungResult, RungStatus

from ferrotile_server.drafting.judgement import Judgement, verified_rung

BAD = (RungStatus.FAILED, RungStatus.CRASHED, RungStatus.TIMEOUT)
_ADVICE = {
    Rung.TYPE_CHECKED: "rustc rejects the candidate",
    Rung.ASSEMBLED: "cuTile Rust's compiler rejects the candidate",
    Rung.PROVED: "The candidate is not the same program as the Python. The first difference",
    Rung.SIMULATED: "The candidate gives other arrays than the Python",
}


def judged(report: KernelReport, rust: str) -> Judgement:
    """What a report says of the candidate `rust`."""
    results = [(rung, report.rungs[rung.value]) for rung in Rung if rung.value in report.rungs]
    status = {rung.value: result.status.value for rung, result in results}
    outcomes = tuple((rung, s) for rung, s in status.items() if rung != Rung.TRANSLATED)
    rung, unsafe = verified_rung(status), report.unsafe.assumed
    score = 1 + sum(1 << place for place, (_, result) in enumerate(results) if result.status is RungStatus.PASSED)
    if rung:
        return Judgement(rung, outcomes, score=score, unsafe=unsafe)
    bad = [(r, result) for r, result in results if result.status in BAD]
    failed = next((pair for pair in bad if pair[1].status is not RungStatus.TIMEOUT), bad[0] if bad else None)
    if failed is None:
        skipped = next((res.detail for r, res in results if res.status is RungStatus.SKIPPED and res.detail), "")
        text = f"no rung says that it is right: {skipped}" if skipped else "no rung says that it is right"
        return Judgement("", outcomes, text, text, score, unsafe)
    first, result = failed
    head = result.detail.strip().split("\n")[0]
    words = f"{first.value} {result.status.value}: {head}"
    return Judgement("", outcomes, words, _feedback(first, result, rust), score, unsafe)


def _feedback(rung: Rung, result: RungResult, rust: str) -> str:
    """A failed rung for the model: its words, and the lines that are meant."""
    if result.status is RungStatus.TIMEOUT:
        return f"{_ADVICE.get(rung, rung.value)}: it took too long. {result.detail}"
    parts = [f"{_ADVICE.get(rung, rung.value)}:\n", result.detail.strip()]
    if result.difference is not None:
        parts += _places(result.difference, rust, result.detail)
    return "\n".join(parts)


def _places(difference: Difference, rust: str, told: str) -> list[str]:
    """Lines of both sources that the words do not show yet."""
    lines = []
    for side, place in (("Python", difference.python), ("Rust", difference.rust)):
        if place is not None and f"{side} line {place.line}" not in told:
            lines.append(f"{side} line {place.line}: `{_line(place, rust if side == 'Rust' else '')}`")
    if difference.expected or difference.actual:
        lines += [f"the Python: {difference.expected}", f"the candidate: {difference.actual}"]
    return lines


def _line(place: Place, text: str) -> str:
    lines = text.split("\n")
    return lines[place.line - 1].strip() if 0 < place.line <= len(lines) and text else place.text

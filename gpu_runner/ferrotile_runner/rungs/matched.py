"""Rung `matched`: original and translation make the same arrays on a GPU."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ferrotile_runner import json_values as read
from ferrotile_runner.gpu.bundle import Asked, BundleWriter, NotBundled
from ferrotile_runner.gpu.presence import usable_gpu
from ferrotile_runner.rungs.subject import Reached, RungFailure, RungSkipped, Subject, ToolMissing
from ferrotile_runner.session import Session
from ferrotile_runner.worker import GpuRunner, LaunchVerdict, NoGpu

MOST_FAULTS = 3
"""Launches that a failure tells of."""


def matched(session: Session, subject: Subject) -> Reached:
    """Says how many launches matched, and how the times compare. Raises ToolMissing without a usable GPU, RungFailure
    where the sides differ, RungSkipped where the original itself fails, or no launch can be made."""
    found = usable_gpu()
    if found.name is None:  # before anything is compiled for it
        raise ToolMissing(f"no GPU: {found.why}")
    with tempfile.TemporaryDirectory(prefix="ferrotile-") as folder:
        bundle = Path(folder) / "bundle.zip"
        writer = BundleWriter(bundle, Asked(subject.target, seed=session.inputs.seed), session)
        runner = GpuRunner(bundle, writer.manifest, seconds=session.inputs.seconds, cancel=subject.cancel)
        try:
            with ThreadPoolExecutor(1) as other:  # the device takes some tenths of a second to open
                opened = other.submit(runner.device)
                with writer:
                    writer.add_subject(subject)
            device = read.text(opened.result()["name"])
            verdicts = list(runner.verdicts(writer.manifest))
        except NotBundled as error:
            raise RungSkipped(str(error)) from error
        except NoGpu as error:
            raise ToolMissing(f"{error.kind}: {error}") from error
        finally:
            runner.close()
    return judged(subject, device, verdicts)


def judged(subject: Subject, device: str, verdicts: Sequence[LaunchVerdict]) -> Reached:
    """What the verdicts of a kernel's launches on a device come to. Raises as `matched` does."""
    own = [one for one in verdicts if one.fault is not None and one.fault.step == "original"]
    order = [one for one in verdicts if one.is_open]
    bad = [one for one in verdicts if not one.agrees and one not in own and one not in order]
    if bad:
        raise RungFailure("FT507", "\n".join(map(words_of, bad[:MOST_FAULTS])), subject.kernel.name_span)
    ran = [one for one in verdicts if one.agrees]
    lines = [f"left out, the original itself fails: {words_of(one)}" for one in own]
    lines += [f"left out, the original depends on the order of its blocks: {words_of(one)}" for one in order]
    if not ran:
        raise RungSkipped("\n".join(lines) or "no launch was made")
    exact = all(one.bit_equal for one in ran)
    equal = "bit-equal" if exact else "equal within the rounding of reductions"
    count = "1 launch" if len(ran) == 1 else f"{len(ran)} launches"
    lines.insert(0, f"{equal} on {count} on {device}")
    times = [(one, one.time) for one in ran if one.time is not None]
    ratio = None
    for one, time in times:
        ratio = read.number(time["ratio"])
        low, high = map(read.number, read.items(time["quartiles"]))
        ours, theirs = read.number(time["translation_ms"]), read.number(time["original_ms"])
        lines.append(
            f"{ratio:.3g} of the original's time ({low:.3g} .. {high:.3g}): {ours:.4g} ms against {theirs:.4g} ms, "
            f"{one.launch}"
        )
    return Reached("\n".join(lines), ratio)


def words_of(verdict: LaunchVerdict) -> str:
    """Why a launch does not agree."""
    if verdict.fault is not None:
        return f"{verdict.fault.step}: {verdict.fault.kind}: {verdict.fault.words} ({verdict.launch})"
    touched = [f"the {side} writes to {', '.join(names)}" for side, names in verdict.touched.items() if names]
    unlike = [f"{name}: {one['words']}" for name, one in verdict.arrays.items() if not one["equal"]]
    return f"{'; '.join((*touched, *unlike))} ({verdict.launch})"

"""A Markdown table of what bundles' workers printed on a GPU: `python benchmarks/gpu_table.py VERDICTS.jsonl...`.

A row for each kernel that was timed, slowest translation first; then how many launches matched, what did not, faults by
kind, and where the interpreter was not what the GPU is.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ferrotile_runner import json_values as read

Verdict = Mapping[str, object]


def verdicts(paths: Sequence[Path]) -> tuple[str, list[Verdict]]:
    """The device, and every launch's verdict."""
    device, found = "", []
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            one = read.mapping(json.loads(line))
            if "device" in one:
                device = read.text(read.mapping(one["device"])["name"])
            elif "launch" in one:
                found.append(one)
    return device, found


def mean(ratios: Sequence[float]) -> float:
    """Geometric."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios))


def _name(one: Verdict) -> str:
    return f"`{one['file']}` {one['kernel']}"


def _unlike(one: Verdict, sides: str, measure: str = "equal") -> list[str]:
    arrays = {name: read.mapping(found) for name, found in read.mapping(one[sides]).items()}
    return [f"{name}: {found['words']}" for name, found in arrays.items() if not found[measure]]


def timed_rows(found: Sequence[Verdict]) -> Iterator[str]:
    timed = [(read.mapping(one["time"]), one) for one in found if one["time"] is not None]
    if not timed:
        return
    ratios = [read.number(time["ratio"]) for time, _ in timed]
    yield f"Time of the Rust / the Python's, geometric mean of {len(timed)} launches: **{mean(ratios):.3f}**"
    yield f"({sum(ratio > 1.05 for ratio in ratios)} above 1.05, {sum(ratio < 0.95 for ratio in ratios)} below 0.95).\n"
    yield "| kernel | launch | Python ms | Rust ms | ratio (quartiles) |"
    yield "|---|---|---:|---:|---:|"
    for time, one in sorted(timed, key=lambda pair: -read.number(pair[0]["ratio"])):
        low, high = map(read.number, read.items(time["quartiles"]))
        launch = read.text(one["launch"]).removeprefix("large: ")
        times = f"{read.number(time['original_ms']):.4g} | {read.number(time['translation_ms']):.4g}"
        yield f"| {_name(one)} | {launch} | {times} | **{read.number(time['ratio']):.3f}** ({low:.3f} .. {high:.3f}) |"


def main(arguments: Sequence[str]) -> None:
    device, found = verdicts([Path(argument) for argument in arguments])
    kernels = {(one["file"], one["kernel"], one["signature"]) for one in found}
    bad = [one for one in found if one["verdict"] != "match"]
    wrong = {(one["file"], one["kernel"], one["signature"]) for one in bad}
    exact = sum(one not in bad and not _unlike(one, "arrays", "bit_equal") for one in found)
    print(f"{device}: {len(kernels)} signatures, {len(kernels - wrong)} match on all their launches;", end=" ")
    print(f"of {len(found)} launches {len(found) - len(bad)} match, {exact} of them bit-equal.\n")
    print("\n".join(timed_rows(found)))
    for one in bad:
        fault = one["fault"]
        if fault is None:
            print(f"- {_name(one)} ({one['launch']}): {'; '.join(_unlike(one, 'arrays'))} {one['touched']}")
        else:
            said = read.mapping(fault)
            print(f"- {_name(one)} ({one['launch']}): {said['step']}: {said['kind']}: {said['words']}")
    apart = [one for one in found if _unlike(one, "interpreter")]
    compared = sum(bool(one["interpreter"]) for one in found)
    agreed = compared - len(apart)
    print(f"\nThe interpreter expects what the GPU makes of the original in {agreed} of {compared} launches.")
    for (file, kernel), count in Counter((one["file"], one["kernel"]) for one in apart).items():
        first = next(one for one in apart if (one["file"], one["kernel"]) == (file, kernel))
        print(f"- `{file}` {kernel}, {count} launches: {'; '.join(_unlike(first, 'interpreter'))} ({first['launch']})")


if __name__ == "__main__":
    main(sys.argv[1:])

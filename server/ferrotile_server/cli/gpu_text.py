"""Verdicts of a bundle's worker as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ferrotile_runner import json_values as read


def verdict_lines(objects: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Of the worker's JSON objects: the device, a line a launch, the sum."""
    for one in objects:
        if "device" in one:
            device = read.mapping(one["device"])
            yield f"{device['name']} ({device['architecture']})"
        elif "launch" in one:
            yield f"{one['kernel']}: {_launch(one)}"
        elif "summary" in one:
            found = read.mapping(one["summary"])
            ratio = "" if found["time_ratio"] is None else f", {found['time_ratio']} of the originals' time"
            yield f"{found['matched']} of {found['launches']} launches match, {found['bit_equal']} bit-equal{ratio}"


def _launch(one: Mapping[str, object]) -> str:
    launch = one["launch"]
    if one["fault"] is not None:
        fault = read.mapping(one["fault"])
        return f"{fault['step']}: {fault['kind']}: {fault['words']} ({launch})"
    arrays = {name: read.mapping(verdict) for name, verdict in read.mapping(one["arrays"]).items()}
    words = "; ".join(f"{name} {verdict['words']}" for name, verdict in arrays.items()) or "nothing is written"
    time = "" if one["time"] is None else f", {read.mapping(one['time'])['ratio']} of the original's time"
    return f"{one['verdict']}: {words}{time} ({launch})"

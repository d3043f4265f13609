"""Times the bundles of `gpu_hints.py`: `python benchmarks/gpu_hints_run.py DIR > timed.jsonl`.

A line a kernel: what `ferrotile_runner.worker` says of its large launch, and under `variants` the time of the
translation with other hints over the original's, all interleaved; the results of those are not compared. Needs a
driver, NumPy and `cuda-bindings`. One process times one bundle after the other; where it dies, the next goes on.
"""

from __future__ import annotations

import json
import queue
import statistics
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ferrotile_runner import json_values as read
from ferrotile_runner.workers.bundle_format import SIDES, read_manifest
from ferrotile_runner.workers.gpu_device import Device
from ferrotile_runner.workers.gpu_launches import Launch, time_json, time_sides

SECONDS = 30.0
"""For one bundle."""


def main() -> None:
    first, *others = sys.argv[1:]
    if first == "--here":
        device = Device()
        for path in others:
            print(json.dumps(timed(device, Path(path))), flush=True)
        return
    waiting = sorted(Path(first).glob("*.zip"))
    while waiting:
        count = 0
        for line in _lines(waiting):
            print(line, flush=True)
            count += 1
        if count < len(waiting):
            print(json.dumps({"bundle": waiting[count].name, "died": "fault, or no end"}), flush=True)
        waiting = waiting[count + 1 :]


def _lines(paths: Sequence[Path]) -> Iterator[str]:
    """What a process prints about bundles, until it dies or takes too long for one."""
    command = [sys.executable, __file__, "--here", *map(str, paths)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said: queue.Queue[str] = queue.Queue()

    def listen(lines: Iterator[str]) -> None:
        for line in lines:
            said.put(line.rstrip())
        said.put("")

    threading.Thread(target=listen, args=(process.stdout,), daemon=True).start()
    try:
        while line := said.get(timeout=SECONDS):
            yield line
    except queue.Empty:
        pass
    finally:
        process.kill()
        process.wait()


def timed(device: Device, path: Path) -> dict[str, object]:
    """The verdict on the large launch of a bundle, and the time of each variant over the original's."""
    kernel, *variants = read_manifest(path).kernels
    launch = kernel.launches[-1]
    with zipfile.ZipFile(path) as archive:
        making = Launch(device, launch, archive)
        touched = {side: list(making.run(side)) for side in SIDES}
        found = making.compare(None)
        arrays = read.mapping(found["arrays"]).values()
        equal = all(read.mapping(one)["equal"] for one in arrays) and not any(touched.values())
        kernels = [making.kernel(launch.side(side)) for side in SIDES]
        kernels += [making.kernel(one.launches[-1].translation) for one in variants]
        times = time_sides(device, kernels)
        for loaded in kernels:
            loaded.unload()
        making.close()
    median = statistics.median(times[0])
    ratios = {one.file: round(statistics.median(t) / median, 4) for one, t in zip(variants, times[2:], strict=True)}
    verdict = "match" if equal else "open" if launch.racing else "differ"
    return {
        "device": {"name": device.name},
        "file": kernel.file,
        "kernel": kernel.name,
        "signature": kernel.signature,
        "launch": launch.name,
        "verdict": verdict,
        "fault": None,
        **found,
        "touched": touched,
        "time": time_json(times[0], times[1]),
        "variants": ratios,
    }


if __name__ == "__main__":
    main()

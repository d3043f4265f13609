"""Runs a bundle on this machine's GPU: `python -m ferrotile_runner.worker BUNDLE.zip`, or `python BUNDLE.zip`.

Each launch of `ferrotile bundle` is made by both kernels on the same arrays, compared and, where it is large enough,
timed, in a disposable process: a fault, a hang or a crash of one is its verdict, and the next one runs. One JSON object
a line on stdout: first the device, then a line a launch, then the sum of all. Needs a driver, NumPy and
`cuda-bindings`. The exit code is 0 where no launch disagrees, 1 where one does, 2 where nothing can be run.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ferrotile_runner import json_values as read
from ferrotile_runner.process import Command, Ending, JsonProcess, ProcessError, RpcError
from ferrotile_runner.workers.bundle_format import SIDES, BundleError, BundleKernel, Manifest, read_manifest

SECONDS = 60.0
"""What a step of a launch may take: one side with the copies of its arrays, comparing, timing."""
START_SECONDS = 60.0

ENDINGS = {
    Ending.TIMEOUT: ("hang", "no end after {seconds:g} s: the kernel hangs, or is far too slow"),
    Ending.CRASHED: ("crash", "the process that launched it died"),
    Ending.CANCELLED: ("cancelled", "cancelled"),
    Ending.MISSING: ("missing", "the worker cannot be started"),
}


class NoGpu(Exception):
    """No kernel can be launched on this machine; the message says why, and what to do. `kind` as in `gpu_device`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Fault(NamedTuple):
    """Why a launch has no results: in which `step` (`original`, `translation`, `comparison`, `timing`), a short kind
    (`assert`, `hang`), and words."""

    step: str
    kind: str
    words: str


class LaunchVerdict(NamedTuple):
    """What became of a launch. `arrays`, `interpreter`: verdicts by array, as of `array_verdict`; `time` as of
    `gpu.time_json`."""

    kernel: BundleKernel
    launch: str
    fault: Fault | None
    arrays: Mapping[str, Mapping[str, object]]
    interpreter: Mapping[str, Mapping[str, object]]
    touched: Mapping[str, Sequence[str]]
    time: Mapping[str, object] | None
    racing: bool = False

    @property
    def _sound(self) -> bool:
        return self.fault is None and not any(self.touched.values())

    @property
    def agrees(self) -> bool:
        """Whether both sides ran, made the same arrays, and left what is not theirs."""
        return self._sound and all(bool(one["equal"]) for one in self.arrays.values())

    @property
    def is_open(self) -> bool:
        """Whether the sides differ where the original depends on the order of its blocks: that says nothing."""
        return self.racing and self._sound and not self.agrees

    @property
    def bit_equal(self) -> bool:
        return self.agrees and all(bool(one["bit_equal"]) for one in self.arrays.values())

    def json(self) -> dict[str, object]:
        return {
            "file": self.kernel.file,
            "kernel": self.kernel.name,
            "signature": self.kernel.signature,
            "launch": self.launch,
            "verdict": "fault" if self.fault else "match" if self.agrees else "open" if self.is_open else "differ",
            "fault": None if self.fault is None else self.fault._asdict(),
            "arrays": dict(self.arrays),
            "interpreter": dict(self.interpreter),
            "touched": dict(self.touched),
            "time": self.time,
        }


def _verdicts(found: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    return {name: read.mapping(one) for name, one in found.items()}


class GpuRunner:
    """Launches of one bundle, one after the other, each within `seconds`. `cancel` ends the present one. The device can
    be opened while the bundle is still being made: `manifest` then has its target alone, and is given again for the
    launches."""

    def __init__(
        self,
        bundle: Path,
        manifest: Manifest,
        *,
        seconds: float = SECONDS,
        timed: bool = True,
        keep: Path | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        self._manifest, self._seconds, self._timed = manifest, seconds, timed
        self._keep, self._cancel = keep, cancel
        self._open = False
        package = Path(__file__).resolve().parent
        program = package / "workers" / "gpu.py"
        # A CUDA context reserves more addresses than any memory limit would allow.
        self._process = JsonProcess(Command((sys.executable, str(program), str(bundle), str(package.parent)), memory=0))

    def device(self) -> Mapping[str, object]:
        """`{name, architecture, driver}`. Raises NoGpu."""
        try:
            found = self._opened()
        except RpcError as error:
            self._process.close()
            raise NoGpu(str(error.data.get("kind", "fault")), error.message) from None
        except ProcessError as error:
            raise NoGpu(ENDINGS[error.ending][0], f"the GPU worker does not start: {error}") from None
        if found["architecture"] != self._manifest.target:
            wanted, has = self._manifest.target, found["architecture"]
            raise NoGpu("wrong GPU", f"the bundle is for {wanted}, this GPU is {has}: bundle with `--target {has}`")
        return found

    def _opened(self) -> Mapping[str, object]:
        """The device, in a process that is ready: what it takes to start is no launch's time."""
        found = self._process.call("device", {}, START_SECONDS, self._cancel)
        self._open = True
        return found

    def verdicts(self, manifest: Manifest | None = None) -> Iterator[LaunchVerdict]:
        """Of each launch, as soon as it is known."""
        for number, kernel in enumerate((manifest or self._manifest).kernels):
            for place, launch in enumerate(kernel.launches):
                if self._cancel is not None and self._cancel.is_set():
                    return
                verdict = self._launch(kernel, launch.name, number, place, self._timed and launch.timed)
                yield verdict._replace(racing=launch.racing)

    def _launch(self, kernel: BundleKernel, name: str, number: int, place: int, timed: bool) -> LaunchVerdict:
        where: Mapping[str, object] = {"kernel": number, "launch": place}
        keep = None if self._keep is None else str(self._keep / f"{number}" / f"{place}")
        touched: dict[str, Sequence[str]] = {}
        step = SIDES[0]
        try:
            if not self._open:
                self._opened()
            for step in SIDES:
                touched[step] = list(map(read.text, read.items(self._call("run", {**where, "side": step})["touched"])))
            step = "comparison"
            found = self._call("compare", {"keep": keep})
            step = "timing"
            time = self._call("time", {}) if timed else None
        except RpcError as error:
            self._process.close()
            fault = Fault(step, str(error.data.get("kind", "fault")), error.message)
        except ProcessError as error:
            kind, words = ENDINGS[error.ending]
            said = f": {error.stderr.strip()[-500:]}" if error.stderr.strip() else ""
            fault = Fault(step, kind, words.format(seconds=self._seconds) + said)
        else:
            arrays, interpreter = (read.mapping(found[key]) for key in ("arrays", "interpreter"))
            return LaunchVerdict(kernel, name, None, _verdicts(arrays), _verdicts(interpreter), touched, time)
        self._open = False
        return LaunchVerdict(kernel, name, fault, {}, {}, touched, None)

    def _call(self, method: str, params: Mapping[str, object]) -> Mapping[str, object]:
        return self._process.call(method, params, self._seconds, self._cancel)

    def close(self) -> None:
        self._process.close()


def summary(verdicts: Sequence[LaunchVerdict], manifest: Manifest) -> dict[str, object]:
    """How many kernels and launches agree, how many faults of each kind there are, and the geometric mean of the time
    ratios of kernels (each kernel's own: of its timed launches)."""
    faults: dict[str, int] = {}
    for one in verdicts:
        if one.fault is not None:
            faults[one.fault.kind] = faults.get(one.fault.kind, 0) + 1
    ratios = [read.number(one.time["ratio"]) for one in verdicts if one.time is not None]
    mean = None
    if ratios:
        product = 1.0
        for ratio in ratios:
            product *= ratio ** (1 / len(ratios))
        mean = round(product, 4)
    bad = {id(one.kernel) for one in verdicts if not one.agrees and not one.is_open}
    ran = {id(one.kernel) for one in verdicts}
    return {
        "kernels": len(manifest.kernels),
        "kernels_matched": len(ran - bad),
        "launches": len(verdicts),
        "matched": sum(one.agrees for one in verdicts),
        "bit_equal": sum(one.bit_equal for one in verdicts),
        "open": sum(one.is_open for one in verdicts),
        "faults": faults,
        "timed": len(ratios),
        "time_ratio": mean,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="ferrotile_runner.worker", description="Runs a bundle on this GPU.")
    parser.add_argument("bundle", type=Path, help="what `ferrotile bundle` made")
    parser.add_argument("--no-time", action="store_true", help="compare only")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each launch (%(default)g)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the results of the originals here")
    asked = parser.parse_args(arguments)
    try:
        manifest = read_manifest(asked.bundle)
    except BundleError as error:
        print(f"ferrotile: {error}", file=sys.stderr)
        return 2
    runner = GpuRunner(asked.bundle, manifest, seconds=asked.seconds, timed=not asked.no_time, keep=asked.keep)
    verdicts: list[LaunchVerdict] = []
    try:
        print(json.dumps({"device": runner.device()}), flush=True)
        for verdict in runner.verdicts():
            verdicts.append(verdict)
            print(json.dumps(verdict.json()), flush=True)
    except NoGpu as error:
        print(f"ferrotile: {error.kind}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        runner.close()
    print(json.dumps({"summary": summary(verdicts, manifest)}), flush=True)
    return 0 if verdicts and all(one.agrees or one.is_open for one in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())

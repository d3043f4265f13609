"""How long a verdict of a GPU takes, from the command in an editor to the result beside the code, and where it goes.

    python benchmarks/gpu_latency.py [FILE::KERNEL] [--times N]

The kernel is edited before each run, so that nothing of it is kept from the one before; compilers are warm, as they are
in a server after its first command. Without a GPU it says what comes before the launches.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile_runner.gpu.bundle import Asked, BundleWriter
from ferrotile_runner.gpu.presence import usable_gpu
from ferrotile_runner.rungs.subject import subject_of
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate
from ferrotile_runner.worker import GpuRunner

KERNEL = "examples/vector_add.py::vector_add"
STEPS = ("translate", "to Tile IR", "inputs, cubins", "wait for the worker", "launches", "all")


class Stopwatch:
    """Seconds by step, one list entry a run."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {step: [] for step in STEPS}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.seconds[name].append(time.perf_counter() - begin)


def run(session: Session, text: str, name: str, watch: Stopwatch, gpu: bool) -> str:
    """One command. Gives what the verdict says."""
    with tempfile.TemporaryDirectory() as folder, watch.step("all"):
        with watch.step("translate"):
            document = Document(text)
            kernel = next(k for k in translate_document(document).kernels if k.name == name)
        subject = subject_of(document, kernel, "sm_90")
        with watch.step("to Tile IR"):
            session.python_code(subject)
            session.rust_code(subject)
        bundle = Path(folder) / "bundle.zip"
        writer = BundleWriter(bundle, Asked("sm_90", seed=session.inputs.seed), session)
        runner = GpuRunner(bundle, writer.manifest)
        with ThreadPoolExecutor(1) as other:
            opened = other.submit(runner.device) if gpu else None
            with watch.step("inputs, cubins"), writer:
                writer.add_subject(subject)
        if opened is None:
            runner.close()
            return "no GPU"
        with watch.step("wait for the worker"):
            opened.result()
        with watch.step("launches"):
            verdicts = list(runner.verdicts(writer.manifest))
        runner.close()
    return f"{sum(one.agrees for one in verdicts)} of {len(verdicts)} launches match"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", nargs="?", default=KERNEL)
    parser.add_argument("--times", type=int, default=5)
    asked = parser.parse_args()
    path, _, name = asked.kernel.partition("::")
    source, gpu = Path(path).read_text(encoding="utf-8"), usable_gpu()
    first, watch = Stopwatch(), Stopwatch()
    with Session(locate()) as session:
        said = run(session, source, name, first, gpu.name is not None)
        for number in range(asked.times):
            # Another name in the kernel: the texts that the compilers get are new.
            run(session, source.replace(name, f"{name}_{number}"), f"{name}_{number}", watch, gpu.name is not None)
    print(f"{asked.kernel} {gpu}: {said}\n")
    print("| step | first, ms | then, ms: least | median |\n|---|---:|---:|---:|")
    for step in STEPS:
        if watch.seconds[step]:
            times = watch.seconds[step]
            print(f"| {step} | {first.seconds[step][0] * 1e3:.0f} | {min(times) * 1e3:.0f} | "
                  f"{statistics.median(times) * 1e3:.0f} |")  # fmt: skip


if __name__ == "__main__":
    main()

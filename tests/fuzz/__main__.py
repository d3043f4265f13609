"""`python tests/fuzz --seeds 0:200`: random kernels through the whole chain, their fates counted.

A kernel with a fate that must not be is made as short as it gets and kept in `--keep`, one file a kernel, its fate in
the first line. Exit status 1 where there is one. A line of JSON a batch goes to `--log`: what a long run has done, and
where to take it up."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from batches import BATCH, Done, Task, work
from ferrotile_runner.toolchain import locate
from judge import RUNGS, Fate
from minimise import TRIES

TOOLS = {"type-checked": ("CUDA headers", "libclang", "cargo"), "assembled": ("tileiras",)}
"""What single rungs need; the others need both compilers and the disassembler."""
ALWAYS = ("cuda-tile", "tileirdisasm", "ferrotile-host")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", default="0:100", help="first and last but one seed (%(default)s)")
    parser.add_argument("--rungs", default=",".join(RUNGS), help="rungs to climb (%(default)s)")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="folder for faults (%(default)s)")
    parser.add_argument("--log", type=Path, help="file that each batch adds a line to")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes (%(default)s)")
    parser.add_argument("--tries", type=int, default=TRIES, help="tries to make a fault shorter (%(default)s)")
    parser.add_argument("--seconds", type=float, help="begin no batch after this time")
    options = parser.parse_args(arguments)
    first, last = (int(part) for part in options.seeds.split(":"))
    rungs = tuple(options.rungs.split(","))
    missing = _missing(rungs)
    if missing:
        print(f"needs {', '.join(missing)}: run `ferrotile setup`", file=sys.stderr)
        return 2
    started = time.time()
    until = None if options.seconds is None else started + options.seconds
    tasks = [
        Task(range(start, min(start + BATCH, last)), rungs, options.keep, until, options.tries)
        for start in range(first, last, BATCH)
    ]
    counts: Counter[Fate] = Counter()
    for done in _all(tasks, options.jobs):
        counts.update(done.fates)
        if options.log is not None:
            fates = {fate.name.lower(): number for fate, number in done.fates.items()}
            with options.log.open("a", encoding="utf-8") as log:
                log.write(json.dumps({"first": done.seeds.start, "end": done.seeds.stop, **fates}) + "\n")
        for line in done.kept:
            print(line, file=sys.stderr)
        print(f"{counts.total()} kernels, {time.time() - started:.0f} s", file=sys.stderr)
    for fate in Fate:
        if counts[fate]:
            print(f"{counts[fate]:6} {fate.value}")
    return int(any(not fate.good for fate in counts))


def _missing(rungs: Sequence[str]) -> tuple[str, ...]:
    needed = {*ALWAYS, *(tool for rung in rungs for tool in TOOLS.get(rung, ()))}
    return tuple(tool for tool in locate().missing if tool in needed)


def _all(tasks: Sequence[Task], jobs: int) -> Iterator[Done]:
    """The batches' results, in the order in which they end."""
    if jobs == 1:
        yield from filter(None, map(work, tasks))
        return
    # Each process drives compilers of its own; what NumPy would do on more threads the other processes do.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(work, task) for task in tasks]):
            done = future.result()
            if done is not None:
                yield done


if __name__ == "__main__":
    sys.exit(main())

"""Times kernels with every choice of hints that the policy could have made, to find the rules of `passes/hints.py`.

    python benchmarks/gpu_hints.py make DIR PATH... [--jobs N] [--plain]      # both compilers, no GPU
    python benchmarks/gpu_hints_run.py DIR > timed.jsonl                      # a driver, numpy, cuda-bindings
    python benchmarks/gpu_hints.py table timed.jsonl                          # Markdown

A bundle a kernel: its large launch with the policy's own hints, then with others (`--plain`: without those). Of a
kernel the first signature that is translated is taken. What nothing gives is assumed longer than elsewhere: tiles of up
to 1024, extents of 4096, nearer to what host code passes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
import traceback
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from ferrotile.choices import Choices
from ferrotile.passes.accesses import find_accesses
from ferrotile.passes.uses import operations
from ferrotile.program.ir import Program
from ferrotile.signatures import assume
from ferrotile.translation import KernelTranslation, Options
from ferrotile_runner import json_values as read
from ferrotile_runner.gpu.bundle import Asked, BundleWriter, NotBundled
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate
from ferrotile_runner.workers.bundle_format import Launches
from ferrotile_server.application import Application
from ferrotile_server.cli.arguments import parse
from ferrotile_server.cli.paths import read_sources
from ferrotile_server.cli.translating import Translated, translate_source, translate_sources

REPRESENTATIVES, EXTENT = (1024, 32, 16, 128, 8, 256, 4, 2), 4096
OCCUPANCIES = (2, 4, 8)
PROCESSORS = 132
"""Of the GPU that is measured: launches of fewer blocks leave some without work."""
SHORTEST = 0.01
"""Milliseconds; what is shorter is mostly the launch itself."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make")
    make.add_argument("folder", type=Path)
    make.add_argument("paths", nargs="+")
    make.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    make.add_argument("--plain", action="store_true")
    table = commands.add_parser("table")
    table.add_argument("lines", type=Path, nargs="+")
    asked = parser.parse_args()
    if asked.command == "make":
        make_all(asked.folder, asked.paths, asked.jobs, asked.plain)
    else:
        print_table(asked.lines)


def make_all(folder: Path, paths: Sequence[str], jobs: int, plain: bool) -> None:
    """A bundle for each kernel, and what became of each on stderr."""
    folder.mkdir(parents=True, exist_ok=True)
    sources, _ = read_sources(parse(["bundle", *paths, "-o", "x"]).paths)
    tasks = [(str(folder), str(source.path), plain) for source in sources]
    tasks.sort(key=lambda task: -Path(task[1]).stat().st_size)
    with ProcessPoolExecutor(jobs) as pool:
        for said in pool.map(_make_file, *zip(*tasks, strict=True)):
            for line in said:
                print(line, file=sys.stderr, flush=True)


def _make_file(folder: str, path: str, plain: bool) -> list[str]:
    """As `_bundles`; one file is not to end the others."""
    said: list[str] = []
    try:
        said.extend(_bundles(folder, path, plain))
    except Exception:
        said.append(f"{path}: {traceback.format_exc()}")
    return said


def _bundles(folder: str, path: str, plain: bool) -> Iterator[str]:
    """Bundles of the kernels of one file, and a line about each."""
    assume.REPRESENTATIVES, assume._EXTENT = REPRESENTATIVES, EXTENT
    sources, _ = read_sources(parse(["bundle", path, "-o", "x"]).paths)
    with Session(locate()) as session:
        for opened in translate_sources(Application(Options()), sources):
            for number, name in enumerate(dict.fromkeys(k.name for k in opened.kernels)):
                same = [k for k in opened.kernels if k.name == name]
                kernel = next((k for k in same if k.rust is not None), None)
                if kernel is not None:
                    where = Path(folder) / f"{Path(path).stem}.{zlib.crc32(path.encode()) % 10**6}.{number}.zip"
                    yield _bundle(session, opened, kernel, same.index(kernel), where, plain)
                    session.forget()


def _bundle(session: Session, opened: Translated, kernel: KernelTranslation, at: int, where: Path, plain: bool) -> str:
    """The bundle of one kernel, the `at`-th of its name: as it is, then with the hints of each variant."""
    document, module = opened.analysis.document, opened.analysis.translation.module
    partial = where.with_suffix(".partial")
    texts = {kernel.rust}
    assert kernel.program is not None
    try:
        with BundleWriter(partial, Asked("sm_90", Launches.LARGE), session) as writer:
            made = writer.add(document, module, kernel, opened.source.name)
            for name, choices in () if plain else choices_of(kernel.program):
                again = translate_source(Application(Options(choices=choices)), opened.source).analysis.translation
                others = [k for k in again.kernels if k.name == kernel.name]
                if at < len(others) and others[at].rust not in {None, *texts}:
                    texts.add(others[at].rust)
                    with contextlib.suppress(NotBundled):  # hints that the assembler has no room for
                        writer.add(document, module, others[at], name)
    except Exception as error:  # one kernel is not to end the others
        return f"{opened.source.name} {kernel.name}: {type(error).__name__}: {str(error)[:300]}"
    partial.rename(where)
    return f"{opened.source.name} {kernel.name}: {made.launches[-1].name}, {len(texts) - 1} variants"


def choices_of(program: Program) -> Iterator[tuple[str, Choices]]:
    """The variants of a kernel, by a short name."""
    names = {p.value.id: p.name for p in program.parameters}
    codes = {o.opcode for o in operations(program.body)}
    for number in OCCUPANCIES:
        yield f"occupancy={number}", Choices(entry=(("occupancy", number),))
    if codes & {"mmaf", "mmai", "mmaf_scaled"}:
        yield "num_ctas=2", Choices(entry=(("num_ctas", 2),))
    if "gather" in codes:
        yield "rows=pointer", Choices(rows=False)
    for store, word in ((False, "load"), (True, "store")):
        arrays = dict.fromkeys(names[a.array] for a in find_accesses(program) if a.store is store and a.array in names)
        for way in (True, False):
            chosen = tuple((f"{name}.{word}", way) for name in arrays)
            yield f"{word}={'tma' if way else 'plain'}", Choices(tma=chosen)


def mean(ratios: Sequence[float]) -> float:
    """Geometric."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios))


def busy(one: Mapping[str, object]) -> bool:
    """Whether a launch keeps the GPU busy, so that its time is the kernel's."""
    grid = read.text(one["launch"]).rpartition("grid (")[2].removesuffix(")")
    blocks = math.prod(map(int, grid.split(", ")))
    return blocks >= PROCESSORS and read.number(read.mapping(one["time"])["original_ms"]) >= SHORTEST


class Row(NamedTuple):
    """A kernel's ratio to the original's time, by policy and with each variant."""

    name: str
    milliseconds: float
    policy: float
    variants: Mapping[str, float]
    busy: bool

    @property
    def best(self) -> tuple[float, str]:
        """The least ratio, and the variant that has it."""
        return min([(self.policy, ""), *((ratio, name) for name, ratio in self.variants.items())])


def rows_of(paths: Sequence[Path]) -> Iterator[Row]:
    """Of what was timed; what was not is printed."""
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            one = read.mapping(json.loads(line))
            if one.get("verdict") not in ("match", "open"):
                print(f"- {one.get('file', one.get('bundle'))} {one.get('kernel', '')}: "
                      f"{one.get('died') or one.get('verdict')}")  # fmt: skip
                continue
            time = read.mapping(one["time"])
            name = f"`{'/'.join(Path(read.text(one['file'])).parts[-2:])}` {one['kernel']}"
            variants = {key: read.number(value) for key, value in read.mapping(one["variants"]).items()}
            yield Row(name, read.number(time["original_ms"]), read.number(time["ratio"]), variants, busy(one))


def print_table(paths: Sequence[Path]) -> None:
    """The ratios by kernel, and by variant the mean of what it changes."""
    rows = sorted(rows_of(paths), key=lambda row: -row.policy)
    for title, some in (
        ("all", rows),
        (f"at least {PROCESSORS} blocks and {SHORTEST} ms", [r for r in rows if r.busy]),
    ):
        if some:
            means = mean([r.policy for r in some]), mean([r.best[0] for r in some])
            print(f"{title}: {len(some)} kernels, by policy {means[0]:.3f}, with the best variant {means[1]:.3f}")
    print("\n| kernel | Python ms | policy | best | with |\n|---|---:|---:|---:|---|")
    for row in rows:
        best, variant = row.best
        shown = f"{best:.3f} | {variant}" if best < row.policy * 0.98 else " | "
        print(f"| {row.name}{'' if row.busy else ' *'} | {row.milliseconds:.4g} | **{row.policy:.3f}** | {shown} |")
    print("\n| variant | kernels | its time over the policy's, mean | faster by 2 % | slower by 2 % |")
    print("|---|---:|---:|---:|---:|")
    for variant in dict.fromkeys(name for row in rows for name in row.variants):
        changes = [row.variants[variant] / row.policy for row in rows if variant in row.variants]
        faster, slower = sum(c < 0.98 for c in changes), sum(c > 1.02 for c in changes)
        print(f"| {variant} | {len(changes)} | {mean(changes):.3f} | {faster} | {slower} |")


if __name__ == "__main__":
    main()

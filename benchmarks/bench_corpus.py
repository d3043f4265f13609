"""Analysis time per kernel over folders of Python files that the user names: `bench_corpus.py FOLDER...`;
without one, over this project's examples.

A kernel's time is its share of its file's: parse, signatures, launch sites of that file, translation of every kernel,
nothing kept from before. It is processor time, so that a busy machine does not count; imports are not in it."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from measuring import Budget, Times, print_table

ANALYSIS = Budget(5, 5000)
SLOWEST = 5
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@dataclass(frozen=True, slots=True)
class Analysed:
    """One file: its kernels, and the processor time of its analysis in milliseconds."""

    file: Path
    kernels: int
    ms: float


def files(paths: Sequence[Path]) -> Iterator[Path]:
    """Python files that may hold kernels."""
    for path in paths:
        yield from sorted(path.rglob("*.py")) if path.is_dir() else (path,)


def analyse(file: Path) -> Analysed | None:
    """The file's time; None for a file without kernels."""
    text = file.read_text(encoding="utf-8", errors="replace")
    if "cuda.tile" not in text:
        return None
    start = time.process_time()
    found = translate_document(Document(text))
    ms = (time.process_time() - start) * 1e3
    kernels = len({k.name_span for k in found.kernels})
    return Analysed(file, kernels, ms) if kernels else None


def report(paths: Sequence[Path]) -> None:
    """Prints the times over some folders and files, and the slowest files."""
    analysed = [a for a in map(analyse, files(paths)) if a is not None]
    if not analysed:
        sys.exit("no kernels found")
    times = Times(tuple(a.ms / a.kernels for a in analysed for _ in range(a.kernels)))
    print_table(f"analysis of {len(times.ms):,} kernels in {len(analysed):,} files", [("a kernel", times)], ANALYSIS)
    print(f"mean {sum(times.ms) / len(times.ms):.1f} ms, most {max(times.ms):.1f} ms a kernel; the slowest files:")
    for one in sorted(analysed, key=lambda a: -a.ms / a.kernels)[:SLOWEST]:
        print(f"{one.ms / one.kernels:10.1f} ms  {one.kernels:3} kernels  {one.file}")


def main() -> None:
    gc.set_threshold(50_000, 20, 20)  # as in ferrotile's own processes
    report([Path(argument) for argument in sys.argv[1:]] or [EXAMPLES])


if __name__ == "__main__":
    main()

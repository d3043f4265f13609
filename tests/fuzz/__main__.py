"""`python tests/fuzz --seeds 0:200`: random kernels through the whole chain, their fates counted.

A kernel with a fate that must not be is made as short as it gets and kept in `--keep`, one file a kernel, its fate in
the first line. Exit status 1 where there is one. A line of JSON a batch goes to `--log`, so that a long run can be
taken up where it stopped."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate
from judge import RUNGS, Fate, Judgement, judge
from language import HEAD, file, kernel
from minimise import minimise

BATCH = 25


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", default="0:100", help="first and last but one seed (%(default)s)")
    parser.add_argument("--rungs", default=",".join(RUNGS), help="rungs to climb (%(default)s)")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="folder for faults (%(default)s)")
    parser.add_argument("--log", type=Path, help="file that each batch adds a line to")
    options = parser.parse_args(arguments)
    first, last = (int(part) for part in options.seeds.split(":"))
    rungs = tuple(options.rungs.split(","))
    toolchain = locate()
    if toolchain.missing:
        print(f"needs {', '.join(toolchain.missing)}: run `ferrotile setup`", file=sys.stderr)
        return 2
    counts: Counter[Fate] = Counter()
    started = time.monotonic()
    with Session(toolchain) as session:
        for start in range(first, last, BATCH):
            seeds = range(start, min(start + BATCH, last))
            found = list(judge(session, file(seeds), rungs))
            counts.update(j.fate for j in found)
            for judgement in found:
                if not judgement.fate.good:
                    _keep(session, judgement, rungs, options.keep)
            session.forget()
            if options.log is not None:
                fates = Counter(j.fate.name.lower() for j in found)
                with options.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps({"first": seeds.start, "end": seeds.stop, **fates}) + "\n")
            print(f"{seeds.stop - first} kernels, {time.monotonic() - started:.0f} s", file=sys.stderr)
    for fate in Fate:
        if counts[fate]:
            print(f"{counts[fate]:6} {fate.value}")
    return int(any(not fate.good for fate in counts))


def _keep(session: Session, judgement: Judgement, rungs: Sequence[str], folder: Path) -> None:
    """Write the kernel as short as it shows its fate."""
    seed = int(judgement.name.removeprefix("k"))

    def shows(text: str) -> bool:
        return [j.fate for j in judge(session, HEAD + text, rungs)] == [judgement.fate]

    text = minimise(kernel(seed), shows)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{judgement.fate.name.lower()}_{seed}.py"
    detail = judgement.detail.replace("\n", "\n# ")
    path.write_text(f"# Seed {seed}: {judgement.fate.value}. {detail}\n{HEAD}{text}", encoding="utf-8")
    print(f"seed {seed}: {judgement.fate.value}: {path}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

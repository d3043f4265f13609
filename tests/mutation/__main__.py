"""`python tests/mutation --count 20`: lies told to the prover about the examples and the conformance kernels.

Each kernel is compiled by both compilers; then one place of the translation's Tile IR is changed at a time, or of its
Rust (`--rust N`: so many mutants a kernel, compiled by the real compiler), and each mutant is proved and run. With
`--random N` the kernels are random ones, of whose mutants only those are run that are proved for no known reason. What
became of each goes to `--log`, one line of JSON a mutant. Exit status 1 where a mutant is proved that a run tells
from the original, or where the prover fails."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import reasons
from campaign import Finding, Log, campaign, report_of
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate
from judging import Fate
from rust_campaign import of_every_kind, rust_campaign
from subjects import Source, compiled, conformance_sources, example_sources, random_sources, remember, remembered


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mutation", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="kernels; by default all examples and conformance kernels")
    parser.add_argument("--count", type=int, default=20, help="mutants of Tile IR a kernel; 0: all (%(default)s)")
    parser.add_argument("--rust", type=int, default=0, help="mutants of the Rust a kernel (%(default)s)")
    parser.add_argument("--rust-kinds", type=int, default=0, help="mutants of the Rust of each kind (%(default)s)")
    parser.add_argument("--kernels", type=int, default=0, help="only so many, in random order; 0: all (%(default)s)")
    parser.add_argument("--part", default="1/1", help="a share of the kernels, for several processes (%(default)s)")
    parser.add_argument("--random", type=int, default=0, help="of so many random kernels of tests/fuzz instead")
    parser.add_argument("--from", dest="first", type=int, default=800_000, help="their first seed (%(default)s)")
    parser.add_argument("--seed", default="ferrotile", help="another seed gives other mutants (%(default)s)")
    parser.add_argument("--pairs", type=Path, help="keeps compiled kernels here; without compilers if they are there")
    parser.add_argument("--log", type=Path, default=Path("build/mutation/log.jsonl"), help="(%(default)s)")
    options = parser.parse_args(arguments)
    started = time.process_time()
    found: list[Finding] = []
    sources: list[Source] = []
    toolchain = locate()
    kept = options.pairs is not None and options.pairs.exists()
    rust = options.rust or options.rust_kinds
    if toolchain.missing and (not kept or rust):
        print(f"needs {', '.join(toolchain.missing)}: run `ferrotile setup`", file=sys.stderr)
        return 2
    if not kept or rust:
        drawn = range(options.first, options.first + options.random)
        every = list(random_sources(drawn)) if options.random else [*example_sources(), *conformance_sources()]
        sources = [s for s in every if not options.names or s.name in options.names]
    log = Log(options.log)
    with Session(toolchain) as session:
        pairs = remembered(options.pairs) if kept else list(compiled(session, sources))
        if options.pairs is not None and not kept:
            remember(pairs, options.pairs)
        wanted = [pair for pair in pairs if not options.names or pair.name in options.names]
        random.Random(options.seed).shuffle(wanted)
        place, parts = map(int, options.part.split("/"))
        wanted = wanted[: options.kernels or None][place - 1 :: parts]
        count = options.count or None
        found += [] if count == -1 else campaign(wanted, count, options.seed, log, only_proved=bool(options.random))
        more = [rust_campaign(session, sources, options.rust, options.seed)] if options.rust else []
        if options.rust_kinds:
            more.append(of_every_kind(session, sources, options.rust_kinds, options.seed))
        for finding in chain(*more):
            log.add([finding])
            found.append(finding)
    _print(found)
    print(f"{time.process_time() - started:.0f} s of this process", file=sys.stderr)
    return int(any(f.fate in (Fate.FAULT, Fate.NO_VERDICT) for f in found))


def _print(found: Sequence[Finding]) -> None:
    for fate in Fate:
        count = sum(1 for f in found if f.fate is fate)
        if count:
            print(f"{count:6} {fate.value}")
    words = Counter((f.fate.name.lower(), f.reason or "no reason is known") for f in found if f.fate in reasons.ASKED)
    for (name, reason), count in words.most_common():
        print(f"{count:6} {name}: {reason}")
    report = report_of(found)
    print(
        f"of {report.other} mutants that are other programs, the rung's simulation tells {report.seen_by_rung}, "
        f"runs of every kind {report.seen}"
    )


if __name__ == "__main__":
    sys.exit(main())

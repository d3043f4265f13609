"""Lies that the prover must not believe: a fixed selection of the mutants that `python tests/mutation` makes."""

from __future__ import annotations

from collections.abc import Sequence

import kinds_rust_table
import pytest
import reasons
import tile_ir
from campaign import Finding, of_proved, of_tile_ir, report_of
from ferrotile_runner.session import Session
from ferrotile_runner.tileir.interpreter.late_loads import late_loads
from fixtures import fixture_pairs
from judging import Fate, Judge
from kinds import TileIrKind
from kinds_rust import RustKind
from rust_campaign import rust_campaign
from subjects import Pair, compiled, conformance_sources, example_sources, random_sources

FEWEST_KINDS = 40
EXAMPLES = ("adamw", "layer_norm", "silu_mul", "softmax", "vector_add")
"""Those that run fast in the simulator."""
ROWS = ("order-lock", "shape-rank-4", "scalars-f32", "traversal-steps", "print", "scan-rounding", "element-type-bool",
        "element-scatter-twice", "never-row-of-tiles", "float-sqrt-rounding-f16")  # fmt: skip
"""Kernels that have what the examples do not: atomics, branches, scans, masks, prints, joined tokens."""
THEIRS = {"dropped mask", "other mask", "other atomic", "other direction", "negated condition", "swapped branches",
          "other permutation", "other part", "other conversion", "other padding of pointers", "reordered stores",
          "printed text", "other scope", "other offset", "other steps"}  # fmt: skip
"""Kinds of which the examples have no mutant."""
SEED = "fixed"


def never_believed(findings: Sequence[Finding]) -> None:
    assert findings
    faults = [f for f in findings if f.fate in (Fate.FAULT, Fate.NO_VERDICT)]
    assert faults == [], "the prover believes a lie"


@pytest.fixture(scope="module")
def examples() -> dict[str, Pair]:
    return {pair.name.partition("::")[0]: pair for pair in fixture_pairs(*EXAMPLES)}


def test_the_tables_have_enough_kinds() -> None:
    tables: tuple[Sequence[TileIrKind | RustKind], ...] = (tile_ir.KINDS, kinds_rust_table.KINDS)
    for table in tables:
        names = [kind.name for kind in table]
        assert len(names) == len(set(names)) >= FEWEST_KINDS
        assert all(kind.change for kind in table)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_themselves_are_proved_and_agree(examples: dict[str, Pair], name: str) -> None:
    """Else a rejected mutant says nothing."""
    judge = Judge(examples[name])
    assert examples[name].proved()
    assert judge.can_run and judge.unlike == []


def test_each_kind_makes_a_mutant_that_is_rejected(examples: dict[str, Pair]) -> None:
    """By the proof alone: no run is needed for that."""
    rejected: set[str] = set()
    for pair in examples.values():
        judge = Judge(pair, simulated=False)
        for mutant in tile_ir.mutants(judge.rust, 150, SEED):
            if mutant.kind.name not in rejected and judge(mutant.entry).fate is Fate.NOT_RUN:
                rejected.add(mutant.kind.name)
    assert len(rejected) >= FEWEST_KINDS, sorted(rejected)


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_mutant_of_the_examples_is_believed(examples: dict[str, Pair], name: str) -> None:
    judge = Judge(examples[name])
    found = list(of_tile_ir(judge, 25, SEED))
    never_believed(found)
    assert sum(1 for f in found if f.fate is Fate.CAUGHT) >= len(found) // 3
    open_ends = [f for f in found if f.fate is Fate.EQUAL and not f.reason]
    assert open_ends == [], "proved, equal in every run, and for no known reason"


def test_a_load_that_lacks_its_token_is_seen_when_it_comes_late(examples: dict[str, Pair]) -> None:
    """A run in the order of the program sees nothing."""
    judge = Judge(examples["adamw"])
    kinds = [kind for kind in tile_ir.KINDS if kind.name == "dropped token"]
    found = [judge(mutant.entry) for mutant in tile_ir.mutants(judge.rust, None, SEED, kinds)]
    assert late_loads(judge.rust) != judge.rust
    assert {f.seen for f in found if f.fate is Fate.CAUGHT} == {"simulation"}
    assert all(f.fate in (Fate.CAUGHT, Fate.UNSEEN, Fate.EQUAL) for f in found)


@pytest.mark.parametrize("name", ["silu_mul", "softmax", "vector_add"])
def test_no_reason_excuses_what_the_simulation_tells(examples: dict[str, Pair], name: str) -> None:
    """Each row is to be true of its mutants: none that is another program in some launch may have a reason."""
    judge = Judge(examples[name])
    told = 0
    for mutant in tile_ir.mutants(judge.rust, 40, "rows"):
        if judge.seen(mutant.entry)[0] == "simulation":
            told += 1
            words = reasons.of_tile_ir(judge.sides, mutant.kind.name, mutant.edit, mutant.entry, proved=True)
            assert not words, (mutant.kind.name, mutant.what, mutant.line)
    assert told >= 15


@pytest.mark.compilers
@pytest.mark.timeout(300)
def test_no_mutant_of_other_kernels_is_believed(session: Session) -> None:
    sources = list(conformance_sources(ROWS))
    pairs = list(compiled(session, sources))
    assert [pair.name for pair in pairs] == [source.name for source in sources]
    kinds = [kind for kind in tile_ir.KINDS if kind.name in THEIRS]
    rejected: set[str] = set()
    for pair in pairs:
        proof, run = Judge(pair, simulated=False), Judge(pair)
        assert run.unlike == []
        for mutant in tile_ir.mutants(proof.rust, 10, SEED, kinds):
            fate = proof(mutant.entry).fate
            if fate is Fate.PROVED_ONLY:
                assert run(mutant.entry).fate is not Fate.FAULT, (pair.name, mutant.what)
            else:
                assert fate is Fate.NOT_RUN, (pair.name, mutant.what)
                rejected.add(mutant.kind.name)
    assert rejected == THEIRS


@pytest.mark.compilers
@pytest.mark.timeout(300)
def test_no_mutant_of_the_rust_is_believed(session: Session) -> None:
    found = list(rust_campaign(session, list(example_sources(("adamw", "silu_mul"))), 8, SEED))
    never_believed(found)
    assert sum(1 for f in found if f.fate is Fate.CAUGHT) >= len(found) // 3


def test_of_proved_mutants_those_without_a_reason_are_run(examples: dict[str, Pair]) -> None:
    found = list(of_proved(examples["silu_mul"], 40, SEED))
    every = list(of_tile_ir(Judge(examples["silu_mul"], simulated=False), 40, SEED))
    assert [f.what for f in found] == [f.what for f in every]
    never_believed(found)
    for one, other in zip(found, every, strict=True):
        run = other.fate is Fate.PROVED_ONLY and not other.reason
        assert one.fate is (Fate.EQUAL if run else other.fate)
    assert {f.fate for f in found} >= {Fate.NOT_RUN, Fate.PROVED_ONLY}


def test_random_kernels_are_those_of_their_seeds() -> None:
    names = [source.name for source in random_sources(range(800_000, 800_003))]
    assert names and set(names) <= {"k800000", "k800001", "k800002"}


def test_a_report_counts_each_mutant_once(examples: dict[str, Pair]) -> None:
    found = list(of_tile_ir(Judge(examples["vector_add"]), 10, SEED))
    report = report_of(found)
    assert report.mutants == 10 == report.rejected + report.proved
    assert report.rejected == sum(1 for f in found if f.fate in reasons.REJECTED)

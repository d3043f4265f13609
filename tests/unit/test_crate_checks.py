"""The checks of host functions: what the proof assumes of a launch is refused where it does not hold."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from crate_support import HEAD, Refused, hosted, launch, planned
from ferrotile.crate.facts import Count, Equal, GridIs, Multiple, Rearranged, Renamed, Unread, Within, read_fact
from ferrotile.signatures.model import ArrayArgument, ConstantArgument
from ferrotile.translation import Options
from ferrotile_runner.launch_facts import broken_facts, facts_of
from ferrotile_runner.sizes import grid_for, shapes_of, symbols

EXAMPLES = Path(__file__).parents[2] / "examples"

VECTOR_ADD = (
    HEAD
    + """
# ferrotile: x: f32[N], y: f32[N], z: f32[N], TILE=1024, grid=(N/TILE,)
@ct.kernel
def add(x, y, z, TILE: ct.Constant[int]):
    i = ct.bid(0)
    tx = ct.load(x, index=(i,), shape=(TILE,))
    ct.store(z, index=(i,), tile=tx + ct.load(y, index=(i,), shape=(TILE,)))
"""
)

MATMUL = (
    HEAD
    + """
# ferrotile: a: f16[M, K], b: f16[K, N], c: f16[M, N], TM=128, TN=128, TK=64, grid=({rows}, {columns})
@ct.kernel
def matmul(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        ta = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(ta, ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO), acc)
    ct.store(c, index=(i, j), tile=acc.astype(c.dtype))
"""
)

SOFTMAX = (
    HEAD
    + """
# ferrotile: x: f32[M, N], y: f32[M, N], TN=1024, grid=(M,)
@ct.kernel
def softmax(x, y, TN: ct.Constant[int]):
    row = ct.bid(0)
    t = ct.load(x, index=(row, 0), shape=(1, TN), padding_mode=ct.PaddingMode.NEG_INF)
    ct.store(y, index=(row, 0), tile=t / ct.sum(t, axis=1, keepdims=True))
"""
)

HEADS = (
    HEAD
    + """
# ferrotile: x: f32[B, H, S, D], y: f32[B, H, S, D], H=4, TS=64, D=64, grid=(S/TS, B * H)
@ct.kernel
def heads(x, y, H: ct.Constant[int], TS: ct.Constant[int], D: ct.Constant[int]):
    i, bh = ct.bid(0), ct.bid(1)
    t = ct.load(x, index=(bh // H, bh % H, i, 0), shape=(1, 1, TS, D))
    ct.store(y, index=(bh // H, bh % H, i, 0), tile=t * 2.0)
"""
)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("cdiv(N, 64) = 1", Equal((Count("N", 64),), (Count(1),))),
        ("n2 = n", Equal((Count("n2"),), (Count("n"),))),
        ("N % 128 = 0", Multiple("N", 128)),
        ("bid.y = 0", GridIs(1, ())),
        ("grid.z = 16 * cdiv(B, 4)", GridIs(2, (Count(16), Count("B", 4)))),
        ("grid.x is Rust grid.y", Renamed(0, 1)),
        ("python bid.y = 32 * bid.z + bid.y", Rearranged()),
        ("x is accessed within its bounds", Within("x")),
        ("the moon is full", Unread("the moon is full")),
    ],
)
def test_facts_are_read(text: str, fact: object) -> None:
    assert read_fact(text) == fact


def test_extents_that_differ_are_refused() -> None:
    host = hosted(VECTOR_ADD)
    assert host.planned.config == ("TILE",) and host.promises == []
    assert launch(host, {"x": [5], "y": [5], "z": [5]}, {"tile": 64}) is None
    for shapes in ({"x": [5], "y": [6], "z": [5]}, {"x": [5], "y": [5], "z": [4]}, {"x": [5, 1], "y": [5], "z": [5]}):
        with pytest.raises(Refused):
            launch(host, shapes, {"tile": 64})


def test_a_row_that_one_tile_does_not_cover_is_refused() -> None:
    host = hosted(SOFTMAX)
    assert launch(host, {"x": [3, 1000], "y": [3, 1000]}, {"tn": 1024}) is None
    assert launch(host, {"x": [3, 1025], "y": [3, 1025]}, {"tn": 2048}) is None
    with pytest.raises(Refused, match=r"cdiv\(x\.shape\[1\], TN\).* 2"):
        launch(host, {"x": [3, 1025], "y": [3, 1025]}, {"tn": 1024})


def test_equal_constants_are_told_apart_by_what_the_grid_divides_by() -> None:
    found = planned(MATMUL.format(rows="M/TM", columns="N/TN"))
    assert found.template.open == ("TM", "TN", "TK")
    assert dict(found.template.tiles) == {"c": ("TM", "TN")}
    assert found.template.grid == ((("M", "TM"),), (("N", "TN"),))
    # Written with a number, the grid is right for that tile alone.
    numbers = planned(MATMUL.format(rows="M/128", columns="N/TN"))
    assert numbers.template.open == ("TN", "TK")


def test_a_constant_that_the_launch_needs_to_be_equal_to_another_stays() -> None:
    # Blocks are counted in tiles of TN along both axes, rows are cut by TM: right only while the two are equal.
    crossed = planned(MATMUL.format(rows="M/TN", columns="N/TM"))
    assert crossed.template.open == ("TK",) and crossed.fixed == {"TM": 128, "TN": 128}


def test_a_grid_axis_of_two_extents_is_counted_with_both() -> None:
    host = hosted(HEADS)
    assert launch(host, {"x": [3, 4, 100, 64], "y": [3, 4, 100, 64]}) in (None, (2, 12, 1))
    with pytest.raises(Refused):
        launch(host, {"x": [3, 5, 100, 64], "y": [3, 5, 100, 64]})


@pytest.mark.parametrize("name", sorted(p.stem for p in EXAMPLES.glob("*.py") if p.stem != "refused"))
def test_examples_refuse_what_their_facts_rule_out(name: str) -> None:
    host = hosted((EXAMPLES / f"{name}.py").read_text())
    signature, entry = host.planned.signature, host.planned.entry
    facts = facts_of(entry.hypotheses)
    constants = {a.name: a.value for a in signature.arguments if isinstance(a, ConstantArgument)}
    config = {c.lower(): int(str(constants[c])) for c in host.planned.config}
    extents = [s for s in symbols(signature) if s not in constants]
    accepted = 0
    for sizes_ in product((1, 100, 1000, 1025), repeat=min(len(extents), 3)):
        sizes = dict(zip(extents, [*sizes_, *[2] * len(extents)][: len(extents)], strict=True))
        sizes |= {n: v for n, v in constants.items() if type(v) is int}
        shapes = {host.names[k]: v for k, v in shapes_of(signature, sizes).items()}
        grid = grid_for(signature, sizes, facts)
        assert grid is not None
        try:
            launched = launch(host, shapes, config, {n: 1 for n in host.names if n not in shapes}, grid)
        except Refused:
            assert broken_facts(facts, sizes, grid), (name, sizes)
            continue
        accepted += 1
        assert broken_facts(facts, sizes, grid) == (), (name, sizes)
        assert launched is None or launched == grid
    assert accepted


def test_arrays_of_a_signature_are_the_parameters() -> None:
    for name in ("softmax", "adamw", "attention"):
        host = hosted((EXAMPLES / f"{name}.py").read_text())
        arrays = [a.name for a in host.planned.signature.arguments if isinstance(a, ArrayArgument)]
        assert [host.names[a] for a in arrays] == [p for p in host.passed if p in host.names.values()][: len(arrays)]


GATHER = (
    HEAD
    + """
# ferrotile: x: f32[N], ids: i32[M], y: f32[M], T=64, grid=(M/T,)
@ct.kernel
def take(x, ids, y, T: ct.Constant[int]):
    i = ct.bid(0)
    at = ct.load(ids, index=(i,), shape=(T,))
    ct.store(y, index=(i,), tile=ct.gather(x, at{more}))
"""
)


def test_what_nothing_can_check_is_promised() -> None:
    assert hosted(GATHER.format(more="")).promises == []
    promises = hosted(GATHER.format(more=", check_bounds=False")).promises
    assert len(promises) == 1 and "`x`" in promises[0] and "inside" in promises[0]


def test_checks_in_the_kernel_leave_nothing_to_promise_about_tiles() -> None:
    indexed = (
        HEAD
        + """
# ferrotile: x: f32[N], y: f32[M], n: i32, T=64, grid=(M/T,)
@ct.kernel
def shifted(x, y, n, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i + n,), shape=(T,)))
"""
    )
    assert any("`x`" in p for p in hosted(indexed).promises)
    assert hosted(indexed, Options(checks="keep")).promises == []

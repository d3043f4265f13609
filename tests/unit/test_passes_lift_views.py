"""Which gathers and scatters become tiled views, and what that assumes of the launch."""

from __future__ import annotations

import pytest
from ferrotile.passes.lift_views import lift_views
from ferrotile.passes.uses import operations
from ferrotile.program import dtypes
from ferrotile.program.ir import Operation
from ferrotile.program.verifier import verify
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, ScalarArgument, Signature, Source
from frontend_support import lower

GRID = ((GridFactor("N", 16),),)
ROWS = ((GridFactor("M"),),)
LANES = "    o = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)\n"


def lifted(
    body: str, grid: tuple[tuple[GridFactor, ...], ...] | None = GRID, rank: int = 1
) -> tuple[list[str], list[Operation], tuple[str, ...]]:
    """The memory operations after lifting, all operations, and the launch facts. T is 16; `x` and `y` are f32[N] or
    f32[M, N]."""
    source = f"@ct.kernel\ndef k(x, y, n, T):\n{body}"
    lowering = lower(source, x=f"f32[{rank}]", y=f"f32[{rank}]", n="i32", T=16)
    assert lowering.program is not None, lowering.diagnostics
    extents = ("M", "N")[2 - rank :]
    arguments = (
        ArrayArgument("x", dtypes.F32, extents, Source.DIRECTIVE),
        ArrayArgument("y", dtypes.F32, extents, Source.DIRECTIVE),
        ScalarArgument("n", dtypes.I32, Source.DIRECTIVE),
        ConstantArgument("T", 16, Source.DIRECTIVE),
    )
    program, facts = lift_views(lowering.program, Signature("k", arguments, grid))
    assert verify(program) == ()
    found = list(operations(program.body))
    memory = [o.opcode for o in found if o.opcode in ("gather", "scatter", "load_view", "store_view")]
    return memory, found, facts


def view_of(found: list[Operation], opcode: str) -> str:
    return str(next(o for o in found if o.opcode == opcode).operands[0].type)


def test_an_aligned_copy_is_a_tile_load_and_store() -> None:
    memory, found, facts = lifted(LANES + "    ct.scatter(y, o, ct.gather(x, o))\n")
    assert memory == ["load_view", "store_view"] and facts == ()
    assert view_of(found, "load_view") == "view<Txf32, padding=zero>"
    load = next(o for o in found if o.opcode == "load_view")
    (index,) = load.operands[1:]
    assert next(o for o in found if index in o.results).opcode == "block_id"


@pytest.mark.parametrize(
    ("padding", "name"),
    [("float('inf')", "pos_inf"), ("-float('inf')", "neg_inf"), ("float('nan')", "nan"), ("-0.0", "neg_zero")],
)
def test_special_paddings_are_the_views_own(padding: str, name: str) -> None:
    memory, found, _ = lifted(LANES + f"    ct.scatter(y, o, ct.gather(x, o, padding_value={padding}))\n")
    assert memory == ["load_view", "store_view"]
    assert view_of(found, "load_view") == f"view<Txf32, padding={name}>"
    assert not any(o.opcode == "select" for o in found)


def test_any_other_padding_is_selected() -> None:
    memory, found, _ = lifted(LANES + "    ct.scatter(y, o, ct.gather(x, o, padding_value=2.5))\n")
    assert memory == ["load_view", "store_view"]
    assert [o.attribute("predicate") for o in found if o.opcode == "cmpi"] == ["less_than"]
    assert sum(o.opcode == "select" for o in found) == 1


def test_an_unknown_grid_is_assumed_and_said() -> None:
    memory, _, facts = lifted(LANES + "    ct.scatter(y, o, ct.gather(x, o))\n", None)
    assert memory == ["load_view", "store_view"]
    assert facts == ("grid.x = cdiv(N, 16)",)


@pytest.mark.parametrize(
    "body",
    [
        LANES + "    ct.scatter(y, o, ct.gather(x, o + T))\n",  # the last block's tile is wholly outside
        LANES + "    ct.scatter(y, o, ct.gather(x, o + 1))\n",  # not aligned
        LANES + "    ct.scatter(y, o, ct.gather(x, o + n))\n",
        LANES + "    ct.scatter(y, o, ct.gather(x, o * 2))\n",
        LANES + "    ct.scatter(y, o, ct.gather(x, (ct.bid(0) * T).astype(ct.int16) + ct.arange(T, dtype=ct.int16)))\n",
    ],
)
def test_other_addresses_stay_pointers(body: str) -> None:
    assert lifted(body)[0] == ["gather", "store_view"]


def test_narrow_lanes_that_wrap_stay_pointers() -> None:
    body = "    o = ct.arange(256, dtype=ct.int8)\n    ct.scatter(y, o, ct.gather(x, o))\n"
    assert lifted(body)[0] == ["gather", "scatter"]


def test_a_grid_that_may_be_larger_keeps_pointers() -> None:
    body = LANES + "    ct.scatter(y, o, ct.gather(x, o))\n"
    assert lifted(body, ((GridFactor("N", 8),),))[0] == ["gather", "scatter"]
    assert lifted(body, ((GridFactor("K", 16),),))[0] == ["gather", "scatter"]


def test_a_masked_scatter_stays_but_a_masked_gather_is_selected() -> None:
    memory, found, _ = lifted(LANES + "    ct.scatter(y, o, ct.gather(x, o, mask=o > n), mask=o > n)\n")
    assert memory == ["load_view", "scatter"]
    assert any(o.opcode == "select" for o in found)


def test_rows_and_loops_over_tiles() -> None:
    body = (
        "    r = ct.bid(0)\n    for j in range(ct.cdiv(x.shape[1], T)):\n"
        "        o = j * T + ct.arange(T, dtype=ct.int32)\n"
        "        ct.scatter(y, (r, o), ct.gather(x, (r, o)))\n"
    )
    memory, found, facts = lifted(body, ROWS, 2)
    assert memory == ["load_view", "store_view"] and facts == ()
    assert view_of(found, "store_view") == "view<1xTxf32>"


def test_a_row_that_may_be_outside_is_clamped_for_loads_only() -> None:
    body = (
        "    r = ct.bid(0) + n\n    o = ct.arange(T, dtype=ct.int32)\n"
        "    ct.scatter(y, (r, o), ct.gather(x, (r, o), padding_value=1.0))\n"
    )
    memory, found, _ = lifted(body, ROWS, 2)
    assert memory == ["load_view", "scatter"]
    assert [o.opcode for o in found if o.opcode in ("mini", "maxi")] == ["mini", "maxi"]
    assert sorted(str(o.attribute("predicate")) for o in found if o.opcode == "cmpi")[-1] == "less_than"


def test_a_transposed_gather_is_a_permuted_view_and_a_transposed_scatter_is_not() -> None:
    grid = ((GridFactor("M", 16),), (GridFactor("N", 16),))
    head = LANES + "    p = ct.bid(1) * T + ct.arange(T, dtype=ct.int32)\n"
    body = head + "    t = ct.gather(x, (o[None, :], p[:, None]))\n    ct.scatter(y, (o[None, :], p[:, None]), t)\n"
    memory, found, _ = lifted(body, grid, 2)
    assert memory == ["load_view", "scatter"]
    assert view_of(found, "load_view") == "view<TxTxf32, dim_map=[1, 0], padding=zero>"


def test_a_promise_to_stay_inside_needs_no_bound_but_is_said() -> None:
    body = LANES + "    ct.scatter(y, o, ct.gather(x, o + T, check_bounds=False))\n"
    memory, _, facts = lifted(body)
    assert memory == ["load_view", "store_view"]
    assert facts == ("x is accessed within its bounds",)


def test_a_promise_is_none_where_the_array_is_also_accessed_with_a_check() -> None:
    body = LANES + "    ct.scatter(y, o, ct.gather(x, o, check_bounds=False) + ct.gather(x, o * 2))\n"
    assert lifted(body)[0] == ["gather", "gather", "store_view"]


def test_a_loop_from_below_zero_is_not_lifted() -> None:
    """Its first gathers are wholly outside: padding in the Python, undefined in a view. A constant with a sign is no
    extent, so it is a plain number."""
    body = (
        "    for j in range(n0, ct.cdiv(x.shape[0], T)):\n"
        "        ct.store(y, (0,), ct.gather(x, j * T + ct.arange(T, dtype=ct.int32)))\n"
    )
    for start in ("-3", "START"):
        source = f"@ct.kernel\ndef k(x, y, T, START):\n{body.replace('n0', start)}"
        lowering = lower(source, x="f32[1]", y="f32[1]", T=16, START=-3)
        assert lowering.program is not None, lowering.diagnostics
        arguments = (
            ArrayArgument("x", dtypes.F32, ("N",), Source.DIRECTIVE),
            ArrayArgument("y", dtypes.F32, ("N",), Source.DIRECTIVE),
            ConstantArgument("T", 16, Source.DIRECTIVE),
            ConstantArgument("START", -3, Source.DIRECTIVE),
        )
        program, facts = lift_views(lowering.program, Signature("k", arguments, GRID))
        assert "gather" in [o.opcode for o in operations(program.body)] and facts == ()

"""The reader is total over what the compilers emit, and precise about what it does not know."""

from __future__ import annotations

import pytest
from ferrotile_runner.tileir.model import Location, PartitionViewType, walk
from ferrotile_runner.tileir.reader import ReadError, read
from tileir_support import PAIRS, kernel, load, text


@pytest.mark.parametrize("side", ["py", "rs"])
@pytest.mark.parametrize("name", sorted(PAIRS))
def test_reads_every_operation(name: str, side: str) -> None:
    source = text(name, side)
    count = sum(1 for _ in walk(read(source).entry().body))
    printed = [line.strip() for line in source.split("\n")[1:] if line.strip()]
    assert count == sum(1 for line in printed if not line.startswith(("}", "(")))


def test_operands_have_roles() -> None:
    found = [op for op in walk(read(kernel(load("a", "xv", padding="nan"))).entry().body) if op.name == "load_view_tko"]
    (operation,) = found
    assert operation.one("index").name == "%bx"
    assert operation.one("token").name == "%t"
    view = operation.one("view").type
    assert isinstance(view, PartitionViewType)
    assert (view.tile, view.padding, view.dim_map) == ((16,), "nan", (0,))


def test_locations_are_resolved() -> None:
    source = """entry @k(%a: tile<i32>) {
  %c = constant <i32: 1> : tile<i32> loc(#loc2)
  return loc(#loc)
} loc(#loc2)
#loc = loc(unknown)
#loc1 = loc("k.py":7:4)
#loc2 = #cuda_tile.di_loc<#loc1 in #di_subprogram>
"""
    first, last = read(source).entry().body.operations
    assert first.location == Location("k.py", 7, 4)
    assert last.location is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  %r = frobnicate %n : tile<i32>", "unknown operation"),
        ("  %r = addi %n, %nowhere : tile<i32>", "not defined"),
        ("  %r = addi %n, %m sideways : tile<i32>", "unknown word"),
        ("  %r = addi %n, %m, %xs : tile<i32>", "too many operands"),
        ("  %r = addi %n, %m : tail<i32>", "unknown type"),
        (
            load("a", "xv").replace("token = %t : partition_view<tile=(16)", "token = %t : partition_view<tile=(32)"),
            "not that of its definition",
        ),
    ],
)
def test_what_is_unknown_is_an_error_with_its_line(body: str, message: str) -> None:
    with pytest.raises(ReadError, match=message) as caught:
        read(kernel(body))
    assert caught.value.line >= 6

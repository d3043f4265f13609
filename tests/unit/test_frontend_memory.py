"""Element accesses, parts of arrays and views as kernel programs."""

from __future__ import annotations

import pytest
from frontend_support import problems, text_of

HEAD = "@ct.kernel\ndef k(x, i, T):\n    o = ct.load(i, 0, T)\n"


def memory_of(body: str, **types: str) -> list[str]:
    """The lines with element accesses, without their result's name."""
    arguments: dict[str, str | int] = {"x": "f32[2]", "i": "i32[1]", **types, "T": 16}
    kinds = ("gather", "scatter", "atomic", "slice", "special", "reduce_view", "load_view", "store_view")
    lines = text_of(HEAD + body, **arguments)
    found = [line.partition(" = ")[2] if " = " in line.split("{")[0] else line for line in lines]
    return [line for line in found if line.startswith(kinds) and not (line.startswith("load") and "i32" in line)]


def test_a_gather_has_an_index_for_each_axis_a_mask_and_a_padding() -> None:
    body = "    n = ct.num_blocks(0)\n    ct.scatter(x, (n, o), ct.gather(x, (o, 3), mask=o > 1, padding_value=2))\n"
    gather, scatter = memory_of(body)
    assert gather.startswith("gather %x, %o, ")
    assert gather.endswith("{bounds = true, masked = true, padded = true} : tile<Txf32>")
    assert scatter.startswith("scatter %x, %n, %o, ") and scatter.endswith("{bounds = true}")


def test_without_bounds_and_mask_there_is_no_padding() -> None:
    (gather, _) = memory_of("    ct.scatter(x, (0, o), ct.gather(x, (0, o), check_bounds=False), check_bounds=False)\n")
    assert "{" not in gather


def test_raw_memory_has_one_offset() -> None:
    body = "    m = x.get_raw_memory()\n    m.store_offset(o, m.load_offset(o + 1, mask=o > 2, padding_value=1.0))\n"
    gather, scatter = memory_of(body)
    assert "{linear = true, masked = true, padded = true}" in gather
    assert scatter.startswith("scatter %x, %o, ") and scatter.endswith("{linear = true}")


def test_atomics_say_mode_order_and_scope() -> None:
    body = "    a = ct.atomic_max(x, (o, 0), 3)\n"
    body += "    ct.atomic_cas(x, (o, 0), a, 4, memory_order=ct.MemoryOrder.RELAXED)\n"
    rmw, cas = memory_of(body, x="i32[2]")
    assert rmw.endswith("{bounds = true, mode = max, memory_order = acq_rel, memory_scope = device} : tile<Txi32>")
    assert "memory_order = relaxed, memory_scope = device" in cas and cas.startswith("atomic_cas %x, %o, ")


def test_parts_keep_the_rank_and_views_go_through_them() -> None:
    body = "    p = x.slice(-1, 2, x.shape[1])\n    t = ct.load(p, (0, 1), (1, T))\n    ct.store(p, (0, 0), t)\n"
    part, load, store = memory_of(body)
    assert part.startswith("slice %x, ") and part.endswith("{axis = 1} : array<?x?xf32>")
    assert load.endswith(": tile<1xTxf32>") and store.startswith("store_view ")


def test_overlapping_and_indexed_views() -> None:
    body = (
        "    v = x.tiled_view((1, T), traversal_steps=(1, 8), padding_mode=ct.PaddingMode.NAN)\n"
        "    a = v.load((0, 1))\n    ct.store_advanced_indexing(x, (o, ct.Slice(3, 1)), a.reshape((T, 1)))\n"
        "    x.tiled_view((1, T)).atomic_store_add((0, 0), a)\n"
    )
    text = text_of(HEAD + body, x="f32[2]", i="i32[1]", T=16)
    assert any("view<1xTxf32, padding=nan, steps=[1, 8]>" in line for line in text)
    assert any("view<Tx1xf32, sparse=0>" in line for line in text)
    assert any(line.startswith("reduce_view ") and "mode = add" in line for line in text)


def test_check_bounds_of_views_promises_nothing_more() -> None:
    body = "    t = ct.load(x, (0, 1), (1, T), check_bounds=False)\n    ct.store(x, (0, 0), t, check_bounds=False)\n"
    load, store = memory_of(body)
    assert "{" not in load and "{" not in store


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("ct.gather(x, o)", ("FT204", "o")),
        ("ct.gather(x, (o, 1.5))", ("FT203", "(o, 1.5)")),
        ("ct.gather(x, (o, o), mask=1)", ("FT203", "1")),
        ("ct.gather(x, (0, 0), padding_value=o)", ("FT204", "o")),
        ("ct.gather(i, 0, padding_value=1.5)", ("FT206", "ct.gather(i, 0, padding_value=1.5)")),
        ("ct.scatter(x, (o, 0), ct.zeros((4, T), ct.float32))", ("FT204", "ct.zeros((4, T), ct.float32)")),
        ("ct.atomic_and(x, (o, o), 1)", ("FT203", "x")),
        ("ct.atomic_xor(i, o, ct.int64(1))", ("FT203", "ct.int64(1)")),
        ("ct.atomic_add(i, o, 1, memory_order=ct.MemoryOrder.WEAK)", ("FT205", "ct.MemoryOrder.WEAK")),
        ("x.slice(2, 0, 1)", ("FT204", "2")),
        ("x.nothing", ("FT205", "x.nothing")),
    ],
)
def test_refused(statement: str, expected: tuple[str, str]) -> None:
    assert problems(HEAD + f"    {statement}\n", x="f32[2]", i="i32[1]", T=16) == [expected]

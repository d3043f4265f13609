"""The printed form of a module, and what the verifier refuses."""

from __future__ import annotations

import re

import pytest
from ferrotile_runner.tileir.model import Operation, walk
from ferrotile_runner.tileir.operations import TABLE
from ferrotile_runner.tileir.printer import print_module
from ferrotile_runner.tileir.reader import ReadError, read
from tileir_support import PAIRS, kernel, load, store, text

MANY = kernel(
    "\n".join(
        (
            load("a", "xv", padding="nan"),
            "  %c = constant <f32: [1.0, 2.0]> : tile<2xf32>",
            "  %r1 = reshape %a : tile<16xf32> -> tile<4x4xf32>",
            "  %r2 = permute %r1 [1, 0] : tile<4x4xf32> -> tile<4x4xf32>",
            "  %r3 = cat %r1, %r2 dim = 1 : tile<4x4xf32>, tile<4x4xf32> -> tile<4x8xf32>",
            "  %o = constant <i32: 0> : tile<i32>",
            "  %r4 = extract %r3[%o, %o] : tile<4x8xf32> -> tile<2x4xf32>",
            "  %r5 = insert %r4, %r1[%o, %o] : tile<2x4xf32>, tile<4x4xf32>",
            "  %r6 = mmaf %r5, %r1, %r2 fast_acc : tile<4x4xf32>, tile<4x4xf32>, tile<4x4xf32>",
            "  %n1 = iota : tile<16xi32>",
            "  %p1 = fpowi %a, %n1 : tile<16xf32>, tile<16xi32>",
            "  %d1 = divf %p1, %a rounding<approx> flush_to_zero : tile<16xf32>",
            "  %k8 = trunci %n1 overflow<no_unsigned_wrap> : tile<16xi32> -> tile<16xi8>",
            "  %pk = pack %d1 : tile<16xf32> -> tile<64xi8>",
            '  %pr = print_tko "%f", %d1 token=%t : tile<16xf32> -> token',
            "  %w = gdc_wait_tko token = %pr -> token",
            "  %q = cmpf less_than unordered %a, %d1 : tile<16xf32> -> tile<16xi1>",
            '  assert %q, "less" : tile<16xi1>',
            "  %sel = select %q, %a, %d1 : tile<16xi1>, tile<16xf32>",
            "  %sc:2 = scan %sel, %n1 dim=0 reverse=true identities=[0.0 : f32, 9] : tile<16xf32>, tile<16xi32>"
            " -> tile<16xf32>, tile<16xi32>",
            "  (%l0: tile<f32>, %m0: tile<f32>, %l1: tile<i32>, %m1: tile<i32>) {",
            "    %s0 = addf %l0, %m0 : tile<f32>",
            "    %s1 = maxi %l1, %m1 signed : tile<i32>",
            "    yield %s0, %s1 : tile<f32>, tile<i32>",
            "  }",
            "  %one = constant <i32: 1> : tile<i32>",
            "  %lo:2 = loop iter_values(%i = %o, %v = %a) : tile<i32>, tile<16xf32> -> tile<i32>, tile<16xf32> {",
            "    %go = cmpi less_than %i, %one, signed : tile<i32> -> tile<i1>",
            "    if %go {",
            "    } else {",
            "      break %i, %v : tile<i32>, tile<16xf32>",
            "    }",
            "    %i2 = addi %i, %one : tile<i32>",
            "    continue %i2, %v : tile<i32>, tile<16xf32>",
            "  }",
            store("%sc#0", "yv", token="%w"),
        )
    )
)


def same(a: Operation, b: Operation) -> bool:
    operands = [{role: [v.number for v in values] for role, values in op.named.items()} for op in (a, b)]
    hidden = {"optimization_hints"}
    attributes = [{k: v for k, v in op.attributes.items() if k not in hidden} for op in (a, b)]
    types = [[v.type for v in op.results] for op in (a, b)]
    return a.name == b.name and operands[0] == operands[1] and attributes[0] == attributes[1] and types[0] == types[1]


@pytest.mark.parametrize("source", [MANY, *(text(name, side) for name in sorted(PAIRS) for side in ("py", "rs"))])
def test_printing_and_reading_lose_nothing(source: str) -> None:
    module = read(source)
    printed = print_module(module)
    again = read(printed)
    assert print_module(again) == printed
    pairs = zip(walk(module.entry().body), walk(again.entry().body), strict=True)
    assert [(a.text_line, a.name) for a, b in pairs if not same(a, b)] == []


def test_names_do_not_show() -> None:
    renamed = re.sub(r"%(a|b|c|r\d|n1|p1)\b", r"%other_\1", MANY)
    assert renamed != MANY
    assert print_module(read(renamed)) == print_module(read(MANY))


def test_the_table_names_each_operation_once_and_its_roles_are_distinct() -> None:
    for row in TABLE.values():
        roles = [role.rstrip("?*") for role in row.roles]
        assert len(set(roles)) == len(roles)
        assert not row.like or row.like in roles


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  %r = reshape %a : tile<16xf32> -> tile<15xf32>", "reshape"),
        ("  %r = broadcast %a : tile<16xf32> -> tile<32xf32>", "broadcast"),
        ("  %b = bitcast %a : tile<16xf32> -> tile<16xi32>\n  %r = addf %b, %b : tile<16xi32>", "addf"),
        ("  %r = addi %a, %a : tile<16xf32>", "addi"),
        ("  %i = iota : tile<8xi32>\n  %j = iota : tile<16xi32>\n  %r = addi %i, %j : tile<16xi32>", "shapes"),
        ("  %r = mmaf %a, %a, %a : tile<16xf32>, tile<16xf32>, tile<16xf32>", "mmaf"),
        ("  %r = negf %a : tile<16xf32>\n  return\n  %s2 = negf %a : tile<16xf32>", "not the last"),
        ("  %q = cmpf less_than ordered %a, %a : tile<16xf32> -> tile<16xi1>\n  if %q {\n  }", "not a i1"),
        (
            "  %z = constant <i32: 0> : tile<i32>\n"
            "  %f = for %k in (%z to %n, step %m) : tile<i32> iter_values(%w = %a) -> (tile<16xf32>) {\n  }",
            "ends without",
        ),
        (
            "  %z = constant <i32: 0> : tile<i32>\n"
            "  %f = for %k in (%z to %n, step %m) : tile<i32> iter_values(%w = %a) -> (tile<16xf32>) {\n"
            "    continue %k : tile<i32>\n  }",
            "do not fit",
        ),
        (
            "  %f = reduce %a dim=1 identities=[0.0 : f32] : tile<16xf32> -> tile<f32>\n"
            "  (%p: tile<f32>, %q: tile<f32>) {\n    %s1 = addf %p, %q : tile<f32>\n    yield %s1 : tile<f32>\n  }",
            "no axis",
        ),
        (store("%a", "yv", "%bx, %bx"), "index"),
    ],
)
def test_what_tile_ir_does_not_allow_is_refused_with_its_line(body: str, message: str) -> None:
    with pytest.raises(ReadError, match=message) as caught:
        read(kernel("\n".join((load("a", "xv"), body))))
    assert caught.value.line > 1

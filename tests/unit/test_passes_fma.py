"""Multiply-add contraction: what cuTile Python's compiler fuses, and nothing else."""

from __future__ import annotations

import pytest
from ferrotile.passes.fma import contract
from ferrotile.passes.uses import eliminate_dead
from ferrotile.program.dtypes import F32
from ferrotile.program.ir import Attribute, Block, End, Operation, Parameter, Program, Terminator, Value
from ferrotile.program.types import ArrayType, Size, TileType, ViewType

TILE = TileType(F32, (Size(16),))
A, B, C, D = (Value(n, TILE, name) for n, name in enumerate("abcd", 1))
Z = Value(9, ArrayType(F32, 1), "z")


def program(*operations: Operation) -> Program:
    """The operations, and a store of the last one's result."""
    view = Value(90, ViewType(F32, (Size(16),), (0,)))
    make = Operation("make_view", (Z,), (view,))
    store = Operation("store_view", (view, operations[-1].result, A), ())
    parameters = tuple(Parameter(v.name or "", v) for v in (A, B, C, D, Z))
    body = Block((*operations, make, store), Terminator(End.RETURN))
    return eliminate_dead(Program("k", parameters, (), body))


def op(code: str, number: int, *operands: Value, **attributes: Attribute) -> Operation:
    return Operation(code, operands, (Value(number, TILE),), tuple(attributes.items()))


def opcodes(p: Program) -> list[str]:
    return [s.opcode for s in p.body.statements if isinstance(s, Operation)][:-2]


def operands(p: Program) -> list[int]:
    return next([v.id for v in s.operands] for s in p.body.statements if isinstance(s, Operation) and s.opcode == "fma")


def test_a_sum_fuses_the_product_on_either_side() -> None:
    product = op("mulf", 20, A, B)
    for pair in ((product.result, C), (C, product.result)):
        fused = contract(program(product, op("addf", 21, *pair)))
        assert opcodes(fused) == ["fma"]
        assert operands(fused) == [A.id, B.id, C.id]


def test_a_difference_negates_what_is_taken_away() -> None:
    product = op("mulf", 20, A, B)
    minus_c = contract(program(product, op("subf", 21, product.result, C)))
    assert opcodes(minus_c) == ["negf", "fma"]
    assert operands(minus_c)[:2] == [A.id, B.id]
    from_c = contract(program(product, op("subf", 21, C, product.result)))
    assert opcodes(from_c) == ["negf", "fma"]
    assert operands(from_c)[1:] == [B.id, C.id]


def test_of_two_products_the_left_one_is_fused() -> None:
    left, right = op("mulf", 20, A, B), op("mulf", 21, C, D)
    fused = contract(program(left, right, op("addf", 22, left.result, right.result)))
    assert opcodes(fused) == ["mulf", "fma"]
    assert operands(fused) == [A.id, B.id, 21]


def test_a_product_with_two_uses_stays() -> None:
    product = op("mulf", 20, A, B)
    total = op("addf", 21, product.result, C)
    both = program(product, total, op("divf", 22, total.result, product.result))
    assert opcodes(contract(both)) == ["mulf", "addf", "divf"]


@pytest.mark.parametrize("mode", [{"rounding": "zero"}, {"ftz": True}])
def test_modes_must_agree(mode: dict[str, Attribute]) -> None:
    product = op("mulf", 20, A, B, **mode)
    assert "fma" not in opcodes(contract(program(product, op("addf", 21, product.result, C))))
    assert opcodes(contract(program(product, op("addf", 21, product.result, C, **mode)))) == ["fma"]


def test_dead_code_does_not_count_as_a_use() -> None:
    product = op("mulf", 20, A, B)
    dead = op("exp", 23, product.result)
    assert opcodes(contract(program(product, dead, op("addf", 21, product.result, C)))) == ["fma"]

"""Expansions of what cutile 0.5 cannot say: what is left afterwards, and that constants stand for neutral elements."""

from __future__ import annotations

import struct
from collections import Counter

import pytest
from ferrotile.passes.expansions import expand, identity_bits
from ferrotile.passes.uses import operations
from ferrotile.program.dtypes import BF16, F16, F32, F64, I8, I32, U8, U32, DType
from ferrotile.program.ir import Program
from ferrotile.program.verifier import verify
from frontend_support import lower

_KERNEL = """
@ct.kernel
def k(x, z):
    a = ct.load(x, (0, 0), (4, 8))
    ct.store(z, (0, 0), {})
"""


def _expanded(expression: str, x: str, z: str) -> Program:
    program = lower(_KERNEL.format(expression), x=f"{x}[2]", z=f"{z}[2]").program
    assert program is not None
    expanded = expand(program)
    assert verify(expanded) == ()
    return expanded


def _count(program: Program) -> Counter[str]:
    return Counter(o.opcode for o in operations(program.body))


@pytest.mark.parametrize("dtype", ["i16", "u16"])
@pytest.mark.parametrize("symbol", ["+", "-", "*", "<<"])
def test_narrow_arithmetic_is_done_in_32_bits(dtype: str, symbol: str) -> None:
    program = _expanded(f"a {symbol} a", dtype, dtype)
    wide = {"i16": "i32", "u16": "u32"}[dtype]
    opcode = {"+": "addi", "-": "subi", "*": "muli", "<<": "shli"}[symbol]
    (done,) = [o for o in operations(program.body) if o.opcode == opcode]
    assert f"x{wide}>" in str(done.result.type)
    assert _count(program)["trunci"] == 1 and _count(program)["exti"] == 2


def test_wide_arithmetic_is_left_alone() -> None:
    assert _count(_expanded("a + a", "i32", "i32"))["exti"] == 0


@pytest.mark.parametrize("function", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "u16"])
def test_narrow_reductions_are_widened(function: str, dtype: str) -> None:
    program = _expanded(f"ct.{function}(a, axis=1, keepdims=True)", dtype, dtype)
    (done,) = [o for o in operations(program.body) if o.opcode == "reduce"]
    assert str(done.result.type).endswith(f"{'u32' if dtype[0] == 'u' else 'i32'}>")


def test_a_scan_of_another_axis_is_permuted() -> None:
    program = _expanded("ct.cumsum(a, axis=1)", "f32", "f32")
    (scan,) = [o for o in operations(program.body) if o.opcode == "scan"]
    assert scan.attribute("axis") == 0 and _count(program)["permute"] == 2


def test_a_running_product_runs_on_bits_in_which_zero_is_one() -> None:
    program = _expanded("ct.cumprod(a)", "f32", "f32")
    (scan,) = [o for o in operations(program.body) if o.opcode == "scan"]
    assert scan.attribute("key") == struct.unpack("<i", struct.pack("<f", 1.0))[0]
    assert _count(program)["xori"] == 2 and _count(program)["bitcast"] == 2


@pytest.mark.parametrize("call", ["ct.argmax(a, axis=1, keepdims=True)", "ct.argmin(a, axis=0, keepdims=True)"])
def test_arg_reductions_become_plain_ones(call: str) -> None:
    program = _expanded(call, "f32", "i32")
    functions = [o.attribute("function") for o in operations(program.body) if o.opcode == "reduce"]
    assert functions == ["max" if "max" in call else "min", "min"]


@pytest.mark.parametrize(
    ("function", "dtype", "bits"),
    [
        ("sum", F32, 0),
        ("xor", I32, 0),
        ("and", U8, -1),
        ("prod", F16, 0x3C00),
        ("prod", BF16, 0x3F80),
        ("prod", F64, 0x3FF0000000000000),
        ("prod", I8, 1),
        ("max", F32, 0xFF800000 - 2**32),
        ("min", BF16, 0x7F80),
        ("max", I8, -128),
        ("min", I32, 2**31 - 1),
        ("max", U32, 0),
        ("min", U32, -1),
    ],
)
def test_neutral_elements(function: str, dtype: DType, bits: int) -> None:
    assert identity_bits(function, dtype) == bits

"""Reductions and scans in another representation of their lanes (T8, T9, T10), and folded constants; with mutants."""

from __future__ import annotations

import numpy as np
import pytest
from ferrotile_runner.tileir.literals import compare_floats, literal, recast
from test_equivalence_lemmas import integers
from tileir_support import proof_of

WORDS = "x:N y:N"


def combined(kind: str, operand: str, element: str, identity: str, *body: str) -> str:
    """`%g`, a scan or the reduction of `operand`. The body yields `%h` of `%p` and `%q`."""
    result = f"tile<16x{element}>" if kind == "scan" else f"tile<{element}>"
    reverse = " reverse=false" if kind == "scan" else ""
    lines = "\n".join(f"    {line}" for line in body)
    return (
        f"  %g = {kind} {operand} dim=0{reverse} identities=[{identity} : {element}]"
        f" : tile<16x{element}> -> {result}\n"
        f"  (%p: tile<{element}>, %q: tile<{element}>) {{\n{lines}\n    yield %h : tile<{element}>\n  }}"
    )


SPREAD = (
    "  %one = reshape {0} : tile<{1}> -> tile<1x{1}>",
    "  %r = broadcast %one : tile<1x{1}> -> tile<16x{1}>",
)


def spread(name: str, element: str) -> str:
    return "\n".join(SPREAD).format(name, element)


def narrow(identity: str, body: str) -> str:
    return integers(combined("reduce", "%a", "i16", identity, f"%h = {body} : tile<i16>"), spread("%g", "i16"))


def wide(identity: str, body: str, extension: str = "signed") -> str:
    return integers(
        f"  %u = exti %a {extension} : tile<16xi16> -> tile<16xi32>",
        combined("reduce", "%u", "i32", identity, f"%h = {body} : tile<i32>"),
        "  %low = trunci %g : tile<i32> -> tile<i16>",
        spread("%low", "i16"),
    )


@pytest.mark.parametrize("extension", ["signed", "unsigned"])
@pytest.mark.parametrize(("op", "identity"), [("addi", 0), ("muli", 1), ("andi", -1), ("ori", 0), ("xori", 0)])
def test_low_bits_of_a_combination_are_the_combination_of_low_bits(op: str, identity: int, extension: str) -> None:
    python = narrow(str(identity), f"{op} %p, %q")
    assert proof_of(python, wide(str(identity), f"{op} %p, %q", extension), WORDS).equal
    assert proof_of(python, wide(str(identity + 65536), f"{op} %p, %q", extension), WORDS).equal
    assert not proof_of(python, wide(str(identity + 2), f"{op} %p, %q", extension), WORDS).equal
    assert not proof_of(python, wide(str(identity), "subi %p, %q", extension), WORDS).equal


@pytest.mark.parametrize("op", ["shri %p, %q signed", "divi %p, %q signed", "maxi %p, %q signed"])
def test_operations_that_look_at_high_bits_are_not_cut(op: str) -> None:
    assert not proof_of(narrow("0", op), wide("0", op), WORDS).equal


@pytest.mark.parametrize(
    ("own", "op", "identity", "extension", "good"),
    [
        ("-32768", "maxi %p, %q signed", "-2147483648", "signed", True),
        ("32767", "mini %p, %q signed", "2147483647", "signed", True),
        ("32767", "mini %p, %q signed", "32767", "signed", True),
        ("-32768", "maxi %p, %q signed", "-32767", "signed", False),
        ("-32768", "maxi %p, %q signed", "0", "signed", False),
        ("32767", "mini %p, %q signed", "32766", "signed", False),
        ("-32768", "maxi %p, %q signed", "-2147483648", "unsigned", False),
        ("-32768", "maxi %p, %q unsigned", "0", "signed", False),
        ("-32768", "mini %p, %q signed", "2147483647", "signed", False),
    ],
)
def test_extremes_of_extended_values(own: str, op: str, identity: str, extension: str, good: bool) -> None:
    python = narrow(own, op.replace("unsigned", "signed"))
    assert proof_of(python, wide(identity, op, extension), WORDS).equal is good


def test_unsigned_extremes_of_zero_extended_values() -> None:
    python = narrow("0", "maxi %p, %q unsigned")
    for good in ("-2147483648", "0", "-5"):
        assert proof_of(python, wide(good, "maxi %p, %q signed", "unsigned"), WORDS).equal
    assert not proof_of(python, wide("1", "maxi %p, %q signed", "unsigned"), WORDS).equal
    assert not proof_of(
        narrow("-32768", "maxi %p, %q signed"), wide("0", "maxi %p, %q signed", "unsigned"), WORDS
    ).equal


def product(identity: str = "1") -> str:
    return integers(combined("scan", "%a", "i32", identity, "%h = muli %p, %q : tile<i32>"), element="i32").replace(
        "%r, %q", "%g, %q"
    )


def conjugated(before: int = 1, left: int = 1, right: int = 1, after: int = 1, behind: int = 1, start: int = 0) -> str:
    """The product of lanes, each kept as `x xor 1`, so that the identity is 0."""
    names = {"before": before, "left": left, "right": right, "after": after, "behind": behind}
    scalars = (f"  %k{name} = constant <i32: {value}> : tile<i32>" for name, value in names.items())
    return integers(
        *scalars,
        f"  %vb = constant <i32: {before}> : tile<16xi32>",
        f"  %vh = constant <i32: {behind}> : tile<16xi32>",
        "  %x1 = xori %a, %vb : tile<16xi32>",
        combined(
            "scan",
            "%x1",
            "i32",
            str(start),
            "%i1 = xori %p, %kleft : tile<i32>",
            "%i2 = xori %q, %kright : tile<i32>",
            "%i3 = muli %i1, %i2 : tile<i32>",
            "%h = xori %i3, %kafter : tile<i32>",
        ),
        "  %r = xori %g, %vh : tile<16xi32>",
        element="i32",
    )


def test_a_scan_under_a_key_is_the_scan() -> None:
    assert proof_of(product(), conjugated(), WORDS).equal
    assert proof_of(product("6"), conjugated(7, 7, 7, 7, 7, start=1), WORDS).equal


@pytest.mark.parametrize("place", ["before", "left", "right", "after", "behind"])
def test_another_key_in_one_place_is_refused(place: str) -> None:
    assert not proof_of(product(), conjugated(**{place: 3}), WORDS).equal


def test_another_start_under_the_key_is_refused() -> None:
    assert not proof_of(product(), conjugated(start=1), WORDS).equal


def recasted(op: str = "mulf %f1, %f2", start: str = "1065353216", inner: str = "%p") -> str:
    return integers(
        "  %x1 = bitcast %a : tile<16xf32> -> tile<16xi32>",
        combined(
            "scan",
            "%x1",
            "i32",
            start,
            f"%f1 = bitcast {inner} : tile<i32> -> tile<f32>",
            "%f2 = bitcast %q : tile<i32> -> tile<f32>",
            f"%f3 = {op} : tile<f32>",
            "%h = bitcast %f3 : tile<f32> -> tile<i32>",
        ),
        "  %r = bitcast %g : tile<16xi32> -> tile<16xf32>",
        element="f32",
    )


def test_a_scan_of_bits_is_the_scan_of_floats() -> None:
    body = combined("scan", "%a", "f32", "1.0", "%h = mulf %p, %q : tile<f32>")
    plain = integers(body, "  %r = bitcast %g : tile<16xf32> -> tile<16xf32>", element="f32")
    assert proof_of(plain, recasted(), WORDS).equal
    assert not proof_of(plain, recasted("mulf %f2, %f1"), WORDS).equal
    assert not proof_of(plain, recasted("addf %f1, %f2"), WORDS).equal
    assert not proof_of(plain, recasted(start="0"), WORDS).equal
    assert not proof_of(plain, recasted(inner="%q"), WORDS).equal


@pytest.mark.parametrize(
    ("bits", "source", "target", "value"),
    [
        (2143289344, "i32", "f32", 0x7FC00000),
        (-1, "i32", "f32", 0xFFFFFFFF),
        (0xBF800000, "f32", "i32", 0xBF800000 - 2**32),
        (-128, "i8", "f8E8M0FNU", 0x80),
        (1, "i16", "f32", None),
        (1, "i32", "tf32", None),
    ],
)
def test_bits_of_constants(bits: int, source: str, target: str, value: int | None) -> None:
    assert recast(bits, source, target) == value


@pytest.mark.parametrize("predicate", ["equal", "not_equal", "less_than", "less_than_or_equal", "greater_than"])
def test_comparisons_of_float_constants(predicate: str) -> None:
    functions = {
        "equal": np.equal,
        "not_equal": np.not_equal,
        "less_than": np.less,
        "less_than_or_equal": np.less_equal,
        "greater_than": np.greater,
    }
    values = np.array([0.0, -0.0, 1.5, -np.inf, 1e-45, np.nan], np.float32)
    for x in values:
        for y in values:
            numbers = not (np.isnan(x) or np.isnan(y))
            for ordering, of_nan in (("ordered", False), ("unordered", True)):
                expected = bool(functions[predicate](x, y)) if numbers else of_nan
                found = compare_floats(f"{predicate} {ordering}", int(x.view("u4")), int(y.view("u4")), "f32")
                assert found is expected


def test_texts_of_tf32_are_the_nearest_value() -> None:
    """0.1 as a tf32 is 0x3dccc000; its text has seven digits."""
    assert literal("9.997559E-02", "tf32") == 0x3DCCC000
    assert literal("1.000000e+00", "tf32") == 0x3F800000

"""What two programs differ in, in words: written down by hand from the two texts."""

from __future__ import annotations

import pytest
from ferrotile_runner.tileir.literals import number
from tileir_support import COMMON, kernel, load, part, proof_of, store

WORDS = "x:N y:N"
CONSTANTS = "\n".join(f"  %c{n} = constant <i32: {n}> : tile<i32>" for n in (0, 1, 2, 4))


def text(*parts: str) -> str:
    return kernel("\n".join((CONSTANTS, *parts)))


def binary(line: str, last: str = "%r") -> str:
    """r of a = x[bid.x] and b = y[bid.x], to y."""
    loads = (load("a", "xv", padding="zero"), load("b", "yv", padding="zero"))
    return text(*loads, f"  %r = {line} : tile<16xf32>", store(last, "yv", token="%b_t"))


SUB = binary("subf %a, %b")
SUM = binary("addf %a, %b")


def looped(first: str = "%c0", last: str = "%c4", step: str = "%c1", body: str = "%n1", start: str = "%zero") -> str:
    return text(
        "  %zero = constant <f32: 0.000000e+00> : tile<16xf32>",
        "  %half = constant <f32: 5.000000e-01> : tile<16xf32>",
        load("a", "xv", padding="zero"),
        f"  %f = for %k in ({first} to {last}, step {step}) : tile<i32> iter_values(%s = {start}) -> (tile<16xf32>) {{",
        "  %n1 = addf %s, %a : tile<16xf32>",
        "  %n2 = mulf %s, %a : tile<16xf32>",
        f"  continue {body} : tile<16xf32>",
        "  }",
        store("%f", "yv"),
    )


@pytest.mark.parametrize(
    ("python", "rust", "words"),
    [
        (SUB, binary("subf %b, %a"), "y: the operands of `-` are exchanged"),
        (SUB, SUM, "y: the Python computes `-`, the Rust `+`"),
        (SUB, binary("subf %a, %b", "%a"), "y: the Python applies `-` to `x[bid.x]`, the Rust takes it as it is"),
        (
            SUB,
            SUB.replace("%pb = make_partition_view %yv", "%pb = make_partition_view %xv"),
            "y: the Python loads `y`, the Rust `x`",
        ),
        (
            SUB,
            binary("subf %a, %b rounding<zero>"),
            "y: `-` is done with the default in the Python, rounding<zero> in the Rust",
        ),
        (
            SUB,
            text(
                load("a", "xv", padding="zero"),
                load("b", "yv", padding="neg_inf"),
                "  %r = subf %a, %b : tile<16xf32>",
                store("%r", "yv", token="%b_t"),
            ),
            "y: the padding of the load of `y` is `0.0` in the Python, `-inf` in the Rust",
        ),
        (
            SUB,
            SUB.replace("%pa[%bx]", "%pa[%by]"),
            "y: the index of axis 0 of the load of `x` is `bid.x` in the Python, `bid.y` in the Rust",
        ),
        (
            SUB,
            SUB.replace("%qs[%bx]", "%qs[%by]"),
            "y: the index of axis 0 of the store to `y` is `bid.x` in the Python, `bid.y` in the Rust",
        ),
        (SUB, text(), "y: the Python stores to `y` where the Rust does not"),
        (text(), SUB, "y: the Rust stores to `y` where the Python does not"),
        (looped(), looped(first="%c1"), "y: the start of the loop is `0` in the Python, `1` in the Rust"),
        (looped(), looped(last="%c2"), "y: the end of the loop is `4` in the Python, `2` in the Rust"),
        (looped(), looped(step="%c2"), "y: the step of the loop is `1` in the Python, `2` in the Rust"),
        (looped(), looped(body="%n2"), "y: the Python computes `+`, the Rust `*`"),
        (
            looped(),
            looped(start="%half"),
            "y: the start of carried value 0 of the loop is `0.0` in the Python, `0.5` in the Rust",
        ),
    ],
)
def test_one_change_is_named(python: str, rust: str, words: str) -> None:
    difference = proof_of(python, rust, WORDS, *COMMON).difference
    assert difference is not None
    assert f"{difference.effect}: {difference.words}" == words


def test_of_two_differences_the_smaller_one_is_shown() -> None:
    """Both operands of the sum differ; the second one by one constant only."""

    def summed(first: str, factor: str) -> str:
        return text(
            f"  %c = constant <f32: {factor}> : tile<16xf32>",
            load("a", "xv", padding="zero"),
            load("b", "yv", padding="zero"),
            f"  %p = {first} : tile<16xf32>",
            "  %q = mulf %b, %c : tile<16xf32>",
            "  %r = addf %p, %q : tile<16xf32>",
            store("%r", "yv", token="%b_t"),
        )

    difference = proof_of(summed("subf %a, %b", "2.0e+00"), summed("divf %b, %a", "3.0e+00"), WORDS, *COMMON).difference
    assert difference is not None
    assert difference.words == "the second operand of `*` is `2.0` in the Python, `3.0` in the Rust"


def test_an_extra_store_of_a_round_is_named() -> None:
    def stores(*places: str) -> str:
        tokens = ["%w", *(f"%s{n}" for n in range(len(places)))]
        lines = [store("%a", "yv", place, tokens[n], f"s{n}") for n, place in enumerate(places)]
        return text(
            load("a", "xv", padding="zero"),
            "  %f = for %k in (%c0 to %c4, step %c1) : tile<i32> iter_values(%w = %t) -> (token) {",
            *lines,
            f"  continue {tokens[-1]} : token",
            "  }",
        )

    difference = proof_of(stores("%c0", "%c1"), stores("%c0"), WORDS, *COMMON).difference
    assert difference is not None
    assert difference.words == "the Python stores to `y` where the Rust does not"
    assert difference.python is not None and difference.python.words == "y[1] = x[bid.x]"


def test_places_are_those_of_the_operation_that_differs() -> None:
    def placed(text_: str) -> str:
        lines = text_.split("\n")
        row = next(n for n, line in enumerate(lines) if "subf" in line)
        lines[row] += ' loc("kernel.rs":7:3)'
        row = next(n for n, line in enumerate(lines) if "store_view_tko" in line)
        lines[row] += ' loc("kernel.rs":9:0)'
        for number_, row in enumerate(n for n, line in enumerate(lines) if "load_view_tko" in line):
            lines[row] += f' loc("kernel.rs":{number_ + 2}:0)'
        return "\n".join(lines)

    difference = proof_of(placed(SUB), placed(binary("subf %b, %a")), WORDS, *COMMON).difference
    assert difference is not None and difference.python is not None and difference.rust is not None
    for side in (difference.python, difference.rust):
        assert side.location is not None and (side.location.line, side.location.column) == (7, 3)
        assert side.operation == "subf"
    assert (difference.python.words, difference.rust.words) == ("(x[bid.x] - y[bid.x])", "(y[bid.x] - x[bid.x])")
    # Both programs have both loads: the operation that takes another one is to blame.
    other = proof_of(placed(SUB), placed(binary("subf %a, %a")), WORDS, *COMMON).difference
    assert other is not None and other.rust is not None and other.rust.location is not None
    assert (other.rust.location.line, other.rust.words) == (7, "takes x[bid.x]")
    assert other.words == "the second operand of `-` is `y[bid.x]` in the Python, `x[bid.x]` in the Rust"


@pytest.mark.parametrize(
    ("bits", "element", "shown"),
    [
        (0x3F800000, "f32", "1.0"),
        (0xFF800000, "f32", "-inf"),
        (0x3DCCCCCD, "f32", "0.1"),
        (0x3C00, "f16", "1.0"),
        (0xC000, "bf16", "-2.0"),
        (0x7FC00000, "f32", "nan"),
        (0x3FB999999999999A, "f64", "0.1"),
    ],
)
def test_float_constants_are_shown_as_they_are_written(bits: int, element: str, shown: str) -> None:
    assert number(bits, element) == shown


def test_parts_are_of_one_view_type() -> None:
    """The texts above take their view's type from one place."""
    assert part("xv", "zero") in SUB

"""Choices written the other way round, and comparisons that a loop's bounds decide (I4, I10); each with mutants."""

from __future__ import annotations

import pytest
from test_equivalence_combining import combined, spread
from test_equivalence_lemmas import integers
from tileir_support import kernel, load, proof_of, store

WORDS = "x:N y:N"
ELSE = "  } else {\n"
TWO = "  %two = constant <i32: 2> : tile<i32>"


def chosen(then: str, other: str) -> str:
    """`%v`: one of two tiles, by `%c`."""
    ends = (f"  yield {value} : tile<16xf32>\n" for value in (then, other))
    return f"  %v = if %c -> (tile<16xf32>) {{\n{ELSE.join(ends)}  }}"


def branch(compare: str, then: str, other: str) -> str:
    return kernel(
        "\n".join(
            (
                TWO,
                load("a", "xv"),
                "  %b = addf %a, %a : tile<16xf32>",
                f"  %c = cmpi {compare}, signed : tile<i32> -> tile<i1>",
                chosen(then, other),
                store("%v", "yv"),
            )
        )
    )


@pytest.mark.parametrize(
    ("compare", "opposite", "near"),
    [
        ("greater_than %n, %two", "less_than_or_equal %n, %two", "less_than %n, %two"),
        ("greater_than_or_equal %n, %two", "less_than %n, %two", "less_than_or_equal %n, %two"),
        ("equal %n, %two", "not_equal %n, %two", "not_equal %n, %bx"),
    ],
)
def test_a_branch_is_the_other_branch_of_the_opposite(compare: str, opposite: str, near: str) -> None:
    python = branch(compare, "%b", "%a")
    assert proof_of(python, branch(opposite, "%a", "%b"), WORDS).equal
    assert not proof_of(python, branch(opposite, "%b", "%a"), WORDS).equal
    assert not proof_of(python, branch(compare, "%a", "%b"), WORDS).equal
    assert not proof_of(python, branch(near, "%a", "%b"), WORDS).equal


def within(compare: str, then: str, other: str) -> str:
    """A choice within a choice: `%in` is `%b` or `%a` by another condition, `%v` one of two by `compare`."""
    ends = (f"  yield {value} : tile<16xf32>\n" for value in ("%b", "%a"))
    return kernel(
        "\n".join(
            (
                TWO,
                load("a", "xv"),
                "  %b = addf %a, %a : tile<16xf32>",
                "  %d = cmpi less_than %bx, %two, signed : tile<i32> -> tile<i1>",
                f"  %in = if %d -> (tile<16xf32>) {{\n{ELSE.join(ends)}  }}",
                f"  %c = cmpi {compare}, signed : tile<i32> -> tile<i1>",
                chosen(then, other),
                store("%v", "yv"),
            )
        )
    )


def test_a_choice_within_the_other_branch_of_the_opposite() -> None:
    python = within("less_than %n, %two", "%in", "%a")
    assert proof_of(python, within("greater_than_or_equal %n, %two", "%a", "%in"), WORDS).equal
    assert not proof_of(python, within("greater_than %n, %two", "%a", "%in"), WORDS).equal
    assert not proof_of(python, within("greater_than_or_equal %n, %two", "%in", "%a"), WORDS).equal
    assert not proof_of(python, within("greater_than_or_equal %n, %two", "%b", "%in"), WORDS).equal


def rounds(condition: str, first: str = "0", last: str = "3") -> str:
    """A loop whose rounds change the value only under a condition on the variable `%k`."""
    return kernel(
        "\n".join(
            (
                *(f"  %c{n.replace('-', 'm')} = constant <i32: {n}> : tile<i32>" for n in ("-1", "0", "1", "3", "7")),
                "  %true = constant <i1: true> : tile<i1>",
                load("a", "xv"),
                f"  %r = for %k in (%c{first.replace('-', 'm')} to %c{last}, step %c1) : tile<i32>"
                " iter_values(%acc = %a) -> (tile<16xf32>) {",
                "  %b = addf %acc, %a : tile<16xf32>",
                f"  %c = {condition}",
                chosen("%b", "%acc"),
                "  continue %v : tile<16xf32>",
                "  }",
                store("%r", "yv"),
            )
        )
    )


def test_numbers_whose_ranges_do_not_meet_differ() -> None:
    always = "constant <i1: true> : tile<i1>"
    outside = "cmpi not_equal %k, {}, signed : tile<i32> -> tile<i1>"
    assert proof_of(rounds(outside.format("%cm1")), rounds(always), WORDS).equal
    assert proof_of(rounds(outside.format("%c7")), rounds(always), WORDS).equal
    assert proof_of(rounds(outside.format("%c3")), rounds(always), WORDS).equal
    assert not proof_of(rounds(outside.format("%c1")), rounds(always), WORDS).equal
    assert not proof_of(rounds(outside.format("%c0")), rounds(always), WORDS).equal
    assert not proof_of(rounds(outside.format("%cm1"), first="-1"), rounds(always, first="-1"), WORDS).equal
    assert not proof_of(rounds(outside.format("%c3"), last="7"), rounds(always, last="7"), WORDS).equal


def scanned(key: int | None, operand: int, identity: int = 1) -> str:
    """A product of the lanes `a xor operand`, computed under a key if there is one."""
    inside = operand if key is None else operand ^ key
    body = ["%h = muli %p, %q : tile<i32>"]
    if key is not None:
        body = [
            f"%key = constant <i32: {key}> : tile<i32>",
            "%p1 = xori %p, %key : tile<i32>",
            "%q1 = xori %q, %key : tile<i32>",
            "%m = muli %p1, %q1 : tile<i32>",
            "%h = xori %m, %key : tile<i32>",
        ]
    lines = [
        f"  %k0 = constant <i32: {inside}> : tile<16xi32>",
        "  %e = exti %a signed : tile<16xi16> -> tile<16xi32>",
        "  %u = xori %e, %k0 : tile<16xi32>",
        combined("reduce", "%u", "i32", str(identity if key is None else identity ^ key), *body),
    ]
    if key is not None:
        lines += [f"  %k1 = constant <i32: {key}> : tile<i32>", "  %g1 = xori %g, %k1 : tile<i32>"]
    result = "%g" if key is None else "%g1"
    return integers(*lines, f"  %low = trunci {result} : tile<i32> -> tile<i16>", spread("%low", "i16"))


def test_a_combination_under_a_key_that_its_lanes_have_absorbed() -> None:
    assert proof_of(scanned(None, -1), scanned(1, -1), WORDS).equal
    assert proof_of(scanned(None, 6), scanned(6, 6), WORDS).equal
    assert not proof_of(scanned(None, -1), scanned(1, -2), WORDS).equal
    assert not proof_of(scanned(None, -1), scanned(1, -1, identity=3), WORDS).equal


def nested(first: str, condition: str) -> str:
    """A loop from a loop's variable `%k`; the value changes only under a condition on the inner variable `%q`."""
    return kernel(
        "\n".join(
            (
                *(f"  %c{n} = constant <i32: {n}> : tile<i32>" for n in (0, 1, 2, 4)),
                load("a", "xv"),
                f"  %r = for %k in (%c{first} to %c4, step %c1) : tile<i32>"
                " iter_values(%acc = %a) -> (tile<16xf32>) {",
                "  %s = for %q in (%k to %n, step %c1) : tile<i32> iter_values(%in = %acc) -> (tile<16xf32>) {",
                "  %b = addf %in, %a : tile<16xf32>",
                f"  %c = {condition}",
                chosen("%b", "%in"),
                "  continue %v : tile<16xf32>\n  }",
                "  continue %s : tile<16xf32>\n  }",
                store("%r", "yv"),
            )
        )
    )


def test_a_loop_from_a_loops_variable_starts_where_that_starts() -> None:
    always = "constant <i1: true> : tile<i1>"
    least = "cmpi greater_than_or_equal %q, %c2, signed : tile<i32> -> tile<i1>"
    assert proof_of(nested("2", least), nested("2", always), WORDS).equal
    assert not proof_of(nested("1", least), nested("1", always), WORDS).equal
    below = "cmpi less_than %q, %c2, signed : tile<i32> -> tile<i1>"
    assert not proof_of(nested("2", below), nested("2", always), WORDS).equal


def remainder(divisor: int, operand: str = "%bx") -> str:
    """The remainder of a number, floored as Python floors it for a positive one by a negative divisor."""
    return kernel(
        "\n".join(
            (
                f"  %d = constant <i32: {divisor}> : tile<i32>\n  %zero = constant <i32: 0> : tile<i32>",
                load("a", "xv"),
                f"  %m = remi {operand}, %d signed : tile<i32>",
                "  %c = cmpi greater_than_or_equal %m, %zero, signed : tile<i32> -> tile<i1>",
                "  %b = addf %a, %a : tile<16xf32>",
                chosen("%b", "%a"),
                store("%v", "yv"),
            )
        )
    )


def test_a_remainder_has_the_sign_of_what_is_divided() -> None:
    plain = kernel("\n".join((load("a", "xv"), "  %b = addf %a, %a : tile<16xf32>", store("%b", "yv"))))
    assert proof_of(remainder(-5), plain, WORDS).equal
    negative = "  %less = subi %bx, %n : tile<i32>\n"
    other = remainder(-5, "%less").replace("  %m = remi", negative + "  %m = remi")
    assert not proof_of(other, plain, WORDS).equal

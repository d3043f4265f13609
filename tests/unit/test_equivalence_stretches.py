"""Loops in two stretches, flags that are set before a loop, bounds of loop variables (C7, C8); with mutants."""

from __future__ import annotations

import pytest
from test_equivalence_flow import text
from tileir_support import proof_of, store

WORDS = "x:N y:N"
LAUNCH = ("extents >= 1", "index arithmetic does not overflow")
TYPES = "tile<16xf32>"


def added(name: str, start: str, end: str, first: str, factor: str = "%a") -> str:
    """A `for` that adds a tile."""
    return (
        f"  %{name} = for %k{name} in ({first} to {end}, step %c1) : tile<i32> iter_values(%acc = {start})"
        f" -> ({TYPES}) {{\n    %n{name} = addf %acc, {factor} : {TYPES}\n    continue %n{name} : {TYPES}\n  }}"
    )


def split(
    middle: str = "mini %m, %c4 signed",
    start: str = "maxi %c0, %c4 signed",
    second: str = "%d",
    between: str = "%one",
) -> str:
    """As cuTile Python writes `for i in range(m): acc += a if i < 4 else a * a`."""
    return text(
        f"  %d = mulf %a, %a : {TYPES}",
        f"  %mid = {middle} : tile<i32>",
        f"  %st = {start} : tile<i32>",
        added("one", "%a", "%mid", "%c0"),
        added("two", between, "%m", "%st", second),
        store("%two", "yv"),
    )


def whole(condition: str = "less_than %k, %c4", factors: str = "%a, %d", step: str = "%c1", first: str = "%c0") -> str:
    one, other = factors.split(", ")
    return text(
        f"  %d = mulf %a, %a : {TYPES}",
        f"  %r = for %k in ({first} to %m, step {step}) : tile<i32> iter_values(%acc = %a) -> ({TYPES}) {{",
        f"    %q = cmpi {condition}, signed : tile<i32> -> tile<i1>",
        f"    %f = if %q -> ({TYPES}) {{\n      yield {one} : {TYPES}",
        f"    }} else {{\n      yield {other} : {TYPES}\n    }}",
        f"    %n1 = addf %acc, %f : {TYPES}",
        f"    continue %n1 : {TYPES}",
        "  }",
        store("%r", "yv"),
    )


@pytest.mark.parametrize(
    ("condition", "factors"),
    [
        ("less_than %k, %c4", "%a, %d"),
        ("greater_than %c4, %k", "%a, %d"),
        ("greater_than_or_equal %k, %c4", "%d, %a"),
        ("less_than_or_equal %c4, %k", "%d, %a"),
    ],
)
def test_a_loop_with_one_test_of_its_variable_is_two_loops(condition: str, factors: str) -> None:
    for rust in (whole(condition, factors), split()):
        proof = proof_of(split(), rust, WORDS, *LAUNCH)
        assert proof.equal, proof.difference or proof.reason
    assert proof_of(whole(condition, factors), split(), WORDS, *LAUNCH).equal


@pytest.mark.parametrize(
    "rust",
    [
        whole("less_than_or_equal %k, %c4"),
        whole("less_than %k, %c5"),
        whole("less_than %k, %c4", "%d, %a"),
        whole("equal %k, %c4"),
        whole(step="%c2"),
        whole(first="%c1"),
        split(middle="mini %m, %c5 signed"),
        split(start="maxi %c0, %c5 signed"),
        split(start="maxi %c5, %c4 signed"),
        split(middle="maxi %m, %c4 signed"),
        split(middle="mini %m, %c4 unsigned"),
        split(second="%a"),
        split(between="%a"),
    ],
)
def test_other_stretches_are_refused(rust: str) -> None:
    assert not proof_of(split(), rust, WORDS, *LAUNCH).equal
    assert not proof_of(rust, whole(), WORDS, *LAUNCH).equal


def test_rounds_up_to_a_number_need_its_successor_not_to_wrap() -> None:
    python = split("mini %m, %c5 signed", "maxi %c0, %c5 signed")
    assert proof_of(python, whole("less_than_or_equal %k, %c4"), WORDS, *LAUNCH).equal
    successor = "  %after = addi %n, %c1 : tile<i32>\n  %mid = mini %m, %after signed"
    by_extent = split("mini %m, %after signed", "maxi %c0, %after signed")
    by_extent = by_extent.replace("  %mid = mini %m, %after signed", successor)
    until = whole("less_than_or_equal %k, %n")
    assert proof_of(by_extent, until, WORDS, *LAUNCH).equal
    assert not proof_of(by_extent, until, WORDS, "extents >= 1").equal


def stopping(second_flag: str = "%one#1", idle: str = "%acc, %stop") -> str:
    """Python's two stretches with a flag: `if i < 4: stop at the first multiple of the block id, else go on`."""
    test = "  %mid = mini %m, %c4 signed : tile<i32>\n  %st = maxi %c0, %c4 signed : tile<i32>"

    def part(name: str, bounds: str, start: str, flag: str, update: str) -> str:
        kinds = f"{TYPES}, tile<i1>"
        return "\n".join(
            (
                f"  %{name}:2 = for %k in ({bounds}, step %c1) : tile<i32> iter_values(%acc = {start}, %stop = {flag})"
                f" -> ({kinds}) {{",
                f"    if %stop {{\n      continue {idle} : {kinds}\n    }} else {{\n    }}",
                update,
                "  }",
            )
        )

    kinds = f"{TYPES}, tile<i1>"
    first = (
        "    %q = cmpi equal %k, %bx, signed : tile<i32> -> tile<i1>\n"
        f"    if %q {{\n      continue %acc, %yes : {kinds}\n    }} else {{\n    }}\n"
        f"    %n1 = addf %acc, %a : {TYPES}\n    continue %n1, %stop : {kinds}"
    )
    then = f"    %n2 = mulf %acc, %a : {TYPES}\n    continue %n2, %stop : {kinds}"
    return text(
        test,
        part("one", "%c0 to %mid", "%a", "%no", first),
        part("two", "%st to %m", "%one#0", second_flag, then),
        store("%two#0", "yv"),
    )


def stopping_loop(out: str = "%acc", limit: str = "%c4", factor: str = "%a") -> str:
    """The same in one `loop` with a counter."""
    kinds = f"{TYPES}, tile<i32>"
    return text(
        f"  %r:2 = loop iter_values(%acc = %a, %k = %c0) : {kinds} -> {kinds} {{",
        "  %go = cmpi less_than %k, %m, signed : tile<i32> -> tile<i1>",
        f"  if %go {{\n  }} else {{\n    break %acc, %k : {kinds}\n  }}",
        f"  %early = cmpi less_than %k, {limit}, signed : tile<i32> -> tile<i1>",
        f"  %v = if %early -> ({TYPES}) {{",
        "    %q = cmpi equal %k, %bx, signed : tile<i32> -> tile<i1>",
        f"    if %q {{\n      break {out}, %k : {kinds}\n    }} else {{\n    }}",
        f"    %n1 = addf %acc, %a : {TYPES}\n    yield %n1 : {TYPES}",
        f"  }} else {{\n    %n2 = mulf %acc, {factor} : {TYPES}\n    yield %n2 : {TYPES}\n  }}",
        "  %k2 = addi %k, %c1 : tile<i32>",
        f"  continue %v, %k2 : {kinds}",
        "  }",
        store("%r#0", "yv"),
    )


def test_a_stop_in_the_first_stretch_leaves_the_second_out() -> None:
    proof = proof_of(stopping(), stopping_loop(), WORDS, *LAUNCH)
    assert proof.equal, proof.difference or proof.reason
    assert proof_of(stopping(), stopping(), WORDS, *LAUNCH).equal


@pytest.mark.parametrize(
    "rust",
    [
        stopping(second_flag="%no"),
        stopping(second_flag="%yes"),
        stopping(idle="%a, %stop"),
        stopping_loop(out="%a"),
        stopping_loop(limit="%c5"),
        stopping_loop(factor="%acc"),
    ],
)
def test_a_stop_that_is_forgotten_is_refused(rust: str) -> None:
    assert not proof_of(stopping(), rust, WORDS, *LAUNCH).equal
    assert not proof_of(rust, stopping_loop(), WORDS, *LAUNCH).equal


def test_one_round_and_no_round_are_the_body_and_nothing() -> None:
    once = text(added("one", "%a", "%c1", "%c0"), store("%one", "yv"))
    body = text(f"  %n1 = addf %a, %a : {TYPES}", store("%n1", "yv"))
    never = text(added("one", "%a", "%c1", "%c4"), store("%one", "yv"))
    plain = text(store("%a", "yv"))
    assert proof_of(once, body, WORDS).equal
    assert proof_of(never, plain, WORDS).equal
    assert not proof_of(once, plain, WORDS).equal
    assert not proof_of(never, body, WORDS).equal


def test_a_flag_that_passes_on_another_token_does_not_make_rounds_idle() -> None:
    """The last store hangs on a token that a round behind the stop takes back to the start."""
    kinds = "tile<i1>, token"

    def writing(idle: str) -> str:
        return text(
            f"  %r:2 = for %k in (%c0 to %c4, step %c1) : tile<i32> iter_values(%stop = %no, %w = %t) -> ({kinds}) {{",
            f"  if %stop {{\n    continue %stop, {idle} : {kinds}\n  }} else {{\n  }}",
            store("%a", "yv", token="%w", name="v"),
            "  %q = cmpi equal %k, %bx, signed : tile<i32> -> tile<i1>",
            f"  if %q {{\n    continue %yes, %v : {kinds}\n  }} else {{\n  }}",
            f"  continue %stop, %v : {kinds}",
            "  }",
            store("%a", "yv", token="%r#1"),
        )

    assert proof_of(writing("%w"), writing("%w"), WORDS).equal
    assert not proof_of(writing("%w"), writing("%t"), WORDS).equal

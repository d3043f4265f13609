"""Loops that end early, branches that leave, and the order of accesses in them; each rule with mutants."""

from __future__ import annotations

import pytest
from tileir_support import kernel, load, proof_of, store

WORDS = "x:N y:N"
CONSTANTS = "\n".join(f"  %c{n} = constant <i32: {n}> : tile<i32>" for n in (0, 1, 2, 4, 5))
FLAGS = "  %no = constant <i1: false> : tile<i1>\n  %yes = constant <i1: true> : tile<i1>"


def text(*parts: str) -> str:
    return kernel("\n".join((CONSTANTS, FLAGS, load("a", "xv"), *parts)))


def flagged(condition: str = "%k, %c2", update: str = "addf %acc, %a") -> str:
    """A `for` that a flag turns idle, as cuTile Python writes `break`."""
    return text(
        "  %r:2 = for %k in (%c0 to %c4, step %c1) : tile<i32> iter_values(%acc = %a, %stop = %no)"
        " -> (tile<16xf32>, tile<i1>) {",
        "  if %stop {\n    continue %acc, %stop : tile<16xf32>, tile<i1>\n  } else {\n  }",
        f"  %n1 = {update} : tile<16xf32>",
        f"  %q = cmpi equal {condition}, signed : tile<i32> -> tile<i1>",
        "  if %q {\n    continue %n1, %yes : tile<16xf32>, tile<i1>\n  } else {\n  }",
        "  continue %n1, %stop : tile<16xf32>, tile<i1>",
        "  }",
        store("%r#0", "yv"),
    )


def counting(limit: str = "%c4", step: str = "%c1", condition: str = "%k, %c2", first: str = "%c0") -> str:
    """The same as a `loop` with a counter and `break`, as cuTile Rust writes it."""
    return text(
        f"  %r:2 = loop iter_values(%acc = %a, %k = {first}) : tile<16xf32>, tile<i32> -> tile<16xf32>, tile<i32> {{",
        f"  %go = cmpi less_than %k, {limit}, signed : tile<i32> -> tile<i1>",
        "  if %go {\n  } else {\n    break %acc, %k : tile<16xf32>, tile<i32>\n  }",
        "  %n1 = addf %acc, %a : tile<16xf32>",
        f"  %q = cmpi equal {condition}, signed : tile<i32> -> tile<i1>",
        "  if %q {\n    break %n1, %k : tile<16xf32>, tile<i32>\n  } else {\n  }",
        f"  %k2 = addi %k, {step} : tile<i32>",
        "  continue %n1, %k2 : tile<16xf32>, tile<i32>",
        "  }",
        store("%r#0", "yv"),
    )


def test_a_for_with_a_flag_is_a_loop_with_a_counter() -> None:
    assert proof_of(flagged(), counting(), WORDS).equal
    assert proof_of(counting(), counting(), WORDS).equal


@pytest.mark.parametrize(
    "mutant",
    [
        counting(limit="%c5"),
        counting(step="%c2"),
        counting(first="%c1"),
        counting(condition="%k, %c1"),
        counting().replace("addf %acc, %a", "addf %a, %acc"),
        counting().replace("break %n1, %k", "break %acc, %k"),
        counting().replace("break %acc, %k", "break %a, %k"),
        counting().replace("less_than %k", "less_than_or_equal %k"),
    ],
)
def test_loops_that_do_other_rounds_are_refused(mutant: str) -> None:
    assert not proof_of(flagged(), mutant, WORDS).equal


def test_a_flag_that_does_not_make_rounds_idle_is_none() -> None:
    busy = flagged().replace("continue %acc, %stop", "continue %a, %stop", 1)
    assert not proof_of(busy, counting(), WORDS).equal


def leaving(condition: str = "greater_than %bx, %c2", value: str = "%a") -> str:
    test = f"  %q = cmpi {condition}, signed : tile<i32> -> tile<i1>"
    return text(test, "  if %q {\n    return\n  } else {\n  }", store(value, "yv"))


def test_a_branch_that_returns_guards_what_follows() -> None:
    guarded = text(
        "  %q = cmpi less_than_or_equal %bx, %c2, signed : tile<i32> -> tile<i1>",
        "  if %q {",
        store("%a", "yv"),
        "  } else {\n  }",
    )
    assert proof_of(leaving(), leaving(), WORDS).equal
    assert proof_of(leaving(), guarded, WORDS).equal
    assert not proof_of(leaving(), text(store("%a", "yv")), WORDS).equal
    assert not proof_of(leaving(), leaving("greater_than %bx, %c1"), WORDS).equal
    assert not proof_of(text(store("%a", "yv")), leaving(), WORDS).equal
    assert not proof_of(leaving("less_than %bx, %c2"), guarded, WORDS).equal


def test_conditions_on_the_way_are_one_conjunction() -> None:
    """`if p { if q { store } }` is `if not (p and q) { return }` and the store behind it."""

    def nested(second: str = "%bx, %c5") -> str:
        return text(
            "  %p = cmpi greater_than %bx, %c2, signed : tile<i32> -> tile<i1>",
            f"  %q = cmpi less_than {second}, signed : tile<i32> -> tile<i1>",
            "  if %p {\n  if %q {",
            store("%a", "yv"),
            "  } else {\n  }\n  } else {\n  }",
        )

    def returning(join: str) -> str:
        return text(
            "  %p = cmpi greater_than %bx, %c2, signed : tile<i32> -> tile<i1>",
            "  %q = cmpi less_than %bx, %c5, signed : tile<i32> -> tile<i1>",
            f"  %both = {join} %p, %q : tile<i1>",
            "  %none = cmpi equal %both, %no, signed : tile<i1> -> tile<i1>",
            "  if %none {\n    return\n  } else {\n  }",
            store("%a", "yv"),
        )

    assert proof_of(nested(), returning("andi"), WORDS).equal
    assert not proof_of(nested(), returning("ori"), WORDS).equal
    assert not proof_of(nested("%bx, %c4"), returning("andi"), WORDS).equal


def test_a_loop_that_always_breaks_is_its_body() -> None:
    def once(value: str, ending: str = "break") -> str:
        return text(
            "  %r = loop iter_values(%v = %a) : tile<16xf32> -> tile<16xf32> {",
            "  %n1 = addf %v, %v : tile<16xf32>",
            f"  {ending} {value} : tile<16xf32>",
            "  }",
            store("%r", "yv"),
        )

    plain = text("  %n1 = addf %a, %a : tile<16xf32>", store("%n1", "yv"))
    assert proof_of(once("%n1"), plain, WORDS).equal
    assert not proof_of(once("%v"), plain, WORDS).equal
    assert not proof_of(plain, once("%n1", "continue"), WORDS).equal


def test_values_that_nothing_depends_on_are_no_difference() -> None:
    def carrying(dead: str) -> str:
        return text(
            "  %r:2 = for %k in (%c0 to %c4, step %c1) : tile<i32> iter_values(%acc = %a, %d = %c0)"
            " -> (tile<16xf32>, tile<i32>) {",
            "  %n1 = addf %acc, %a : tile<16xf32>",
            f"  %n2 = addi %d, {dead} : tile<i32>",
            "  continue %n1, %n2 : tile<16xf32>, tile<i32>",
            "  }",
            store("%r#0", "yv"),
        )

    assert proof_of(carrying("%c1"), carrying("%c2"), WORDS).equal
    index = [carrying(step).replace("qs[%bx]", "qs[%r#1]") for step in ("%c1", "%c2")]
    assert proof_of(index[0], index[0], WORDS).equal
    assert not proof_of(index[0], index[1], WORDS).equal


def two_tokens(passed: str) -> str:
    """Each round reads and writes one tile; two tokens are carried."""
    return text(
        "  %r:2 = for %k in (%c0 to %c4, step %c1) : tile<i32> iter_values(%u = %t, %w = %t) -> (token, token) {",
        load("b", "yv", "%bx", "%u"),
        "  %n = addf %b, %a : tile<16xf32>",
        store("%n", "yv", "%bx", "%b_t"),
        f"  continue {passed} : token, token",
        "  }",
    )


def test_each_carried_token_stands_for_its_own_rounds() -> None:
    assert proof_of(two_tokens("%s, %w"), two_tokens("%s, %w"), WORDS).equal
    crossed = proof_of(two_tokens("%s, %w"), two_tokens("%w, %s"), WORDS)
    assert not crossed.equal and "nothing orders" in crossed.reason


def test_a_check_in_another_loop_is_not_implied_by_a_name() -> None:
    """Carried values of two loops have one name in the graph; what one loop does says nothing of the other's."""

    def loop(number: int, step: str, extra: str) -> str:
        return "\n".join(
            (
                f"  %r{number} = for %k{number} in (%c0 to %c4, step %c1) : tile<i32>"
                f" iter_values(%j{number} = %c0) -> (tile<i32>) {{",
                extra,
                f"  %m{number} = addi %j{number}, {step} : tile<i32>",
                f"  continue %m{number} : tile<i32>",
                "  }",
            )
        )

    def reading(number: int) -> str:
        return load(f"l{number}", "xv", f"%j{number}", "%t")

    check = """  %d = divi %n, %c16 signed rounding<positive_inf> : tile<i32>
  %ok = cmpi less_than %j2, %d, signed : tile<i32> -> tile<i1>
  assert %ok, "out of bounds" : tile<i1>"""
    sixteen = "  %c16 = constant <i32: 16> : tile<i32>"
    used = "  %i1 = itof %r2 signed : tile<i32> -> tile<f32>\n  %i2 = reshape %i1 : tile<f32> -> tile<1xf32>"
    last = "  %i3 = broadcast %i2 : tile<1xf32> -> tile<16xf32>"
    python = text(sixteen, loop(1, "%c1", reading(1)), loop(2, "%c2", ""), used, last, store("%i3", "yv"))
    rust = text(sixteen, loop(1, "%c1", reading(1)), loop(2, "%c2", check), used, last, store("%i3", "yv"))
    proof = proof_of(python, rust, WORDS)
    assert not proof.equal and "does not imply" in proof.reason
    same = text(sixteen, loop(2, "%c2", reading(2)), used, last, store("%i3", "yv"))
    checked = text(sixteen, loop(2, "%c2", f"{check}\n{reading(2)}"), used, last, store("%i3", "yv"))
    assert proof_of(same, checked, WORDS).equal

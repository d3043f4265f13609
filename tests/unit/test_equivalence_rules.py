"""Small pairs for the rules of docs/proof.md, and mutants that must be refused."""

from __future__ import annotations

import pytest
from tileir_support import kernel, load, proof_of, store

WORDS = "x:N y:N"


def lines(*parts: str) -> str:
    return kernel("\n".join(parts))


BINARY = "  %r = {op} %a, %b : tile<16xf32>"


def elementwise(op: str, padding: str = "zero") -> str:
    return lines(
        load("a", "xv", padding=padding),
        load("b", "yv", padding=padding),
        BINARY.format(op=op),
        store("%r", "yv", token="%b_t"),
    )


def test_equal_programs_are_equal() -> None:
    assert proof_of(elementwise("subf"), elementwise("subf"), WORDS).equal


@pytest.mark.parametrize("other", ["addf", "mulf", "subf %b, %a :"])
def test_other_operation_or_operand_order_is_refused(other: str) -> None:
    original = elementwise("subf")
    changed = original.replace("subf %a, %b :", other) if "%" in other else elementwise(other)
    proof = proof_of(original, changed, WORDS)
    assert not proof.equal
    assert proof.difference is not None


def test_undetermined_padding_of_the_python_may_be_chosen() -> None:
    proof = proof_of(elementwise("addf", ""), elementwise("addf", "zero"), WORDS)
    assert proof.equal
    assert any(text.startswith("M2") for text in proof.lemmas)


@pytest.mark.parametrize(("python", "rust"), [("zero", ""), ("zero", "neg_inf"), ("neg_inf", "zero")])
def test_padding_is_not_chosen_the_other_way(python: str, rust: str) -> None:
    assert not proof_of(elementwise("addf", python), elementwise("addf", rust), WORDS).equal


def test_one_load_takes_one_padding() -> None:
    python = lines(load("a", "xv"), "  %r = subf %a, %a : tile<16xf32>", store("%r", "yv"))
    rust = lines(
        load("a", "xv", padding="zero"), load("b", "xv", padding="neg_inf"), BINARY.format(op="subf"), store("%r", "yv")
    )
    assert not proof_of(python, rust, WORDS).equal


def test_a_data_dependence_is_no_order() -> None:
    one = "  %c = constant <f32: 1.000000e+00> : tile<16xf32>\n  %r = addf %a, %c : tile<16xf32>"
    ordered = lines(load("a", "xv"), one, store("%r", "xv", token="%a_t"))
    unordered = lines(load("a", "xv"), one, store("%r", "xv"))
    assert proof_of(ordered, ordered, WORDS).equal
    proof = proof_of(ordered, unordered, WORDS)
    assert not proof.equal
    assert "nothing orders" in proof.reason


def loop(token: str, body_token: str, index: str = "%bx") -> str:
    head = "  %f = for %k in (%c0 to %c4, step %c1) : tile<i32> iter_values(%w = %t) -> (token) {"
    return lines(
        *(f"  %c{n} = constant <i32: {n}> : tile<i32>" for n in (0, 1, 4)),
        head,
        load("a", "xv", index, body_token),
        "  %r = addf %a, %a : tile<16xf32>",
        store("%r", "xv", index, "%a_t"),
        f"  continue {token} : token",
        "  }",
    )


def test_iterations_need_a_carried_token_or_their_own_tile() -> None:
    assert proof_of(loop("%s", "%w"), loop("%s", "%w"), WORDS).equal
    assert not proof_of(loop("%s", "%w"), loop("%w", "%t"), WORDS).equal
    assert proof_of(loop("%s", "%w", "%k"), loop("%w", "%t", "%k"), WORDS).equal


def test_dropped_and_doubled_stores_are_refused() -> None:
    once = lines(load("a", "xv"), store("%a", "yv"))
    twice = lines(load("a", "xv"), store("%a", "yv"), store("%a", "yv", token="%s", name="s2"))
    assert not proof_of(once, lines(load("a", "xv")), WORDS).equal
    assert not proof_of(once, twice, WORDS).equal


def test_a_check_must_follow_from_an_access_of_the_python() -> None:
    def checked(limit: str) -> str:
        return lines(
            "  %c16 = constant <i32: 16> : tile<i32>",
            f"  %d = divi {limit}, %c16 signed rounding<positive_inf> : tile<i32>",
            "  %ok = cmpi less_than %bx, %d, signed : tile<i32> -> tile<i1>",
            '  assert %ok, "out of bounds" : tile<i1>',
            load("a", "xv"),
            store("%a", "yv"),
        )

    plain = lines(load("a", "xv"), store("%a", "yv"))
    assert proof_of(plain, checked("%n"), WORDS).equal
    refused = proof_of(plain, checked("%xs").replace("divi %xs", "divi %by"), WORDS)
    assert "does not imply" in refused.reason
    assert "asserts" in proof_of(checked("%n"), plain, WORDS).reason


def test_a_word_of_the_mutable_abi_is_not_to_be_read() -> None:
    body = "\n".join((load("a", "xv", "%e0"), store("%a", "yv")))
    plain = lines(load("a", "xv"), store("%a", "yv"))
    assert not proof_of(plain, kernel(body, 8), "x:N y:N*").equal


def test_index_arithmetic_is_normalised_and_mutants_are_not() -> None:
    def at(expression: str) -> str:
        return lines(
            *(f"  %c{n} = constant <i32: {n}> : tile<i32>" for n in (1, 2)),
            expression,
            load("a", "xv", "%i"),
            store("%a", "yv"),
        )

    double = at("  %i = muli %bx, %c2 : tile<i32>")
    assert proof_of(double, at("  %i = addi %bx, %bx : tile<i32>"), WORDS).equal
    assert not proof_of(double, at("  %i = addi %bx, %c2 : tile<i32>"), WORDS).equal
    assert proof_of(at("  %i = remi %bx, %c1 signed : tile<i32>"), at("  %i = subi %bx, %bx : tile<i32>"), WORDS).equal

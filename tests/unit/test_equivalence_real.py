"""Our examples as both compilers emit them: proved, and no mutant that differs is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from ferrotile_runner.tileir.reader import ReadError
from tileir_support import COMMON, PAIRS, proof_of, text

OPERATIONS = {
    "addf": "subf",
    "subf": "addf",
    "mulf": "addf",
    "divf": "mulf",
    "exp": "exp2",
    "negf": "absf",
    "maxf": "minf",
    "fma": "mmaf",
    "divi": "remi",
}


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_proved(name: str) -> None:
    words, hypotheses = PAIRS[name]
    proof = proof_of(text(name, "py"), text(name, "rs"), words, *COMMON, *hypotheses)
    assert proof.equal, f"{proof.reason} {proof.difference}"


def mutants(rust: str) -> Iterator[str]:
    """One change each in a place whose result reaches a store."""
    lines = rust.split("\n")
    for number, line in enumerate(lines):

        def changed(new: str, at: int = number) -> str:
            return "\n".join((*lines[:at], new, *lines[at + 1 :]))

        match = re.search(r"= (\w+) (%[\w#-]+), (%[\w#-]+)", line)
        if match and match[1] in OPERATIONS and match[1] != "fma":
            yield changed(line.replace(f"= {match[1]} ", f"= {OPERATIONS[match[1]]} "))
        if match and match[1] in {"subf", "divf", "mmaf"} and match[2] != match[3]:
            yield changed(line.replace(f"{match[2]}, {match[3]}", f"{match[3]}, {match[2]}"))
        if "store_view_tko" in line:
            yield changed(line.split("=")[0] + "= make_token : token")
        index = re.search(r"_tko weak .*\[(%\w+), (%\w+)", line)
        if index and index[1] != index[2]:
            yield changed(line.replace(f"[{index[1]}, {index[2]}", f"[{index[2]}, {index[1]}"))
        if "dim=1 identities" in line:
            yield changed(re.sub(r"identities=\[[^ ]+", "identities=[1.000000e+00", line))


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_mutants_are_refused(name: str) -> None:
    words, hypotheses = PAIRS[name]
    count = 0
    for mutant in mutants(text(name, "rs")):
        try:
            proof = proof_of(text(name, "py"), mutant, words, *COMMON, *hypotheses)
        except ReadError:
            continue
        count += 1
        assert not proof.equal, mutant
    assert count > 0

"""Every operation that either compiler can write is in the table, and the table has no other."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import pytest
from ferrotile_runner.tileir.operations import TABLE

NO_OPERATIONS_OF_AN_ENTRY = frozenset({"module", "entry", "global", "previewcall"})
"""What holds entries, and calls of functions that later versions of the bytecode may know (13.5 has none)."""
KNOWN = {name.replace("_", ""): name for name in TABLE}


def of_python() -> set[str]:
    """From the functions of cuda-tile's bytecode writer, `encode_AddFOp`; lower case without underscores."""
    if importlib.util.find_spec("cuda.tile") is None:
        pytest.skip("cuda-tile is not installed")
    found = importlib.util.find_spec("cuda.tile._bytecode.encodings")
    assert found is not None and found.origin is not None
    text = Path(found.origin).read_text(encoding="utf-8")
    return {name.lower() for name in re.findall(r"^def encode_(\w+?)Op\b", text, re.MULTILINE)}


def of_rust() -> set[str]:
    """From the names of cutile-ir's opcodes, `AddF => "addf"`; without underscores."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    files = sorted(home.glob("registry/src/*/cutile-ir-0.5.*/src/bytecode/opcode.rs"))
    if not files:
        pytest.skip("the sources of cutile-ir are not on this machine")
    return {name.replace("_", "") for name in re.findall(r'=> "(\w+)"', files[-1].read_text(encoding="utf-8"))}


@pytest.mark.parametrize("operations", [of_python, of_rust], ids=["cuda-tile", "cutile-ir"])
def test_the_table_has_every_operation(operations: object) -> None:
    assert callable(operations)
    found = operations() - NO_OPERATIONS_OF_AN_ENTRY
    assert len(found) > 100
    assert found <= set(KNOWN), f"operations without a row: {sorted(found - set(KNOWN))}"


def test_the_table_has_no_operation_that_neither_can_write() -> None:
    assert set(KNOWN) <= of_python() | of_rust()

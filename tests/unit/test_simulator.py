"""The simulator worker: verdicts from its own process, and every way of losing that process."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from ferrotile.program.dtypes import F32
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, Signature, Source
from ferrotile.translation import Entry, RustParameter
from ferrotile_runner import simulator as client
from ferrotile_runner.process import Ending, ProcessError
from ferrotile_runner.simulator import Simulator, SimulatorFault, TileIr
from msgspec.structs import replace
from tileir_support import text

SIGNATURE = Signature(
    "vector_add",
    (
        *(ArrayArgument(name, F32, ("N",), Source.DIRECTIVE) for name in "xyz"),
        ConstantArgument("TILE", 1024, Source.DIRECTIVE),
    ),
    ((GridFactor("N", 1024),),),
)
ENTRY = Entry(
    "vector_add",
    "kernels",
    (
        RustParameter("x", "tensor", 1, (1,)),
        RustParameter("y", "tensor", 1, (1,)),
        RustParameter("z", "tensor_mut", 1, (1,), (1024,)),
    ),
    (),
)
PYTHON = TileIr(text("vector_add", "py"), "vector_add")
RUST = TileIr(text("vector_add", "rs"), "vector_add_entry")

WORDS = ", ".join(f"%{p}: tile<ptr<f32>>, %{p}n: tile<i32>, %{p}s: tile<i32>" for p in "xyz")


def original(body: str) -> TileIr:
    """An entry with the words of SIGNATURE."""
    return TileIr(f"entry @k({WORDS}) {{\n{body}\n  return\n}}", "k")


ENDLESS = original(
    "  %one = constant <i64: 1> : tile<i64>\n"
    "  %end = loop iter_values(%n = %one) : tile<i64> -> tile<i64> {\n"
    "    %m = addi %n, %one : tile<i64>\n    continue %m : tile<i64>\n  }"
)
"""Every round counts one more."""
SPINNING = original("  loop {\n    continue\n  }")


def huge(elements: int) -> TileIr:
    tile = f"tile<{elements}xf32>"
    body = f"  %a = iota : tile<{elements}xi32>\n  %b = itof %a signed : tile<{elements}xi32> -> {tile}\n"
    return original(body + f"  %c = addf %b, %b rounding<nearest_even> : {tile}")


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    made = Simulator()
    yield made
    made.close()


def lost(
    simulator: Simulator,
    side: TileIr,
    seconds: float = 60.0,
    cancel: threading.Event | None = None,
) -> ProcessError:
    with pytest.raises(ProcessError) as raised:
        simulator.simulate(side, RUST, SIGNATURE, ENTRY, seconds=seconds, cancel=cancel)
    return raised.value


def test_what_both_compilers_made_of_a_kernel_agrees(simulator: Simulator) -> None:
    found = simulator.simulate(PYTHON, RUST, SIGNATURE, ENTRY)
    assert (found.verdict, found.text.split(" on ")[0]) == ("agreed", "bit-equal")
    assert "N=1025, grid (2, 1, 1)" in found.text, "one tile and one element take two blocks"


def test_a_wrong_operation_is_found(simulator: Simulator) -> None:
    wrong = replace(RUST, text=RUST.text.replace("addf", "subf"))
    assert wrong.text != RUST.text
    found = simulator.simulate(PYTHON, wrong, SIGNATURE, ENTRY)
    assert found.verdict == "differs"
    assert found.text.startswith("z[")


def test_an_unknown_operation_is_a_fault_with_its_name(simulator: Simulator) -> None:
    with pytest.raises(SimulatorFault, match="frobnicate"):
        simulator.simulate(original("  frobnicate"), RUST, SIGNATURE, ENTRY)


def test_an_endless_kernel_runs_out_of_time(simulator: Simulator) -> None:
    found = simulator.simulate(ENDLESS, RUST, SIGNATURE, ENTRY, seconds=0.2)
    assert found.verdict == "out of time"
    assert "N=768" in found.text, "the launch is named"


def test_a_loop_in_which_nothing_changes_has_no_end(simulator: Simulator) -> None:
    found = simulator.simulate(SPINNING, RUST, SIGNATURE, ENTRY, seconds=60)
    assert found.verdict == "undecided"
    assert any("a loop has no end" in one.text and one.text_line == 2 for one in found.noticed)
    wrong = replace(RUST, text=RUST.text.replace("  return", "  loop {\n    continue\n  }\n  return"))
    assert wrong.text != RUST.text
    found = simulator.simulate(PYTHON, wrong, SIGNATURE, ENTRY)
    assert (found.verdict, found.text.split(":")[0]) == ("differs", "in the translation only a loop has no end")


def test_a_worker_that_does_not_look_at_the_clock_is_killed(
    simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "GRACE_SECONDS", 0.1)
    simulator.simulate(PYTHON, RUST, SIGNATURE, ENTRY)
    pid = simulator.pid
    assert pid is not None
    os.killpg(pid, signal.SIGSTOP)
    assert lost(simulator, PYTHON, seconds=0.2).ending is Ending.TIMEOUT
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert simulator.simulate(PYTHON, RUST, SIGNATURE, ENTRY, seconds=60).verdict == "agreed", "a new one starts"


def test_a_killed_worker_is_a_result_and_the_next_call_works(simulator: Simulator) -> None:
    simulator.start()
    first = simulator.pid

    def kill() -> None:
        time.sleep(0.3)
        if simulator.pid is not None:
            os.kill(simulator.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    error = lost(simulator, ENDLESS)
    killer.join()
    assert error.ending is Ending.CRASHED
    assert "SIGKILL" in str(error)
    assert simulator.simulate(PYTHON, RUST, SIGNATURE, ENTRY).verdict == "agreed"
    assert simulator.pid != first


def test_a_worker_that_died_between_calls_is_replaced(simulator: Simulator) -> None:
    simulator.start()
    assert simulator.pid is not None
    os.kill(simulator.pid, signal.SIGKILL)
    time.sleep(0.1)
    assert simulator.simulate(PYTHON, RUST, SIGNATURE, ENTRY).verdict == "agreed"


def test_cancel_ends_a_run(simulator: Simulator) -> None:
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    started = time.monotonic()
    assert lost(simulator, ENDLESS, cancel=cancel).ending is Ending.CANCELLED
    assert time.monotonic() - started < 5


def test_too_much_memory_is_a_result_and_the_next_call_works() -> None:
    limited = Simulator(memory=1 << 30)
    try:
        error = lost(limited, huge(1 << 29))
        assert error.ending is Ending.CRASHED
        assert "more than the 1 GiB" in str(error)
        assert limited.simulate(PYTHON, RUST, SIGNATURE, ENTRY).verdict == "agreed"
    finally:
        limited.close()

"""NumPy interpreter of Tile IR: what an entry does to arrays, on any machine."""

from ferrotile_runner.tileir.interpreter.findings import Finding, FindingKind, Need
from ferrotile_runner.tileir.interpreter.frame import (
    Endless,
    InterpreterError,
    OutOfTime,
    UndefinedBehaviour,
    Unsupported,
)
from ferrotile_runner.tileir.interpreter.run import SHUFFLED, Order, Program, RunResult, Storage, Word, prepare, run

__all__ = [
    "SHUFFLED",
    "Endless",
    "Finding",
    "FindingKind",
    "InterpreterError",
    "Need",
    "Order",
    "OutOfTime",
    "Program",
    "RunResult",
    "Storage",
    "UndefinedBehaviour",
    "Unsupported",
    "Word",
    "prepare",
    "run",
]

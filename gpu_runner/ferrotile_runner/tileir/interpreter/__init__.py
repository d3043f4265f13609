"""NumPy interpreter of Tile IR: what an entry does to arrays, on any machine."""

from ferrotile_runner.tileir.interpreter.findings import Finding, FindingKind, Need
from ferrotile_runner.tileir.interpreter.frame import (
    InterpreterError,
    OutOfTime,
    UndefinedBehaviour,
    Unsupported,
)
from ferrotile_runner.tileir.interpreter.run import Order, RunResult, Storage, Word, run

__all__ = [
    "Finding",
    "FindingKind",
    "InterpreterError",
    "Need",
    "Order",
    "OutOfTime",
    "RunResult",
    "Storage",
    "UndefinedBehaviour",
    "Unsupported",
    "Word",
    "run",
]

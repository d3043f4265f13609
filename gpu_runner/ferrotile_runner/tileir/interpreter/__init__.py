"""NumPy interpreter of Tile IR: what an entry does to arrays, on any machine."""

from ferrotile_runner.tileir.interpreter.frame import InterpreterError, OutOfTime
from ferrotile_runner.tileir.interpreter.run import Order, RunResult, Storage, Word, run

__all__ = ["InterpreterError", "Order", "OutOfTime", "RunResult", "Storage", "Word", "run"]

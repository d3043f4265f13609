"""Cold start of `ferrotile check FILE`: a new process each time, as in a pre-commit hook."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from measuring import Budget, measure, print_table

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "examples" / "matmul.py"
BIN = Path(sys.executable).parent


def process(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)


def main() -> None:
    rows = [
        ("ferrotile check", measure(lambda: process(BIN / "ferrotile", "check", FILE), 15)),
        ("python -c pass", measure(lambda: process(sys.executable, "-c", "pass"), 15)),
        ("ruff check", measure(lambda: process(BIN / "ruff", "check", "--no-cache", FILE), 15)),
    ]
    print_table("cold start of a check, one file", rows, Budget(400))


if __name__ == "__main__":
    main()

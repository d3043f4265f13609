"""Runs both sides of kernels in the interpreter; a program: `simulator.py ROOT...`, one JSON-RPC 2.0 object a line on
stdin, one answer a line on stdout. The packages of ferrotile are imported from the ROOT folders.

`simulate` {original: {text, entry}, translation: {text, entry}, subject, seconds} -> {verdict, text, ms}. The texts
are disassembled Tile IR; `subject` is the base64 of a pickled (Signature, Entry of the Rust), made by the parent.
Arrays are made here and never travel. Running out of memory is an error answer, unless the system is faster.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import sys
import time
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrotile_runner.tileir.model import Entry

OUT_OF_MEMORY = -32001
INTERNAL_ERROR = -32603


def entry_of(side: object) -> Entry:
    from ferrotile_runner.tileir.reader import read

    assert isinstance(side, dict)
    module, name = read(side["text"]), side["entry"]
    return module.entry(name if any(e.name == name for e in module.entries) else None)


def simulate(params: Mapping[str, object]) -> dict[str, object]:
    from ferrotile_runner.simulation import simulate as run

    started = time.perf_counter()
    signature, rust = pickle.loads(base64.b64decode(str(params["subject"])))
    seconds = params["seconds"]
    assert isinstance(seconds, int | float)
    found = run(entry_of(params["original"]), entry_of(params["translation"]), signature, rust, seconds)
    ms = (time.perf_counter() - started) * 1e3
    return {"verdict": found.verdict.value, "text": found.text, "ms": ms}


def answer(request: Mapping[str, object]) -> dict[str, object]:
    reply: dict[str, object] = {"jsonrpc": "2.0", "id": request.get("id")}
    params = request.get("params")
    try:
        assert request.get("method") == "simulate" and isinstance(params, dict)
        reply["result"] = simulate(params)
    except MemoryError:
        reply["error"] = {"code": OUT_OF_MEMORY, "message": "out of memory"}
    except Exception as error:
        traceback.print_exc()
        reply["error"] = {"code": INTERNAL_ERROR, "message": f"{type(error).__name__}: {error}"}
    return reply


def main() -> None:
    """Serves until stdin ends. Whatever is printed meanwhile goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path[:0] = sys.argv[1:]
    # The first request finds NumPy and the interpreter loaded.
    import ferrotile_runner.simulation  # noqa: F401

    for line in sys.stdin:
        if line.strip():
            answers.write(json.dumps(answer(json.loads(line))) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()

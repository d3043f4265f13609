"""Runs both sides of kernels in the interpreter; a program: `simulator.py ROOT...`, one JSON-RPC 2.0 object a line on
stdin, one answer a line on stdout. The packages of ferrotile are imported from the ROOT folders.

`simulate` {original: {text, entry}, translation: {text, entry}, subject, seconds, seed, inputs} -> {verdict, text,
noticed, values, ms}, where `noticed` holds [side, text, line of the disassembly]. The texts are disassembled Tile IR;
`subject` is the base64 of a pickled (Signature, Entry of the Rust), made by the parent. Arrays are made here from
`seed`, or read here from the files `inputs` (none: made). They never travel. Running out of memory is an error answer,
unless the system is faster; so are inputs that do not fit.

`prepare` {original, translation, subject, seconds, seed, checks, folder, prefix, wanted} -> {launches, left_out}:
launches for a GPU (`gpu/preparing.py`), their arrays written into `folder`; `checks` is the base64 of pickled launch
checks, `launches` that of what is prepared.
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
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrotile_runner.tileir.model import Entry

OUT_OF_MEMORY = -32001
BAD_INPUTS = -32002
INTERNAL_ERROR = -32603


def entry_of(side: object) -> Entry:
    from ferrotile_runner.tileir.reader import read

    assert isinstance(side, dict)
    module, name = read(side["text"]), side["entry"]
    return module.entry(name if any(e.name == name for e in module.entries) else None)


def simulate(params: Mapping[str, object]) -> dict[str, object]:
    from ferrotile_runner.entry_arrays import written_names
    from ferrotile_runner.given_inputs import case_of, read_npz
    from ferrotile_runner.launch_facts import facts_of
    from ferrotile_runner.simulation import simulate as run

    started = time.perf_counter()
    signature, rust = pickle.loads(base64.b64decode(str(params["subject"])))
    seconds, seed, inputs = params["seconds"], params["seed"], params["inputs"]
    assert isinstance(seconds, int | float) and isinstance(seed, int) and isinstance(inputs, list)
    facts = facts_of(rust.hypotheses)
    original, translation = entry_of(params["original"]), entry_of(params["translation"])
    written = written_names(original, signature)
    given = [case_of(Path(path).name, read_npz(Path(path)), signature, facts, written) for path in inputs]
    found = run(original, translation, signature, rust, seconds, launches=given or None, seed=seed)
    ms = (time.perf_counter() - started) * 1e3
    noticed = [[one.side, one.text, one.text_line] for one in found.noticed]
    values = list(found.values)
    return {"verdict": found.verdict.value, "text": found.text, "noticed": noticed, "values": values, "ms": ms}


def prepare(params: Mapping[str, object]) -> dict[str, object]:
    from ferrotile_runner.gpu.preparing import Both
    from ferrotile_runner.gpu.preparing import prepare as run
    from ferrotile_runner.workers.bundle_format import Launches

    signature, rust = pickle.loads(base64.b64decode(str(params["subject"])))
    checks = pickle.loads(base64.b64decode(str(params["checks"])))
    seconds, seed = params["seconds"], params["seed"]
    assert isinstance(seconds, int | float) and isinstance(seed, int)
    original, translation = entry_of(params["original"]), entry_of(params["translation"])
    both = Both(original, translation, signature, rust, checks, str(params["prefix"]))
    found = run(both, seconds, seed, Path(str(params["folder"])), Launches(str(params["wanted"])))
    launches = base64.b64encode(pickle.dumps(tuple(found.launches))).decode()
    return {"launches": launches, "left_out": found.left_out}


METHODS = {"simulate": simulate, "prepare": prepare}


def answer(request: Mapping[str, object]) -> dict[str, object]:
    reply: dict[str, object] = {"jsonrpc": "2.0", "id": request.get("id")}
    params = request.get("params")
    from ferrotile_runner.input_error import InputError

    try:
        assert isinstance(params, dict)
        reply["result"] = METHODS[str(request.get("method"))](params)
    except InputError as error:
        reply["error"] = {"code": BAD_INPUTS, "message": str(error)}
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

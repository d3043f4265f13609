"""The GPU worker: launches what a bundle holds, one request after the other.

A program, `gpu.py BUNDLE ROOT`: one JSON-RPC 2.0 object a line on stdin, one answer a line on stdout.
`device` {} -> {name, architecture, driver}. `run` {kernel, launch, side} -> {touched} launches one side of a launch;
after both, `compare` {keep} -> {arrays, interpreter} and `time` {} -> what `gpu_launches.time_json` gives are about
them.
It ends with the first fault, as a failed kernel poisons its CUDA context: `worker.py` starts the next one. Needs a
driver, NumPy and `cuda-bindings`; no compiler, and none of ferrotile's other dependencies.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

MISSING = -32002
MEMORY_BYTES = 16 << 30
"""What the worker may have beside the GPU's memory. A limit of data: a CUDA context reserves more addresses than any
machine has memory (an H200's context was made, and arrays refused, under such a limit)."""
Answer = Callable[[Mapping[str, object]], tuple[dict[str, object], bool]]


def serving(bundle: Path) -> Answer:
    """What answers the requests: the worker, or its excuse where this Python lacks a package."""
    try:
        from ferrotile_runner.workers.gpu_requests import Worker
    except ImportError as error:
        words = f"{error}: `pip install numpy cuda-bindings`"
        excuse = {"code": MISSING, "message": words, "data": {"kind": "missing package"}}
        return lambda request: ({"jsonrpc": "2.0", "id": request.get("id"), "error": excuse}, False)
    return Worker(bundle).answer


def limit_memory() -> None:
    """Asks the system to refuse more than `MEMORY_BYTES`, where it can."""
    if sys.platform == "linux":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        limit = MEMORY_BYTES if most == resource.RLIM_INFINITY else min(MEMORY_BYTES, most)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def main() -> None:
    """Serves until stdin ends or something fails. Whatever is printed meanwhile, by kernels too, goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    limit_memory()
    bundle, *roots = sys.argv[1:]
    sys.path[:0] = roots
    answer = serving(Path(bundle))
    for line in sys.stdin:
        reply, fit = answer(json.loads(line))
        answers.write(json.dumps(reply) + "\n")
        answers.flush()
        if not fit:
            os._exit(1)  # a poisoned context may make an orderly end hang


if __name__ == "__main__":
    main()

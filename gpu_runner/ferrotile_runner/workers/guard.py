"""Runs a program that dies with its parent and within a memory limit: `guard.py PARENT_PID MEMORY_BYTES
PROGRAM ARGS...`.

Memory 0 means no limit. On systems without `prctl` only the memory limit is set. Doing this in a program of
its own keeps Python code out of the moment between `fork` and `exec`, where threads make it unsafe.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    parent, memory, program = int(arguments[0]), int(arguments[1]), arguments[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            sys.exit(1)
    if memory and sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    os.execv(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1:])

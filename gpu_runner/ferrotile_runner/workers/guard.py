"""Runs a program that dies with its parent, and all that it started with it, within a memory limit: `guard.py
PARENT_PID MEMORY_BYTES PROGRAM ARGS...`. It leads a process group of its own, as its starter sees to.

Memory 0 means no limit. On systems without `prctl` only the memory limit is set. Doing this in a program of
its own keeps Python code out of the moment between `fork` and `exec`, where threads make it unsafe.

On Linux this program stays: when its parent dies, however, it kills its group. The kernel's death signal alone would
end the program, and leave the compilers that it runs to work for nobody.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with(parent: int, death: signal.Signals) -> None:
    """Asks for `death` when the parent dies; ends at once where it is dead already."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(death), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def kill_group(_signal: int, _frame: object) -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)


def end_as(status: int) -> None:
    """Ends this process as the child ended."""
    if os.WIFSIGNALED(status):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):  # SIGKILL has no handler to take away
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))


def guard(parent: int, program: list[str]) -> None:
    """Starts the program and waits for it, or for the parent's death."""
    signal.signal(signal.SIGTERM, kill_group)
    die_with(parent, signal.SIGTERM)
    this = os.getpid()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        die_with(this, signal.SIGKILL)
        os.execv(program[0], program)
    # The pipes are the program's: they must end with it.
    for stream in (0, 1, 2):
        os.close(stream)
    end_as(os.waitpid(child, 0)[1])


def main(arguments: list[str]) -> None:
    parent, memory, program = int(arguments[0]), int(arguments[1]), arguments[2:]
    if memory and sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if sys.platform == "linux" and os.getpgrp() == os.getpid():
        guard(parent, program)
    os.execv(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1:])

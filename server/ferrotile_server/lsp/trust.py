"""Whether workspace code may be run. The editor must say so; silence means no, and a malformed answer is
refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event
from typing import TYPE_CHECKING, Protocol

from ferrotile_server.application import Analysis, Application

if TYPE_CHECKING:
    from ferrotile_runner.report import KernelReport

REFUSAL = (
    "This workspace is not trusted, so its code is not run. Trust the workspace "
    "(VS Code: Workspaces: Manage Workspace Trust), or let your editor send "
    "initializationOptions.workspaceTrusted = true, and restart the server."
)


class NotTrusted(Exception):
    """Running was asked for in a workspace that is not trusted."""


class MalformedTrust(ValueError):
    """`workspaceTrusted` is there and is not a boolean."""


class Executor(Protocol):
    """The only way from the language server to code that runs."""

    def verify(
        self,
        analysis: Analysis,
        kernel: str,
        rungs: Sequence[str],
        progress: Callable[[str], None],
        cancel: Event,
    ) -> tuple[KernelReport, ...]: ...


class RefusingExecutor:
    """Runs nothing."""

    def verify(
        self,
        analysis: Analysis,
        kernel: str,
        rungs: Sequence[str],
        progress: Callable[[str], None],
        cancel: Event,
    ) -> tuple[KernelReport, ...]:
        """Raises `NotTrusted`."""
        raise NotTrusted(REFUSAL)


class TrustedExecutor:
    """Runs what it is asked to run."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def verify(
        self,
        analysis: Analysis,
        kernel: str,
        rungs: Sequence[str],
        progress: Callable[[str], None],
        cancel: Event,
    ) -> tuple[KernelReport, ...]:
        """Climb the ladder for one kernel."""
        return self._application.verify(analysis, (kernel,), rungs, progress, cancel)


def is_trusted(options: object) -> bool:
    """What `initializationOptions` says of trust; raises `MalformedTrust`."""
    if not isinstance(options, dict) or "workspaceTrusted" not in options:
        return False
    value = options["workspaceTrusted"]
    if not isinstance(value, bool):
        raise MalformedTrust("initializationOptions.workspaceTrusted must be true or false")
    return value

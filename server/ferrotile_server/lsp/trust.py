"""Whether workspace code may be run. The editor must say so; silence means no, and a malformed answer is
refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING, NoReturn

from ferrotile_server.application import Analysis, Progress

if TYPE_CHECKING:
    from ferrotile_runner.report import KernelReport

Executor = Callable[[Analysis, Sequence[str], Sequence[str], Progress, Event], "Iterator[KernelReport]"]
"""`Application.verify`, or `refuse`: the only way from the language server to code that runs."""

REFUSAL = (
    "This workspace is not trusted, so its code is not run. Trust the workspace "
    "(VS Code: Workspaces: Manage Workspace Trust), or let your editor send "
    "initializationOptions.workspaceTrusted = true, and restart the server."
)


class NotTrusted(Exception):
    """Running was asked for in a workspace that is not trusted."""


class MalformedTrust(ValueError):
    """`workspaceTrusted` is there and is not a boolean."""


def refuse(*_: object) -> NoReturn:
    """The executor of a workspace that is not trusted. Raises `NotTrusted`."""
    raise NotTrusted(REFUSAL)


def is_trusted(options: object) -> bool:
    """What `initializationOptions` says of trust; raises `MalformedTrust`."""
    if not isinstance(options, dict) or "workspaceTrusted" not in options:
        return False
    value = options["workspaceTrusted"]
    if not isinstance(value, bool):
        raise MalformedTrust("initializationOptions.workspaceTrusted must be true or false")
    return value

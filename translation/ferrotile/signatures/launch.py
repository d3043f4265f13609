"""Launch sites: host code read abstractly, never run, up to each `ct.launch(...)`; also in other files of a workspace.

Functions are followed with the arguments that they are called with; a function that nothing calls is read with unknown
parameters. A condition that nothing tells is read both ways, one path at a time, up to a bound."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct, field

from ferrotile.signatures.hostcode.entries import read_home
from ferrotile.signatures.hostcode.expressions import evaluate
from ferrotile.signatures.hostcode.paths import Stop
from ferrotile.signatures.hostcode.run import Launch, Run
from ferrotile.signatures.hostcode.statements import execute
from ferrotile.signatures.workspace import Workspace
from ferrotile.syntax.module import Module

__all__ = ["Launch", "Launches", "collect_launches"]

_LAUNCHING = re.compile(rb"launch|exhaustive_search|cutile_call")
_STEPS = 30_000
_USERS = 12
_USER_STEPS = 12_000


class Launches(Struct, frozen=True):
    """All launches of a file's kernels, in reading order. By identity of an integer: the author's name, the value.
    `consulted`: the other modules that were asked for, with the digest of each (None: not in the workspace)."""

    sites: tuple[Launch, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)
    consulted: tuple[tuple[str, bytes | None], ...] = ()
    users: tuple[str, ...] = ()

    def holds(self, workspace: Workspace, name: str) -> bool:
        """Whether everything that was consulted is as it was."""
        return self.users == using(workspace, name) and all(workspace.digest(n) == d for n, d in self.consulted)


def using(workspace: Workspace, name: str) -> tuple[str, ...]:
    """The modules that import `name`, and those that import these: the farthest first, for they know the arguments."""
    near = workspace.users(name)[:_USERS]
    far = dict.fromkeys(u for n in near for u in workspace.users(n) if u != name and u not in near)
    return (*list(far)[:_USERS], *near)


def _names(module: Module, name: str) -> frozenset[str]:
    return frozenset((name.rpartition(".")[2], *(f.name for f in (*module.functions, *module.nested))))


def collect_launches(module: Module, workspace: Workspace | None = None, name: str = "") -> Launches:
    """Read the host code of a file once, and of the files of `workspace` that import it (there it is called `name`);
    pass the result to `infer_signatures` of every kernel."""
    users = () if workspace is None else using(workspace, name)
    data = module.document.data
    if not users and workspace is None and not _LAUNCHING.search(data):
        return Launches()
    run = Run(module, name, workspace, _STEPS)
    run.evaluate, run.execute = evaluate, execute
    if workspace is not None:
        homes = [h for h in (run.home(user) for user in users) if h is not None]
        interesting = _names(module, name).union(*(_names(h.module, h.name) for h in homes))
        for home in homes:
            run.steps = _USER_STEPS
            with suppress(RecursionError, Stop):
                read_home(run, home, interesting)
        run.steps = _STEPS
    with suppress(RecursionError, Stop):
        read_home(run, run.own)
    sites = tuple(s for s in run.sites if not s.home)
    return Launches(sites, run.names, run.values, tuple(run.consulted.items()), users)

"""Where reading starts: the top level of a file, then the functions that can reach a launch and that nothing calls."""

from __future__ import annotations

import re
from collections.abc import Callable

from ferrotile.signatures.hostcode import objects
from ferrotile.signatures.hostcode.calls import call_function, call_value
from ferrotile.signatures.hostcode.expressions import remember_tables
from ferrotile.signatures.hostcode.paths import Decisions, Raised, explore
from ferrotile.signatures.hostcode.run import Home, Run, Scope
from ferrotile.signatures.tensors import Arguments
from ferrotile.signatures.values import Class, Function, Instance, Method
from ferrotile.syntax.module import FunctionSource

_PATHS = 8
"""Paths read from one function."""

_LAUNCHING = re.compile(r"launch|exhaustive_search")


def read_home(run: Run, home: Home, interesting: frozenset[str] | None = None) -> None:
    """Read a file's top level and its entry functions. `interesting`: only code that mentions one of these names."""
    reach = _Reach(run, home, interesting)
    if interesting is None or home.ready is False:
        _paths(run, lambda: _top_level(run, home))
    home.ready = True
    for outermost in (True, False):
        for source in home.hosts:
            if id(source.node) in run.visited or id(source.node) not in reach.functions:
                continue
            if outermost is (source.name in reach.mentioned or bool(source.enclosing)):
                continue
            _paths(run, _entry(run, home, source))


def _paths(run: Run, read: Callable[[], None]) -> None:
    def one(decisions: Decisions) -> None:
        run.decisions = decisions
        run.equal = {}
        try:
            read()
        except Raised:
            return

    explore(one, _PATHS)


def _top_level(run: Run, home: Home) -> None:
    home.globals.clear()
    home.globals.update(run.functions_of(home))
    try:
        run.execute(run, list(home.module.statements), Scope(home.globals, home))
    finally:
        remember_tables(home)


def _entry(run: Run, home: Home, source: FunctionSource) -> Callable[[], None]:
    def read() -> None:
        home.restore_tables()
        of = home.globals.get(source.enclosing[-1]) if source.enclosing else None
        if not isinstance(of, Class):
            call_function(run, Function(source.node, {}, home.name), Arguments((), {}))
            return
        if source.name == "forward" and objects.find_method(run, of, "backward") is not None:
            call_value(run, Method(of, "apply"), Arguments((), {}))
            return
        found = objects.find_method(run, of, source.name)
        if found is not None:
            function, bound = found
            first = (Instance(None if source.name in ("forward", "backward") and not bound else of),)
            call_function(run, function, Arguments(first if bound else (), {}))

    return read


class _Reach:
    """Which functions can reach a launch, by the names that they mention. A class reaches what its methods reach."""

    def __init__(self, run: Run, home: Home, interesting: frozenset[str] | None) -> None:
        words: dict[int, frozenset[str]] = {}
        by_name: dict[str, list[int]] = {}
        wanted: set[int] = set()
        for source in home.hosts:
            key = id(source.node)
            words[key] = run.summary(source.node).mentions
            for name in (source.name, *source.enclosing[-1:]):
                by_name.setdefault(name, []).append(key)
            launches = any(_LAUNCHING.search(w) for w in words[key])
            if (launches and interesting is None) or (interesting is not None and words[key] & interesting):
                wanted.add(key)
        changed = True
        names = {n for n, keys in by_name.items() if wanted.intersection(keys)}
        while changed:
            more = {k for k, mentioned in words.items() if k not in wanted and mentioned & names}
            wanted |= more
            names |= {n for n, keys in by_name.items() if more.intersection(keys)}
            changed = bool(more)
        self.functions = wanted
        self.mentioned = {w for k in wanted for w in words[k]}

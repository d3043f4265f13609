"""Where reading starts: the top level of a file, then the functions that can reach a launch and that nothing calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping

from ferrotile.signatures.hostcode import objects
from ferrotile.signatures.hostcode.calls import call_function, call_value
from ferrotile.signatures.hostcode.frameworks import cases, has_cases
from ferrotile.signatures.hostcode.names import remember_tables
from ferrotile.signatures.hostcode.paths import Decisions, Raised, explore
from ferrotile.signatures.hostcode.run import Home, Run, Scope
from ferrotile.signatures.tensors import Arguments
from ferrotile.signatures.values import Class, Function, Instance, Method, Value
from ferrotile.syntax.module import FunctionSource

_PATHS = 8
"""Paths read from one function."""

_SET_UP = ("setUp", "setup_method", "__enter__")

_LAUNCHING = re.compile(r"launch|exhaustive_search|cutile_call")


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
            for read in _entries(run, home, source):
                _paths(run, read)
        if outermost:
            _read_again(run, home, reach)


def _read_again(run: Run, home: Home, reach: _Reach) -> None:
    """Functions that defaults keep from launches that they can reach: their switches may be passed otherwise."""
    missed = {s.name for s in home.hosts if id(s.node) in reach.functions and id(s.node) not in run.visited}
    if not missed:
        return
    run.switches = True
    for source in home.hosts:
        if id(source.node) in run.visited and reach.words.get(id(source.node), frozenset()) & missed:
            for read in _entries(run, home, source):
                _paths(run, read)
    run.switches = False


def _paths(run: Run, read: Callable[[], None], count: int = _PATHS) -> None:
    def one(decisions: Decisions) -> None:
        run.decisions = decisions
        run.equal = {}
        try:
            read()
        except Raised:
            return

    explore(one, count)


def _top_level(run: Run, home: Home) -> None:
    home.globals.clear()
    home.globals.update(run.functions_of(home))
    try:
        run.execute(run, list(home.module.statements), Scope(home.globals, home))
    finally:
        remember_tables(home)


def _entries(run: Run, home: Home, source: FunctionSource) -> list[Callable[[], None]]:
    """One reading for each row of arguments that a test framework passes."""
    if not has_cases(home, source.node):
        return [_entry(run, home, source, {})]
    found: list[dict[str, Value]] = []

    def collect() -> None:
        home.restore_tables()
        found.extend(cases(run, home, source.node))

    _paths(run, collect, 1)
    return [_entry(run, home, source, case) for case in found or ({},)]


def _entry(run: Run, home: Home, source: FunctionSource, case: Mapping[str, Value]) -> Callable[[], None]:
    def read() -> None:
        home.restore_tables()
        of = home.globals.get(source.enclosing[-1]) if source.enclosing else None
        if not isinstance(of, Class):
            call_function(run, Function(source.node, {}, home.name), Arguments((), case), not case)
            return
        if source.name == "forward" and objects.find_method(run, of, "backward") is not None:
            call_value(run, Method(of, "apply"), Arguments((), {}))
            return
        found = objects.find_method(run, of, source.name)
        if found is not None:
            function, bound = found
            first = (_object(run, of, source.name),) if bound else ()
            call_function(run, function, Arguments(first, case), not case)

    return read


def _object(run: Run, of: Class, method: str) -> Value:
    """An object to read a method of: made without arguments, and as a test's set-up leaves it."""
    if method == "__init__":
        return Instance(of)
    try:
        made = call_value(run, of, Arguments((), {}))
    except Raised:
        made = Instance(of)
    for name in _SET_UP:
        found = objects.find_method(run, of, name)
        if found is not None and name != method:
            call_function(run, found[0], Arguments((made,) if found[1] else (), {}))
    return made


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
        aliases = _aliases(home)
        names = {n for n, keys in by_name.items() if wanted.intersection(keys)}
        names |= {n for n, mentioned in aliases.items() if mentioned & names}
        while changed:
            more = {k for k, mentioned in words.items() if k not in wanted and mentioned & names}
            wanted |= more
            names |= {n for n, keys in by_name.items() if more.intersection(keys)}
            names |= {n for n, mentioned in aliases.items() if mentioned & names}
            changed = bool(more)
        self.words = words
        self.functions = wanted
        self.mentioned = {w for k in wanted for w in words[k]}


def _aliases(home: Home) -> dict[str, frozenset[str]]:
    """Module-level names for what is made of functions: `run = partial(launch, kernel)`, and what each is made of."""
    return {
        name: frozenset(n.id for n in ast.walk(value) if isinstance(n, ast.Name))
        for name, value in home.module.constants.items()
        if not isinstance(value, ast.Constant)
    }

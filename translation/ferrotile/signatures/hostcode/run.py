"""The state of one reading of host code."""

from __future__ import annotations

import ast
from collections.abc import Callable

from msgspec import Struct, field

from ferrotile.signatures.hostcode.paths import Decisions, Stop
from ferrotile.signatures.hostcode.summary import Summary, summarise
from ferrotile.signatures.tensors import identity
from ferrotile.signatures.values import Function, Int, Table, Unknown, Value
from ferrotile.signatures.workspace import Workspace
from ferrotile.syntax.module import FunctionSource, Module
from ferrotile.syntax.span import NOWHERE, Span

Names = dict[str, Value]
KERNEL_MAKERS = ("cuda.tile.kernel", "cuda.tile.function")


class Launch(Struct, frozen=True):
    """One launch: the kernel's arguments and grid as far as they are known. `home` is the kernel's module (`""`: the
    file itself), `module` and `line` (1-based) say where the launch stands if that is another file, else `span` does.
    `equal` maps identities of integers to equal ones. `configs`: how many other configurations a tuner may take;
    `others`: the arguments and the grid with some of them."""

    kernel: str
    arguments: tuple[Value, ...] | None
    grid: Value
    span: Span
    home: str = ""
    module: str = ""
    line: int = 0
    equal: tuple[tuple[str, str], ...] = ()
    configs: int = 0
    others: tuple[tuple[tuple[Value, ...], Value], ...] = ()


class Home(Struct):
    """A module whose code is read; `name` is `""` for the file itself. `hosts`: functions that are no kernels."""

    name: str
    module: Module
    globals: Names = field(default_factory=dict)
    kernels: set[int] = field(default_factory=set)
    hosts: list[FunctionSource] = field(default_factory=list)
    ready: bool = False
    tables: list[tuple[Table, Table]] = field(default_factory=list)

    def restore_tables(self) -> None:
        """Undo what an earlier path stored in module-level dicts."""
        for table, first in self.tables:
            table.items = dict(first.items)
            table.stored = first.stored


class Scope(Struct):
    """The local names of one call, and the module that its code is of."""

    names: Names
    home: Home
    yields: list[Value] | None = None


Evaluate = Callable[["Run", ast.expr, Scope], Value]
Execute = Callable[["Run", list[ast.stmt], Scope], object]


class Run:
    """Sites found so far and everything that reading shares. `evaluate` and `execute` close the circle between
    expressions, calls and statements."""

    def __init__(self, own: Module, name: str, workspace: Workspace | None, steps: int) -> None:
        self.sites: list[Launch] = []
        self.names: dict[str, str] = {}
        self.values: dict[str, int] = {}
        self.consulted: dict[str, bytes | None] = {}
        self.workspace = workspace
        self.own_name = name
        self.steps = steps
        self.default_changes = b"set_default_" in own.document.data
        """Whether the element type of a constructor that names none is another than usual."""
        self.depth = 0
        self.switches = False
        """Whether parameters whose default is a bool or None may have other values at the outermost call."""
        self.visited: set[int] = set()
        self.decisions = Decisions()
        self.equal: dict[str, str] = {}
        self.made_kernels: set[int] = set()
        self.evaluate: Evaluate
        self.execute: Execute
        self.outside: dict[str, Value] = {}
        """What dotted names of modules that are not read stand for."""
        self._fresh = 0
        self._summaries: dict[int, Summary] = {}
        self._homes: dict[str, Home] = {}
        self.own = self._make_home("", own)

    def step(self) -> None:
        """Count one statement or expression. Raises Stop at the end of the budget."""
        self.steps -= 1
        if self.steps < 0:
            raise Stop

    def fresh(self, name: str) -> str:
        """A new identity for something called `name`."""
        self._fresh += 1
        return f"{name}:{self._fresh}"

    def summary(self, node: ast.FunctionDef | ast.Lambda) -> Summary:
        """What one walk over a function tells."""
        found = self._summaries.get(id(node))
        if found is None:
            found = self._summaries[id(node)] = summarise(node)
        return found

    def named(self, name: str, value: Value) -> Value:
        """An integer takes the name of the first variable that holds it."""
        if isinstance(value, Unknown) and value.ident is None:
            return Unknown(self.fresh(name), value.kind, value.likely)
        if not isinstance(value, Int) or name == "_":
            return value
        if value.ident is not None:
            if value.ident[0] in "#@*(":
                self.names.setdefault(value.ident, name)
            return value
        if value.terms is not None:
            computed = identity(value)
            if computed is not None and computed[0] in "*(":
                self.names.setdefault(computed, name)
            return value
        ident = self.fresh(name)
        self.names[ident] = name
        if value.value is not None and not value.derived:
            self.values[ident] = value.value
        return Int(value.value, ident, None, value.derived, value.guess)

    def is_kernel(self, function: Function, home: Home) -> bool:
        """Whether calling it is no host code."""
        return id(function.node) in home.kernels or id(function.node) in self.made_kernels

    def home(self, name: str) -> Home | None:
        """A module of the workspace; what is asked for is noted in `consulted`."""
        if name in self._homes:
            return self._homes[name]
        if self.workspace is None:
            return None
        if name == self.own_name:
            return self.own
        module = self.workspace.module(name)
        self.consulted[name] = self.workspace.digest(name)
        return None if module is None else self._make_home(name, module)

    def _make_home(self, name: str, module: Module) -> Home:
        home = Home(name, module)
        for source in (*module.functions, *module.nested):
            if any(_makes_kernel(module, d) for d in source.decorators):
                home.kernels.add(id(source.node))
            else:
                home.hosts.append(source)
        home.globals = self.functions_of(home)
        self._homes[name] = home
        return home

    def functions_of(self, home: Home) -> Names:
        """The module's functions by name, before any of its statements is read."""
        return {f.name: Function(f.node, {}, home.name) for f in home.module.functions}

    def absolute(self, home: Home, dotted: str) -> str:
        """A dotted name from the top, as `home` means it."""
        if self.workspace is None:
            return dotted
        return self.workspace.absolute(home.name or self.own_name, dotted)

    def split(self, dotted: str) -> tuple[Home, tuple[str, ...]] | None:
        """The module of the workspace that a dotted name is in, and the names inside it."""
        if self.workspace is None or dotted.partition(".")[0] in ("torch", "numpy", "cuda", "math", "builtins"):
            return None
        found = self.workspace.split(dotted)
        if found is None:
            parts = dotted.split(".")
            for end in range(1, len(parts) + 1):
                self.consulted.setdefault(".".join(parts[:end]), None)
            return None
        home = self.home(found[0])
        return None if home is None else (home, found[1])

    def place(self, home: Home, node: ast.AST) -> tuple[Span, str, int]:
        """Where a launch stands: a span of the file itself, or another module and a line."""
        if not home.name:
            return home.module.span_of(node), "", 0
        span = home.module.span_of(node)
        return NOWHERE, home.name, home.module.document.lines.line_of(span.start) + 1


def _makes_kernel(module: Module, decorator: ast.expr) -> bool:
    callee = decorator.func if isinstance(decorator, ast.Call) else decorator
    return module.resolve(callee) in KERNEL_MAKERS

"""Functions and constants that a file imports from other files, put into its module as if they were defined there.

Only what keeps its meaning is taken over: a function comes with every function, constant and import of its own file
that it names, and not at all where one of these names means something else here. What came from elsewhere has the
place of the import that brought it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from ferrotile.syntax.module import FunctionSource, Module
from ferrotile.syntax.parsed import key_of
from ferrotile.syntax.span import Span

_NAMES = 64
"""Names that one import may bring along."""


class Modules(Protocol):
    """What linking needs of a workspace."""

    def module(self, name: str) -> Module | None: ...
    def digest(self, name: str) -> bytes | None: ...
    def absolute(self, home: str, dotted: str) -> str: ...
    def split(self, dotted: str) -> tuple[str, tuple[str, ...]] | None: ...


@dataclass(frozen=True, slots=True)
class Linked:
    """`consulted`: the other modules that were looked at, with the digest of each."""

    module: Module
    consulted: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(slots=True)
class _Gathered:
    """What one import brings, under the names that it has here."""

    functions: dict[str, FunctionSource] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)


def link(module: Module, modules: Modules, home: str, skip: str) -> Linked:
    """`module`, which is called `home` among `modules`, with what it imports. Functions with a decorator that stands
    for `skip` (a dotted name) are left where they are."""
    linker = _Linker(module, modules, home, skip)
    for name, target in module.imports.items():
        if target.partition(".")[0] not in ("cuda", "torch", "math", "numpy"):
            linker.take(name, target)
    return linker.result()


class _Linker:
    def __init__(self, module: Module, modules: Modules, home: str, skip: str) -> None:
        self._module = module
        self._modules = modules
        self._home = home
        self._skip = skip
        self._functions: dict[str, FunctionSource] = {}
        self._constants: dict[str, ast.expr] = dict(module.constants)
        self._imports: dict[str, str] = dict(module.imports)
        self._changed = {n for n, v in module.bindings if v is None or n not in module.constants}
        self._foreign: dict[int, Span] = {}
        self._consulted: dict[str, bytes | None] = {}

    def take(self, name: str, target: str) -> None:
        """Put in what `name` was imported as, if it can be."""
        found = self._find(self._home, target)
        if found is None:
            return
        other, inner = found
        gathered = _Gathered()
        if not self._gather(other, inner, name, gathered, 0):
            return
        place = self._module.import_span(name)
        brought = (*gathered.functions, *gathered.constants, *gathered.imports)
        if not all(self._free(n, name, gathered) for n in brought):
            return
        for replaced in (name, *gathered.functions, *gathered.constants):
            self._imports.pop(replaced, None)
        self._imports.update(gathered.imports)
        self._constants.update(gathered.constants)
        self._functions.update(gathered.functions)
        for node in (*(f.node for f in gathered.functions.values()), *gathered.constants.values()):
            self._foreign[key_of(node)] = place

    def _find(self, home: str, dotted: str) -> tuple[str, str] | None:
        """The module that defines a dotted name and its name there, through re-exports."""
        for _ in range(6):
            absolute = self._modules.absolute(home, dotted)
            found = self._modules.split(absolute)
            if found is None:
                return None
            other, rest = found
            module = self._modules.module(other)
            self._consulted[other] = self._modules.digest(other)
            if module is None or len(rest) != 1:
                return None
            if rest[0] not in module.imports:
                return other, rest[0]
            home, dotted = other, module.imports[rest[0]]
        return None

    def _gather(self, other: str, inner: str, name: str, into: _Gathered, depth: int) -> bool:
        """Gather `inner` of module `other` under `name`, with all that it names."""
        module = self._modules.module(other)
        if module is None or depth > 6 or len(into.functions) + len(into.constants) > _NAMES:
            return False
        function = module.function(inner)
        if function is not None:
            if name in into.functions:
                return into.functions[name].node is function.node
            if any(self._makes_kernel(module, d) for d in function.decorators):
                return False
            into.functions[name] = replace(function, name=name)
            used: ast.AST = function.node
        elif inner in module.constants:
            if name in into.constants:
                return into.constants[name] is module.constants[inner]
            into.constants[name] = used = module.constants[inner]
        else:
            return False
        return all(self._gather_used(other, module, n, into, depth) for n in _names(used))

    def _gather_used(self, other: str, module: Module, used: str, into: _Gathered, depth: int) -> bool:
        target = module.imports.get(used)
        if target is None:
            if module.function(used) is None and used not in module.constants:
                return True  # a local name, or a builtin
            return self._gather(other, used, used, into, depth + 1)
        found = self._find(other, target)
        if found is not None:
            return self._gather(found[0], found[1], used, into, depth + 1)
        absolute = self._modules.absolute(other, target)
        return into.imports.setdefault(used, absolute) == absolute

    def _makes_kernel(self, module: Module, decorator: ast.expr) -> bool:
        callee = decorator.func if isinstance(decorator, ast.Call) else decorator
        return module.resolve(callee) == self._skip

    def _free(self, name: str, taken: str, gathered: _Gathered) -> bool:
        """Whether `name` means nothing else here. `taken` is the import that is being replaced."""
        mine = self._imports.get(name)
        if mine is not None and name != taken:
            return gathered.imports.get(name) == mine or self._is_import_of(mine, name, gathered)
        own = self._module.function(name)
        function = self._functions[name].node if name in self._functions else None if own is None else own.node
        if function is not None:
            other = gathered.functions.get(name)
            return other is not None and _alike(other.node, function)
        if name in self._constants:
            constant = gathered.constants.get(name)
            return constant is not None and _alike(constant, self._constants[name])
        return name not in self._changed

    def _is_import_of(self, target: str, name: str, gathered: _Gathered) -> bool:
        found = self._find(self._home, target)
        module = None if found is None else self._modules.module(found[0])
        if found is None or module is None:
            return False
        function = module.function(found[1])
        if function is not None:
            return name in gathered.functions and gathered.functions[name].node is function.node
        return name in gathered.constants and gathered.constants[name] is module.constants.get(found[1])

    def result(self) -> Linked:
        consulted = tuple(self._consulted.items())
        if not self._foreign:
            return Linked(self._module, consulted)
        made = replace(
            self._module,
            functions=(*self._functions.values(), *self._module.functions),
            constants=self._constants,
            imports=self._imports,
            foreign=self._foreign,
        )
        return Linked(made, consulted)


def _alike(a: ast.AST, b: ast.AST) -> bool:
    """Whether two pieces of code read the same; what they name is compared name by name."""
    return a is b or ast.dump(a) == ast.dump(b)


def _names(node: ast.AST) -> Iterator[str]:
    """Every name that is read in `node`; parameters and local names among them."""
    bound = {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    bound |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    seen: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id not in bound and inner.id not in seen:
            seen.add(inner.id)
            yield inner.id

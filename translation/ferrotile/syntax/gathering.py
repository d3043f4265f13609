"""What a name of another module brings along: the function or constant, and all of its own file that it names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from ferrotile.syntax.module import FunctionSource, Module
from ferrotile.syntax.parsed import key_of

_NAMES = 64
"""Names that one import may bring along."""
_DEPTH = 6


class Modules(Protocol):
    """What linking needs of a workspace."""

    def module(self, name: str) -> Module | None: ...
    def digest(self, name: str) -> bytes | None: ...
    def absolute(self, home: str, dotted: str) -> str: ...
    def split(self, dotted: str) -> tuple[str, tuple[str, ...]] | None: ...
    def file(self, name: str) -> str: ...


class Missing(Exception):
    """A name cannot be taken over; the message says why, as the end of a sentence about it."""


class Gathered(Struct):
    """What one import brings, under the names that it has here. `members` are as in `Module`; `builtins` are the names
    that are Python's own there. `origins` has the module of each function, by its item key."""

    functions: dict[str, FunctionSource] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)
    builtins: set[str] = field(default_factory=set)
    origins: dict[int, str] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """Everything that is bound."""
        return frozenset(self.names_in_order)

    @property
    def names_in_order(self) -> tuple[str, ...]:
        return (*self.functions, *self.constants, *self.classes, *self.imports)


class Gatherer:
    """Follows names through the modules. Functions with a decorator that stands for `skip` are left where they are."""

    def __init__(self, modules: Modules, skip: str) -> None:
        self._modules = modules
        self._skip = skip
        self.consulted: dict[str, bytes | None] = {}

    def module(self, name: str) -> Module | None:
        """A module, which counts as looked at from now on."""
        self.consulted[name] = self._modules.digest(name)
        return self._modules.module(name)

    def file_of(self, name: str) -> str:
        """A module as a reader looks for it."""
        return f"`{self._modules.file(name)}`"

    def find(self, home: str, dotted: str) -> tuple[str, str]:
        """The module that defines a dotted name of module `home`, and its name there, through re-exports. Raises
        Missing."""
        for _ in range(_DEPTH):
            absolute = self._modules.absolute(home, dotted)
            found = self._modules.split(absolute)
            if found is None:
                raise Missing(f"no file of this project is the module `{absolute.rpartition('.')[0] or absolute}`")
            other, rest = found
            module = self.module(other)
            if module is None:
                raise Missing(f"{self.file_of(other)} cannot be read")
            if not rest:
                raise Missing(f"it is a module, {self.file_of(other)}")
            if len(rest) != 1:
                raise Missing(f"no file of this project is the module `{'.'.join((other, *rest[:-1]))}`")
            targets = module.import_targets(rest[0])
            if not targets:
                return other, rest[0]
            if len(targets) > 1 or binds(module, rest[0]):
                raise Missing(f"{self.file_of(other)} binds it more than once")
            home, dotted = other, targets[0]
        raise Missing("its imports go round in a circle")

    def member(self, home: str, target: str, attributes: tuple[str, ...]) -> tuple[str, str, str] | None:
        """What `target.attributes` of module `home` reads of a module: its dotted name as written, the module that
        defines it, and its name there. None where `target` is no module; raises Missing."""
        for end in range(1, len(attributes) + 1):
            dotted = ".".join((target, *attributes[:end]))
            found = self._modules.split(self._modules.absolute(home, dotted))
            if found is None or len(found[1]) > 1:
                return None
            if found[1]:
                return dotted, *self.find(home, dotted)
        return None

    def gather(self, other: str, inner: str, name: str, into: Gathered, depth: int = 0) -> None:
        """Gather `inner` of module `other` under `name`, with all that it names. Raises Missing."""
        module = self.module(other)
        if module is None or depth > _DEPTH or len(into.functions) + len(into.constants) > _NAMES:
            raise Missing(f"it needs too much of {self.file_of(other)}")
        function = module.function(inner)
        if function is not None:
            if name in into.functions and into.functions[name].node is function.node:
                return
            if any(self._makes_kernel(module, d) for d in function.decorators):
                raise Missing(f"`{inner}` of {self.file_of(other)} is a kernel")
            same = [f for f in module.functions if f.name == inner]
            if inner in dict(module.bindings) or (len(same) > 1 and not all(f.node in module.statements for f in same)):
                raise Missing(f"{self.file_of(other)} binds `{inner}` more than once")
            used: ast.AST = function.node
        elif inner in module.constants:
            if name in into.constants and into.constants[name] is module.constants[inner]:
                return
            used = module.constants[inner]
        elif (found := only_class(module, inner)) is not None:
            if into.classes.get(name) is found:
                return
            used = found
        elif binds(module, inner):
            raise Missing(f"`{inner}` of {self.file_of(other)} is neither a function nor bound once")
        else:
            raise Missing(f"{self.file_of(other)} does not define `{inner}`")
        if name in into.names or name in into.builtins:
            raise Missing(f"`{name}` of {self.file_of(other)} means something else in another file that it needs")
        if function is not None:
            into.functions[name] = replace(function, name=name)
            into.origins[key_of(function.node)] = other
        elif isinstance(used, ast.ClassDef):
            into.classes[name] = used
        else:
            into.constants[name] = module.constants[inner]
        for chain in chains_of(used):
            self._gather_used(other, module, *chain, into, depth)

    def _gather_used(
        self, other: str, module: Module, used: str, attributes: tuple[str, ...], into: Gathered, depth: int
    ) -> None:
        targets = module.import_targets(used)
        if not targets:
            if module.function(used) is not None or used in module.constants or only_class(module, used) is not None:
                return self.gather(other, used, used, into, depth + 1)
            if binds(module, used):
                raise Missing(
                    f"`{used}` of {self.file_of(other)}, which it needs, is neither a function nor bound once"
                )
            resolved = module.resolve(ast.Name(used, ast.Load()))
            if resolved is None:
                if used in into.names:
                    raise Missing(
                        f"`{used}` of {self.file_of(other)} means something else in another file that it needs"
                    )
                into.builtins.add(used)
                return None
            if len(module.star_imports) > 1:
                raise Missing(f"{self.file_of(other)} has several star imports: which brings `{used}` is not known")
            targets = (resolved,)
        if len(targets) > 1 or binds(module, used):
            raise Missing(f"{self.file_of(other)} binds `{used}` more than once")
        absolute = self._modules.absolute(other, targets[0])
        found = self._modules.split(absolute)
        if found is not None and found[1]:
            where, inner = self.find(other, targets[0])
            return self.gather(where, inner, used, into, depth + 1)
        member = self.member("", absolute, attributes)
        if member is not None:
            dotted, where, inner = member
            into.members[dotted] = f"{where}.{inner}"
            self.gather(where, inner, f"{where}.{inner}", into, depth + 1)
        if used in into.functions or used in into.constants or used in into.classes or used in into.builtins:
            raise Missing(f"`{used}` of {self.file_of(other)} means something else in another file that it needs")
        if into.imports.setdefault(used, absolute) != absolute:
            raise Missing(f"`{used}` of {self.file_of(other)} means something else in another file that it needs")
        return None

    def _makes_kernel(self, module: Module, decorator: ast.expr) -> bool:
        callee = decorator.func if isinstance(decorator, ast.Call) else decorator
        return module.resolve(callee) == self._skip


def binds(module: Module, name: str) -> bool:
    """Whether anything but an import binds `name` at the top level."""
    if module.function(name) is not None or any(n == name for n, _ in module.bindings):
        return True
    return any(isinstance(s, ast.ClassDef) and s.name == name for s in module.statements)


def only_class(module: Module, name: str) -> ast.ClassDef | None:
    """The class at the top level that is all that a name means."""
    if module.function(name) is not None or any(n == name for n, _ in module.bindings):
        return None
    found = [s for s in module.statements if isinstance(s, ast.ClassDef) and s.name == name]
    return found[0] if len(found) == 1 else None


def chains_of(node: ast.AST) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every name that is read in `node`, with the attributes that are read of it (`a.b.c` is `a`, (`b`, `c`)), each
    once. Names that `node` binds and annotations, which mean nothing in a helper, are left out."""
    bound = {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    bound |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n is not node}
    if isinstance(node, ast.ClassDef):
        bound.add(node.name)
    passed: set[ast.AST] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.arg) and part.annotation is not None:
            passed.update(ast.walk(part.annotation))
        if isinstance(part, ast.FunctionDef) and part.returns is not None:
            passed.update(ast.walk(part.returns))
        if isinstance(part, ast.AnnAssign) and isinstance(node, ast.ClassDef):
            passed.update(ast.walk(part.annotation))
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for part in ast.walk(node):  # outer before inner
        if part in passed or not isinstance(part, ast.Name | ast.Attribute):
            continue
        attributes: list[str] = []
        base: ast.expr = part
        while isinstance(base, ast.Attribute):
            attributes.insert(0, base.attr)
            base = base.value
            passed.add(base)
        chain = (base.id, tuple(attributes)) if isinstance(base, ast.Name) and base.id not in bound else None
        if chain is not None and chain not in seen:
            seen.add(chain)
            yield chain


def public_names(module: Module) -> frozenset[str] | None:
    """The names that a star import of `module` brings; None where that is not known."""
    constants: Mapping[str, ast.expr] = module.constants
    if module.star_imports or module.diagnostics:
        return None
    bound = {n for n, _ in module.bindings}
    if "__all__" in bound:
        try:
            listed = ast.literal_eval(constants["__all__"]) if "__all__" in constants else None
        except ValueError:
            listed = None
        return frozenset(n for n in listed if isinstance(n, str)) if isinstance(listed, list | tuple) else None
    classes = {s.name for s in module.statements if isinstance(s, ast.ClassDef)}
    names = {*bound, *classes, *module.imports, *(f.name for f in module.functions)}
    return frozenset(n for n in names if not n.startswith("_"))

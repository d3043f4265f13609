"""Functions and constants that a file imports from other files, put into its module as if they were defined there.

Only what keeps its meaning is taken over: a function comes with every function, constant and import of its own file
that it names, and not at all where one of these names means something else here. What came from elsewhere has the
place of the import that brought it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.syntax.gathering import Gathered, Gatherer, Missing, Modules, binds, chains_of, only_class, public_names
from ferrotile.syntax.module import FunctionSource, Module
from ferrotile.syntax.parsed import key_of
from ferrotile.syntax.span import Span

_LIBRARIES = ("cuda", "torch", "math", "numpy")


class Linked(Struct, frozen=True):
    """`consulted`: the other modules that were looked at, with the digest of each."""

    module: Module
    consulted: tuple[tuple[str, bytes | None], ...] = ()


def link(module: Module, modules: Modules, home: str, skip: str) -> Linked:
    """`module`, which is called `home` among `modules`, with what it imports. Functions with a decorator that stands
    for `skip` (a dotted name) are left where they are."""
    foreign = {n: t for n, t in module.imports.items() if t.partition(".")[0] not in _LIBRARIES}
    if not foreign and not module.star_imports:
        return Linked(module)
    linker = _Linker(module, modules, home, skip)
    for name, target in foreign.items():
        linker.take_import(name, target)
    for root, attributes in linker.chains:
        if root in foreign and attributes:
            linker.take_member(root, attributes)
    linker.take_stars()
    return linker.result()


class _Linker:
    def __init__(self, module: Module, modules: Modules, home: str, skip: str) -> None:
        self._module = module
        self._modules = modules
        self._home = home
        self._gatherer = Gatherer(modules, skip)
        self._taken = Gathered()
        self._imports: dict[str, str] = dict(module.imports)
        self._places: dict[int, Span] = {}
        self._origins: dict[int, str] = {}
        self._reasons: dict[str, str] = {}
        self._stars = module.star_imports

    @cached_property
    def chains(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """What the file's functions and constants read."""
        nodes = [*(f.node for f in self._module.functions), *self._module.constants.values()]
        return tuple(dict.fromkeys(chain for node in nodes for chain in chains_of(node)))

    @cached_property
    def _unbound(self) -> frozenset[str]:
        """Names that the file reads without binding them: builtins, and what star imports bring."""
        read = {root for root, _ in self.chains}
        return frozenset(n for n in read if n not in self._module.imports and not binds(self._module, n))

    def take_import(self, name: str, target: str) -> None:
        """Put in what `name` was imported as, if it can be."""
        found = self._modules.split(self._modules.absolute(self._home, target))
        if found is not None and not found[1]:
            return
        try:
            if name in self._module.reimported:
                raise Missing("this file imports it more than once")
            self._take(*self._gatherer.find(self._home, target), name, self._module.import_span(name))
        except Missing as missing:
            self._reasons[target] = str(missing)

    def take_member(self, root: str, attributes: tuple[str, ...]) -> None:
        """Put in what `root.attributes` means, where `root` is a module."""
        target = self._module.imports[root]
        written = ".".join((target.rstrip("."), *attributes))
        try:
            if root in self._module.reimported or binds(self._module, root):
                raise Missing(f"this file binds `{root}` more than once")
            member = self._gatherer.member(self._home, target, attributes)
            if member is not None:
                dotted, other, inner = member
                self._take(other, inner, f"{other}.{inner}", self._module.import_span(root))
                self._taken.members[dotted] = f"{other}.{inner}"
        except Missing as missing:
            self._reasons[written] = str(missing)

    def take_stars(self) -> None:
        """Put in those of the mentioned names that a star import brings. Where one of several may bring them, or a
        module that is not at hand, nothing is known of any."""
        if len(self._stars) != 1 or self._stars[0].partition(".")[0] in _LIBRARIES:
            return
        (star,) = self._stars
        absolute = self._modules.absolute(self._home, star)
        module = self._gatherer.module(absolute)
        public = None if module is None else public_names(module)
        if module is None or public is None:
            for name in self._unbound:
                what = f"no file of this project is the module `{absolute}`"
                known = f"what `*` brings of {self._gatherer.file_of(absolute)} is not known"
                self._reasons[f"{star}.{name}"] = what if module is None else known
            return
        place = self._module.star_span(star)
        complete = True
        for name in sorted(self._unbound & public):
            try:
                targets = module.import_targets(name)
                dotted = f"{absolute}.{name}"
                if targets and self._modules.split(self._modules.absolute(absolute, targets[0])) is None:
                    if len(targets) > 1 or binds(module, name):
                        raise Missing(f"{self._gatherer.file_of(absolute)} binds it more than once")
                    self._imports[name] = targets[0]
                    continue
                self._take(*self._gatherer.find("", dotted), name, place)
            except Missing as missing:
                self._reasons[f"{star}.{name}"] = str(missing)
                complete = False
        if complete:
            self._stars = ()

    def _take(self, other: str, inner: str, name: str, place: Span) -> None:
        """Put in `inner` of module `other` as `name`. Raises Missing."""
        gathered = Gathered()
        self._gatherer.gather(other, inner, name, gathered)
        for brought in gathered.names_in_order:
            if not self._free(brought, name, gathered):
                what = "it" if brought == name else f"`{brought}`, which it needs,"
                raise Missing(f"{what} means one thing in {self._gatherer.file_of(other)} and another in this file")
        for used in gathered.builtins:
            if used in self._imports or used in self._taken.names or binds(self._module, used):
                there = self._gatherer.file_of(other)
                raise Missing(f"`{used}`, which it needs, is Python's own in {there}, and not here")
        for replaced in (name, *gathered.functions, *gathered.constants, *gathered.classes):
            self._imports.pop(replaced, None)
        self._imports.update(gathered.imports)
        taken = self._taken
        taken.functions.update(gathered.functions)
        taken.constants.update(gathered.constants)
        taken.classes.update(gathered.classes)
        taken.members.update(gathered.members)
        taken.builtins.update(gathered.builtins)
        self._origins.update(gathered.origins)
        functions = (f.node for f in gathered.functions.values())
        for node in (*functions, *gathered.constants.values(), *gathered.classes.values()):
            self._places[key_of(node)] = place

    def _free(self, name: str, wanted: str, gathered: Gathered) -> bool:
        """Whether `name` means nothing else here. `wanted` is the import that is being replaced."""
        if name in self._taken.builtins or (name in self._unbound and name != wanted and name not in self._taken.names):
            return False
        mine = self._imports.get(name)
        if mine is not None and name != wanted:
            return gathered.imports.get(name) == mine or self._is_import_of(mine, name, gathered)
        if name in self._taken.classes or name in gathered.classes:
            there = gathered.classes.get(name)
            mine_ = self._taken.classes.get(name)
            if mine_ is not None:
                return there is mine_
            return name not in self._taken.names and not binds(self._module, name)
        if name in self._taken.functions or name in self._taken.constants:
            return self._alike(name, gathered, self._taken.functions, self._taken.constants)
        if not binds(self._module, name):
            return True
        own = self._module.function(name)
        bindings = sum(n == name for n, _ in self._module.bindings) + (own is not None)
        known = own is not None or name in self._module.constants
        functions = {} if own is None else {name: own}
        return known and bindings == 1 and self._alike(name, gathered, functions, self._module.constants)

    @staticmethod
    def _alike(
        name: str, gathered: Gathered, functions: dict[str, FunctionSource], constants: Mapping[str, ast.expr]
    ) -> bool:
        """Whether what is gathered under `name` reads like what is there; what they name is compared name by name."""
        mine: ast.AST | None = functions[name].node if name in functions else constants.get(name)
        other = gathered.functions[name].node if name in gathered.functions else gathered.constants.get(name)
        return mine is not None and other is not None and (mine is other or ast.dump(mine) == ast.dump(other))

    def _is_import_of(self, target: str, name: str, gathered: Gathered) -> bool:
        try:
            where, inner = self._gatherer.find(self._home, target)
        except Missing:
            return False
        module = self._gatherer.module(where)
        if module is not None and name in gathered.classes:
            return only_class(module, inner) is gathered.classes[name]
        function = None if module is None else module.function(inner)
        if module is None or function is not None:
            return (
                function is not None and name in gathered.functions and gathered.functions[name].node is function.node
            )
        return name in gathered.constants and gathered.constants[name] is module.constants.get(inner)

    def result(self) -> Linked:
        """The module with all that was taken, and why the rest was not."""
        module, taken = self._module, self._taken
        made = replace(
            module,
            functions=(*taken.functions.values(), *module.functions),
            constants={**taken.constants, **module.constants},
            imports=self._imports,
            star_imports=self._stars,
            classes=taken.classes,
            foreign=self._places,
            origins=self._origins,
            members=taken.members,
            unlinked=self._reasons,
        )
        return Linked(made, tuple(self._gatherer.consulted.items()))

"""Other files whose functions are inlined in kernels: their owners are owners of the Rust, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ferrotile.syntax.gathering import chains_of
from ferrotile.syntax.module import Module
from ferrotile.syntax.parsed import key_of


def inlined_from(module: Module, kernels: Sequence[ast.AST]) -> tuple[str, ...]:
    """The modules of other files of which kernels call functions, also through others, in the order of the calls."""
    if not module.origins:
        return ()
    found: dict[str, None] = {}
    seen: set[int] = set()
    open_ = list(kernels)
    while open_:
        node = open_.pop(0)
        if id(node) in seen:
            continue
        seen.add(id(node))
        origin = module.origins.get(key_of(node))
        if origin is not None:
            found[origin] = None
        for name in _read(module, node):
            function = module.function(name)
            used = module.constants.get(name) if function is None else function.node
            open_ += [used] if used is not None else []
    return tuple(found)


def _read(module: Module, node: ast.AST) -> Iterator[str]:
    """The names of functions and constants that a node reads, also as attributes of modules."""
    for root, attributes in chains_of(node):
        yield root
        target = module.imports.get(root)
        for end in range(1, len(attributes) + 1 if target is not None else 0):
            member = module.members.get(".".join((str(target), *attributes[:end])))
            if member is not None:
                yield member

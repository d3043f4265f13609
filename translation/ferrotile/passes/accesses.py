"""Where a kernel touches its arrays: one record a load or store, with the loops and branches around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ferrotile.passes.affine import Affine, affine
from ferrotile.passes.uses import array_of, definitions, regions
from ferrotile.program.ir import Block, For, If, Loop, Operation, Program, Statement
from ferrotile.program.types import ViewType


class Access(Struct, frozen=True):
    """A load or store of `array` (a value id). `view` and `index` are None and empty for accesses that are no
    tiles of a partition.
    `path` holds the loops and branches around it, outermost first."""

    operation: Operation
    array: int
    store: bool
    view: ViewType | None
    index: tuple[Affine, ...]
    path: tuple[If | For | Loop, ...]

    @property
    def straight(self) -> bool:
        """Whether it runs exactly once a block."""
        return not self.path


_WRITES = {
    "load_view": False, "store_view": True, "load_ptr": False, "store_ptr": True, "gather": False, "scatter": True,
    "atomic_rmw": True, "atomic_cas": True, "load_special": False, "store_special": True, "reduce_view": True,
}  # fmt: skip


def find_accesses(program: Program) -> tuple[Access, ...]:
    """All accesses in program order."""
    defined = definitions(program.body)
    constants = {c.name: int(c.value) for c in program.constants}

    def visit(block: Block, path: tuple[If | For | Loop, ...]) -> Iterator[Access]:
        for statement in block.statements:
            if isinstance(statement, Operation):
                if statement.opcode in _WRITES:
                    yield _access(statement, path, defined, constants)
            else:
                for region in regions(statement):
                    yield from visit(region, (*path, statement))

    return tuple(visit(program.body, ()))


def _access(
    operation: Operation,
    path: tuple[If | For | Loop, ...],
    defined: Mapping[int, Statement],
    constants: Mapping[str, int],
) -> Access:
    first = operation.operands[0]
    array = array_of(first, defined)
    store = _WRITES[operation.opcode]
    number = array.id if array is not None else -1
    made = defined.get(first.id)
    part = isinstance(made, Operation) and made.operands[0].id in defined
    if not isinstance(first.type, ViewType) or operation.opcode not in ("load_view", "store_view") or part:
        return Access(operation, number, store, None, (), path)
    index = operation.operands[2 if store else 1 :]
    return Access(operation, number, store, first.type, tuple(affine(v, defined, constants) for v in index), path)

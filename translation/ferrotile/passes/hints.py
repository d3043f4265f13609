"""Free choices of emission: TMA per access, occupancy, and where a checked load costs nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ferrotile.choices import Choices
from ferrotile.passes.accesses import Access
from ferrotile.passes.affine import Affine
from ferrotile.passes.uses import regions
from ferrotile.program.ir import Block, EntryHint, For, Loop, Operation, Program, Statement, Value
from ferrotile.program.types import TileType, ViewType
from ferrotile.translation import Options

_PRODUCTS = ("mmaf", "mmaf_scaled", "mmai")


def single_row(view: ViewType) -> bool:
    """A tile of rank 2 or more with one row: slow through TMA on sm_90 (4-7 times, measured)."""
    return len(view.tile) >= 2 and all(s.value == 1 for s in view.tile[:-1]) and view.tile[-1].value > 1


def shared_line(access: Access) -> bool:
    """A load of a vector that every block takes the same tiles of, such as weights: through TMA it made kernels of few
    rows a block up to 10 times slower on sm_90 (measured), and never faster."""
    view = access.view
    if access.store or view is None or len(view.tile) != 1:
        return False
    rounds = {f"v{loop.variable.id}" for loop in access.path if isinstance(loop, For)}
    return all(symbol in rounds for form in access.index for symbol, _ in form.terms)


class TmaPolicy(Struct, frozen=True):
    """Which accesses of a kernel may go through TMA. `rounds`: the loops, by the ids of their variables, in which
    matrices are loaded and multiplied. What such a round loads is copied ahead of it together, rows among the rest,
    and faster with TMA (1.0 instead of 1.2 to 1.6 of the Python's time on sm_90, measured)."""

    target: str
    rounds: frozenset[int]
    names: dict[int, str]
    choices: Choices

    def allows(self, access: Access) -> bool:
        """Whether this access may: a tuner's choice, else the author's word, else the measured policy."""
        chosen = self.chosen(access)
        if chosen is not None:
            return chosen
        word = access.operation.attribute("allow_tma")
        return word if isinstance(word, bool) else not self.slow(access)

    def slow(self, access: Access) -> bool:
        """Whether TMA is measured to be slow for it."""
        if self.target != "sm_90" or access.view is None or not (single_row(access.view) or shared_line(access)):
            return False
        return access.store or _round_of(access) not in self.rounds

    def chosen(self, access: Access) -> bool | None:
        """What a tuner chose for the access."""
        return self.choices.access(self.names.get(access.array, ""), access.store)


def tma_policy(program: Program, accesses: Sequence[Access], options: Options) -> TmaPolicy:
    """The policy for one kernel."""
    loading = {_round_of(a) for a in accesses if not a.store and a.view is not None and _is_matrix(a.view)}
    names = {p.value.id: p.name for p in program.parameters}
    return TmaPolicy(options.target, frozenset(_product_rounds(program) & loading), names, options.choices)


def _product_rounds(program: Program) -> frozenset[int]:
    """The innermost loops around products of matrices, by the ids of their variables."""
    found: set[int] = set()

    def visit(block: Block, loop: int | None) -> None:
        for statement in block.statements:
            if isinstance(statement, Operation):
                if statement.opcode in _PRODUCTS and loop is not None:
                    found.add(loop)
                continue
            inner = statement.variable.id if isinstance(statement, For) else loop
            for region in regions(statement):
                visit(region, inner)

    visit(program.body, None)
    return frozenset(found)


def _round_of(access: Access) -> int | None:
    """The innermost loop around an access, by the id of its variable."""
    loops = [loop.variable.id for loop in access.path if isinstance(loop, For)]
    return loops[-1] if loops else None


def _is_matrix(view: ViewType) -> bool:
    return sum(size.value > 1 for size in view.tile) > 1


def check_is_free(access: Access, defined: Mapping[int, Statement]) -> bool:
    """Whether the compiler discharges the bounds check of a load or moves it to the launch."""
    loops = {f"v{p.variable.id}": p for p in access.path if isinstance(p, For)}
    for form in access.index:
        if form.block_axis is not None or form.known == 0 or _minted(form, defined):
            continue
        loop = loops.get(form.symbol or "")
        if loop is None or not _counts_tiles(loop, defined):
            return False
    return True


def _minted(form: Affine, defined: Mapping[int, Statement]) -> bool:
    """Whether an index is that of the mapped partition's own tile."""
    symbol = form.symbol
    source = defined.get(int(symbol[1:])) if symbol is not None and symbol.startswith("v") else None
    return isinstance(source, Operation) and source.opcode == "tile_index"


def _counts_tiles(loop: For, defined: Mapping[int, Statement]) -> bool:
    upper, lower, step = (defined.get(v.id) for v in (loop.upper, loop.lower, loop.step))
    return (
        isinstance(upper, Operation)
        and upper.opcode == "num_tiles"
        and _is_constant(lower, 0)
        and _is_constant(step, 1)
    )


def _is_constant(source: Statement | None, value: int) -> bool:
    return isinstance(source, Operation) and source.opcode == "constant" and source.attribute("value") == value


_ROOM = {"sm_90": (64 << 10, 96 << 10)}
"""Bytes of results and of factors of the products in one round of a loop with which two blocks run faster at a time
than one. Measured with up to 64 and 96 KiB: 0.64 to 0.93 of the time for 13 kernels of five authors with enough blocks
to keep the GPU busy, 1.00 for three more. With larger results there was no gain; with 160 KiB of factors it took 2.2
times as long. Kernels launched with 2 to 112 blocks, which run one at a time anyway, took up to 1.4 of the time."""
_OVERFLOW = {"sm_90": (96 << 10, 128 << 10)}
"""More than the first and no more than the second, in bytes: results of one round that the registers of one block do
not hold (128 threads with 255 of 4 bytes are 127.5 KiB), and those of two do. Two kernels with tiles of 128 x 256 took
0.08 and 0.12 of the time in two; those with results of up to 96 KiB took 1.08 and more."""


def entry_hints(program: Program, target: str) -> tuple[EntryHint, ...]:
    """The hints for an entry that says nothing of its own. Where a loop multiplies matrices: two blocks on a processor
    at a time, for which the assembler would otherwise take all registers and all shared memory for one; or two CTAs a
    block, where one cannot hold the results."""
    said = [hint for hint in program.hints if hint.target in (None, target)]
    if target not in _ROOM or any(h.name == "occupancy" or (h.name == "num_ctas" and h.value > 1) for h in said):
        return ()
    rounds = [_bytes_of(products) for products in _products_by_round(program) if products]
    if not rounds:
        return ()
    room, (most, twice) = _ROOM[target], _OVERFLOW[target]
    if all(results <= room[0] and factors <= room[1] for results, factors in rounds):
        return (EntryHint("occupancy", 2, target),)
    if all(most < results <= twice for results, _ in rounds) and not any(h.name == "num_ctas" for h in said):
        return (EntryHint("num_ctas", 2, target),)
    return ()


def _bytes_of(products: Sequence[Operation]) -> tuple[int, int]:
    """Of their results, and of what they multiply."""
    results = sum(_bytes(o.result) for o in products)
    return results, sum(_bytes(value) for o in products for value in o.operands[:2])


def _bytes(value: Value) -> int:
    assert isinstance(value.type, TileType)
    return math.prod(size.value for size in value.type.shape) * value.type.dtype.bits // 8


def _products_by_round(program: Program) -> list[list[Operation]]:
    """The products directly in each loop."""
    found: list[list[Operation]] = []

    def visit(block: Block, products: list[Operation]) -> None:
        for statement in block.statements:
            if isinstance(statement, Operation):
                if statement.opcode in _PRODUCTS:
                    products.append(statement)
                continue
            inner = products
            if isinstance(statement, (For, Loop)):
                inner = []
                found.append(inner)
            for region in regions(statement):
                visit(region, inner)

    visit(program.body, [])
    return found

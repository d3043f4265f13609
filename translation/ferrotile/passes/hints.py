"""Free choices of emission: TMA per access, and where a checked load costs nothing."""

from __future__ import annotations

from collections.abc import Mapping

from ferrotile.passes.accesses import Access
from ferrotile.passes.affine import Affine
from ferrotile.program.ir import For, Operation, Statement
from ferrotile.program.types import ViewType


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


def use_tma(access: Access, target: str) -> bool:
    """Whether this access may go through TMA: the author's word, else the measured policy."""
    word = access.operation.attribute("allow_tma")
    if isinstance(word, bool):
        return word
    slow = access.view is not None and (single_row(access.view) or shared_line(access))
    return not (target == "sm_90" and slow)


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

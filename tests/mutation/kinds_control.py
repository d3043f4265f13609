"""Mutations of loops, branches, reductions, checks and of what the launch gives, in Tile IR."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from edit import Edit, Site, with_attributes, with_role
from ferrotile_runner.tileir.model import Operation, TileType, TokenType, Value
from ferrotile_runner.tileir.operations import TABLE, Effect
from kinds import TileIrKind
from kinds_values import changed, constant, is_float, made, moved_index, tile
from msgspec.structs import replace

_COMBINERS = {
    "addf": ("mulf", "maxf", "subf"), "mulf": ("addf",), "maxf": ("minf", "addf"), "minf": ("maxf",),
    "addi": ("muli", "maxi", "xori", "subi"), "muli": ("addi",), "maxi": ("mini", "addi"), "mini": ("maxi",),
    "andi": ("ori", "xori"), "ori": ("andi", "xori"), "xori": ("ori", "addi"),
}  # fmt: skip


def _loop(site: Site) -> Operation | None:
    """The loop that a terminator belongs to."""
    return next((op for op in reversed(site.around) if op.name in {"for", "loop"}), None)


def _in_reduction(site: Site) -> bool:
    return bool(site.around) and site.around[-1].name in {"reduce", "scan"}


# Loops


def _bound(role: str, site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "for":
        yield from moved_index(site, role, 0, op.one(role))


def loop_start(site: Site) -> Iterator[Edit]:
    yield from _bound("lower", site)


def loop_end(site: Site) -> Iterator[Edit]:
    yield from _bound("upper", site)


def loop_step(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "for":
        edits = moved_index(site, "step", 0, op.one("step"))
        yield next(edits)


def initial_value(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name in {"for", "loop"}:
        for place, value in enumerate(op.named["initial"]):
            kind = tile(value)
            if kind is None:
                continue
            for peer in islice(site.peers(value), 2):
                values = op.named["initial"]
                new = (*values[:place], peer, *values[place + 1 :])
                yield changed(site, f"starts from another value {place}", with_role(op, "initial", *new))
            if is_float(value):
                yield from _moved_start(site, place, value)
            elif isinstance(kind.element, str) and kind.element[0] == "i" and kind.element != "i1":
                yield from moved_index(site, "initial", place, value)


def _moved_start(site: Site, place: int, value: Value) -> Iterator[Edit]:
    op, values = site.operation, site.operation.named["initial"]
    one, moved = site.fresh(value.type), site.fresh(value.type, 1)
    use = with_role(op, "initial", *values[:place], moved, *values[place + 1 :])
    new = constant(one, "1.000000e+00"), made("addf", {"lhs": value, "rhs": one}, moved), use
    yield Edit(f"{op.name}: starts from one more {place}", op, new)


def lost_carry(site: Site) -> Iterator[Edit]:
    """A round passes on what it got."""
    op, loop = site.operation, _loop(site)
    if op.name != "continue" or loop is None:
        return
    arguments = loop.regions[0].arguments[loop.name == "for" :]
    for place, (value, argument) in enumerate(zip(op.named["values"], arguments, strict=True)):
        if value != argument:
            what = "token" if isinstance(value.type, TokenType) else "value"
            values = op.named["values"]
            new = (*values[:place], argument, *values[place + 1 :])
            yield changed(site, f"{what} {place} is not carried on", with_role(op, "values", *new))


def swapped_carries(site: Site) -> Iterator[Edit]:
    op = site.operation
    role = {"continue": "values", "yield": "values", "break": "values", "for": "initial", "loop": "initial"}.get(
        op.name
    )
    if role is None or _in_reduction(site):
        return
    values = op.named.get(role, ())
    for a in range(len(values)):
        for b in range(a):
            if values[a] != values[b] and values[a].type == values[b].type:
                new = [*values]
                new[a], new[b] = values[b], values[a]
                yield changed(site, f"{role} {b} and {a} exchanged", with_role(op, role, *new))


def other_passed(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name in {"continue", "yield", "break"} and not _in_reduction(site):
        for place, value in enumerate(op.named.get("values", ())):
            for peer in islice(site.peers(value), 2):
                new = (*op.named["values"][:place], peer, *op.named["values"][place + 1 :])
                yield changed(site, f"passes another value {place}", with_role(op, "values", *new))


def result_of_loop(site: Site) -> Iterator[Edit]:
    """What the loop started from is used in place of what it gives."""
    op = site.operation
    if op.name in {"for", "loop"}:
        for value, result in zip(op.named["initial"], op.results, strict=False):
            if value.type == result.type:
                yield Edit(f"{op.name}: its result is its start", op, (op,), {result.number: value}, True)


def other_exit(site: Site) -> Iterator[Edit]:
    """`break` goes on; `continue` under an `if` stops."""
    op, loop = site.operation, _loop(site)
    if loop is not None and op.name in {"break", "continue"}:
        values = op.named.get("values", ())
        arguments = loop.regions[0].arguments[loop.name == "for" :]
        name = "continue" if op.name == "break" else "break"
        if len(values) == len(arguments) and (name == "continue" or loop.name == "loop"):
            yield changed(site, f"is {name}", replace(op, name=name))


# Branches


def _opposite(site: Site) -> tuple[Operation, ...]:
    """The operation under the opposite of its condition, and what makes that."""
    condition = site.operation.one("condition")
    one, turned = site.fresh(condition.type), site.fresh(condition.type, 1)
    opposite = made("xori", {"lhs": condition, "rhs": one}, turned)
    return constant(one, "true"), opposite, with_role(site.operation, "condition", turned)


def negated_condition(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "if":
        yield Edit("if: the opposite condition", op, _opposite(site))


def fixed_condition(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "if":
        for word in ("true", "false"):
            fixed = site.fresh(op.one("condition").type)
            yield Edit(f"if: always {word}", op, (constant(fixed, word), with_role(op, "condition", fixed)))


def swapped_branches(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "if" and len(op.regions) == 2:
        yield changed(site, "branches exchanged", replace(op, regions=(op.regions[1], op.regions[0])))


# Reductions and scans


def other_axis(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name in {"reduce", "scan"}:
        kind = tile(op.operands[0])
        for axis in range(len(kind.shape) if kind else 0):
            if axis != op.attributes.get("dim"):
                yield changed(site, f"along axis {axis}", with_attributes(op, dim=axis))


def other_identity(site: Site) -> Iterator[Edit]:
    op = site.operation
    words = op.attributes.get("identities")
    if op.name in {"reduce", "scan"} and isinstance(words, tuple):
        for place, value in enumerate(op.operands):
            for word in ("0.000000e+00", "1.000000e+00") if is_float(value) else ("0", "1"):
                if str(words[place]) != word:
                    new = (*map(str, words[:place]), word, *map(str, words[place + 1 :]))
                    yield changed(site, f"starts from {word}", with_attributes(op, identities=new))


def other_combiner(site: Site) -> Iterator[Edit]:
    op = site.operation
    if _in_reduction(site):
        for name in _COMBINERS.get(op.name, ()):
            known = {*TABLE[name].words.values(), *TABLE[name].keys}
            kept = {k: v for k, v in op.attributes.items() if k in known}
            if "signedness" in TABLE[name].words.values():
                kept["signedness"] = "signed"
            yield changed(site, f"of a reduction is {name}", replace(op, name=name, attributes=kept))


def combined_operands(site: Site) -> Iterator[Edit]:
    op = site.operation
    if _in_reduction(site) and op.name == "yield":
        for place, value in enumerate(op.named["values"]):
            for peer in islice(site.peers(value), 4):
                new = (*op.named["values"][:place], peer, *op.named["values"][place + 1 :])
                yield changed(site, "a reduction gives another value", with_role(op, "values", *new))


def other_direction(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "scan":
        yield changed(site, "the other way round", with_attributes(op, reverse=not op.flag("reverse")))


def matrix_operands(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name not in {"mmaf", "mmai", "mmaf_scaled"}:
        return
    if op.one("lhs").type == op.one("rhs").type:
        yield changed(site, "factors exchanged", with_role(with_role(op, "lhs", op.one("rhs")), "rhs", op.one("lhs")))
    zero = site.fresh(op.one("acc").type)
    text = "0.000000e+00" if is_float(zero) else "0"
    yield Edit(f"{op.name}: forgets what was", op, (constant(zero, text), with_role(op, "acc", zero)))


def matrix_flags(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "mmaf":
        flag = op.flag("fast_acc")
        yield changed(site, "other accumulation", with_attributes(op, fast_acc=None if flag else True))


# Checks, printing, the launch


def dropped_check(site: Site) -> Iterator[Edit]:
    if site.operation.name == "assert":
        yield Edit("assert: left out", site.operation, ())


def other_check(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "assert":
        yield Edit("assert: the opposite", op, _opposite(site))


def added_check(site: Site) -> Iterator[Edit]:
    """A check of the first block's number, before a store."""
    op = site.operation
    if TABLE[op.name].effect is Effect.STORE:
        scalar, flag = TileType((), "i32"), TileType((), "i1")
        x, y, z, one, low = (site.fresh(scalar, number) for number in range(5))
        passed = site.fresh(flag, 5)
        new = (
            Operation("get_tile_block_id", {}, (x, y, z), {}, (), None, 0),
            constant(one, "1"),
            made("cmpi", {"lhs": x, "rhs": one}, passed, predicate="less_than", signedness="signed"),
            Operation("assert", {"condition": (passed,)}, (), {"message": "added"}, (), None, 0),
        )
        yield Edit(f"{op.name}: behind a check", op, (*new, op))
        del low


def printed_text(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "print_tko":
        yield changed(site, "another text", with_attributes(op, message=op.word("message") + "!"))


def exchanged_axes(site: Site) -> Iterator[Edit]:
    """The axes of block ids, grid sizes, index spaces."""
    op = site.operation
    if op.name in {"get_tile_block_id", "get_num_tile_blocks", "get_index_space_shape", "get_tensor_shape"}:
        for a in range(len(op.results)):
            for b in range(a):
                x, y = op.results[a], op.results[b]
                if x.type == y.type:
                    yield Edit(f"{op.name}: axes {b} and {a} exchanged", op, (op,), {x.number: y, y.number: x}, True)


def block_for_grid(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "get_tile_block_id":
        yield changed(site, "is the grid's size", replace(op, name="get_num_tile_blocks"))
    if op.name == "get_num_tile_blocks":
        yield changed(site, "is the block's id", replace(op, name="get_tile_block_id"))


def other_parameter(site: Site) -> Iterator[Edit]:
    """An operand that is a parameter of the kernel: another parameter of its type."""
    op = site.operation
    if op.name in {"yield", "continue", "break"}:
        return
    parameters = site.entry.parameters
    for role, values in op.named.items():
        for place, value in enumerate(values):
            if value in parameters:
                for peer in [p for p in parameters if p.type == value.type and p != value][:3]:
                    new = (*values[:place], peer, *values[place + 1 :])
                    yield changed(site, f"{role} {place} is another parameter", with_role(op, role, *new))


def other_assumption(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "assume" and op.word("predicate").startswith(("div_by", "bounded")):
        for other in ("div_by<1024>", "bounded<1, 7>"):
            yield changed(site, other, with_attributes(op, predicate=other))


KINDS = (
    TileIrKind("start of a loop", "a loop's lower bound: one more, one less", loop_start),
    TileIrKind("end of a loop", "a loop's upper bound: one more, one less", loop_end),
    TileIrKind("step of a loop", "a loop's step: one more", loop_step),
    TileIrKind("initial value", "what a loop starts from: one more, another value", initial_value),
    TileIrKind("lost carry", "a value or token that a round passes on: it passes on what it got", lost_carry),
    TileIrKind("swapped carries", "two values that are passed on", swapped_carries),
    TileIrKind("other passed value", "a value that is passed on: another of its type", other_passed),
    TileIrKind("result of a loop", "what a loop gives: what it started from", result_of_loop),
    TileIrKind("other exit", "`break` and `continue` for each other", other_exit),
    TileIrKind("negated condition", "the condition of an `if`", negated_condition),
    TileIrKind("fixed condition", "the condition of an `if`: true, false", fixed_condition),
    TileIrKind("swapped branches", "the branches of an `if`", swapped_branches),
    TileIrKind("other axis", "the axis of a reduction or scan", other_axis),
    TileIrKind("other identity", "what a reduction or scan starts from", other_identity),
    TileIrKind("other combiner", "the function of a reduction or scan", other_combiner),
    TileIrKind("combined operands", "what the function of a reduction gives", combined_operands),
    TileIrKind("other direction", "`reverse` of a scan", other_direction),
    TileIrKind("operands of a product", "the factors of a matrix product, what it adds to", matrix_operands),
    TileIrKind("accumulation of a product", "`fast_acc`", matrix_flags),
    TileIrKind("dropped check", "an `assert`: left out", dropped_check),
    TileIrKind("other check", "an `assert`: the opposite", other_check),
    TileIrKind("added check", "an `assert` that the original does not have", added_check),
    TileIrKind("printed text", "the text of `print_tko`", printed_text),
    TileIrKind("exchanged axes", "the axes of block ids, grids, index spaces", exchanged_axes),
    TileIrKind("block for grid", "a block's id and the grid's size for each other", block_for_grid),
    TileIrKind("other parameter", "an extent, stride, scalar or array of the launch: another", other_parameter),
    TileIrKind("other assumption", "what an `assume` says", other_assumption),
)  # fmt: skip

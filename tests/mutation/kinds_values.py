"""Mutations of operations that compute values, in Tile IR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from edit import Edit, Site, with_attributes, with_role
from ferrotile_runner.tileir.model import Attribute, Operation, TileType, Value, walk
from ferrotile_runner.tileir.operations import TABLE, TERMINATORS, Effect
from kinds import TileIrKind
from msgspec.structs import replace

PREDICATES = (
    "equal",
    "not_equal",
    "less_than",
    "less_than_or_equal",
    "greater_than",
    "greater_than_or_equal",
)
ROUNDINGS = ("nearest_even", "zero", "negative_inf", "positive_inf")
_ROUNDED = frozenset(["addf", "subf", "mulf", "divf", "fma", "sqrt", "ftof", "itof"])
_APPROXIMATE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"exp": ("full", "approx"), "exp2": ("full", "approx"), "tanh": ("full", "approx"), "divf": ("full", "approx")}
)
_FLOAT_PEERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **{n: tuple(o for o in ("addf", "subf", "mulf", "divf", "maxf", "minf") if o != n) for n in ("addf", "subf")},
        "mulf": ("divf", "addf"), "divf": ("mulf", "subf"), "maxf": ("minf", "addf"), "minf": ("maxf",),
        "pow": ("mulf",), "remf": ("divf",), "atan2": ("divf",),
    }
)  # fmt: skip
_UNARY_PEERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "exp": ("exp2",), "exp2": ("exp",), "log": ("log2",), "log2": ("log",), "sin": ("cos",), "cos": ("sin",),
        "tan": ("sin",), "sinh": ("cosh",), "cosh": ("sinh",), "sqrt": ("rsqrt",), "rsqrt": ("sqrt",),
        "floor": ("ceil",), "ceil": ("floor",), "absf": ("negf",), "negf": ("absf",), "tanh": ("exp",),
    }
)  # fmt: skip
_INTEGER_PEERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "addi": ("subi", "muli", "ori"), "subi": ("addi",), "muli": ("addi",), "andi": ("ori", "xori"),
        "ori": ("andi", "xori"), "xori": ("ori", "andi"), "maxi": ("mini",), "mini": ("maxi",), "divi": ("remi",),
        "remi": ("divi",), "shli": ("shri",), "shri": ("shli",), "mulhii": ("muli",),
    }
)  # fmt: skip


def tile(value: Value) -> TileType | None:
    return value.type if isinstance(value.type, TileType) else None


def is_float(value: Value) -> bool:
    kind = tile(value)
    return kind is not None and isinstance(kind.element, str) and kind.element[0] in "fbt"


def is_integer(value: Value) -> bool:
    kind = tile(value)
    return kind is not None and isinstance(kind.element, str) and kind.element[0] == "i"


def made(name: str, operands: Mapping[str, Value], result: Value, **attributes: Attribute) -> Operation:
    """A new operation with one result."""
    named = {role: (value,) for role, value in operands.items()}
    return Operation(name, named, (result,), attributes, (), None, 0)


def constant(result: Value, text: str) -> Operation:
    return Operation("constant", {}, (result,), {"value": text}, (), None, 0)


def changed(site: Site, what: str, operation: Operation) -> Edit:
    return Edit(f"{site.operation.name}: {what}", site.operation, (operation,))


def instead_of_result(site: Site, what: str, value: Value) -> Edit:
    """Uses of the operation's result are uses of another value; the operation stays, for nothing."""
    name = site.operation.name
    return Edit(f"{name}: {what}", site.operation, (site.operation,), {site.operation.results[0].number: value}, True)


def after(site: Site, what: str, *new: Operation) -> Edit:
    """New operations behind it; its uses become those of the last one's result."""
    old = site.operation
    return Edit(f"{old.name}: {what}", old, (old, *new), {old.results[0].number: new[-1].results[0]}, True)


def is_pure(site: Site) -> bool:
    """Whether it has one result and no effect."""
    return TABLE[site.operation.name].effect is Effect.NONE and len(site.operation.results) == 1


def in_reduction(site: Site) -> bool:
    """Whether it is part of a function that a reduction or scan combines by."""
    return any(op.name in {"reduce", "scan"} for op in site.around)


# Operands and operations


def swapped_operands(site: Site) -> Iterator[Edit]:
    op = site.operation
    if {"lhs", "rhs"} <= op.named.keys() and op.name not in {"select", "cat"}:
        left, right = op.one("lhs"), op.one("rhs")
        if left.type == right.type and left != right and not in_reduction(site):
            yield changed(site, "operands exchanged", with_role(with_role(op, "lhs", right), "rhs", left))


def swapped_arms(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "select":
        yield changed(site, "arms exchanged", with_role(with_role(op, "lhs", op.one("rhs")), "rhs", op.one("lhs")))


def other_operand(site: Site) -> Iterator[Edit]:
    op = site.operation
    if not is_pure(site):
        return
    for role, values in op.named.items():
        for place, value in enumerate(values):
            for peer in islice(site.peers(value), 3):
                new = (*values[:place], peer, *values[place + 1 :])
                yield changed(site, f"{role} {place} is another value of its type", with_role(op, role, *new))


def _renamed(site: Site, peers: Mapping[str, tuple[str, ...]]) -> Iterator[Edit]:
    op = site.operation
    for name in peers.get(op.name, ()):
        row = TABLE[name]
        known = {*row.words.values(), *row.keys}
        kept = {k: v for k, v in op.attributes.items() if k in known and (k != "rounding" or name != "remi")}
        if "signedness" in row.words.values() and "signedness" not in kept:
            kept["signedness"] = "signed"
        if op.name in {"divi", "exp", "exp2", "tanh"}:
            kept.pop("rounding", None)
        if in_reduction(site):
            continue
        yield changed(site, f"is {name}", replace(op, name=name, attributes=kept))


def other_float_operation(site: Site) -> Iterator[Edit]:
    yield from _renamed(site, _FLOAT_PEERS)


def other_function(site: Site) -> Iterator[Edit]:
    yield from _renamed(site, _UNARY_PEERS)


def other_integer_operation(site: Site) -> Iterator[Edit]:
    yield from _renamed(site, _INTEGER_PEERS)


def dropped_operation(site: Site) -> Iterator[Edit]:
    op = site.operation
    if is_pure(site) and op.name not in {"constant", "iota"} and not op.regions:
        for role, value in ((role, v) for role, values in op.named.items() for v in values):
            if value.type == op.results[0].type:
                yield instead_of_result(site, f"left out, its {role} in its place", value)


def inserted_negation(site: Site) -> Iterator[Edit]:
    op = site.operation
    if not is_pure(site) or op.name in {"negf", "negi", "constant"}:
        return
    result = op.results[0]
    kind = tile(result)
    if kind is None or kind.element == "i1":
        return
    name = "negf" if is_float(result) else "negi" if is_integer(result) else ""
    if name:
        yield after(site, "negated", made(name, {"source": result}, site.fresh(result.type)))


# Attributes


def other_rounding(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name in _ROUNDED:
        now = op.word("rounding", "nearest_even")
        for rounding in ROUNDINGS:
            if rounding != now and now in ROUNDINGS:
                yield changed(site, f"rounds to {rounding}", with_attributes(op, rounding=rounding))


def other_approximation(site: Site) -> Iterator[Edit]:
    op = site.operation
    for rounding in _APPROXIMATE.get(op.name, ()):
        if rounding != op.word("rounding", "full" if op.name != "divf" else "nearest_even"):
            yield changed(site, f"rounding is {rounding}", with_attributes(op, rounding=rounding))


def flipped_flush(site: Site) -> Iterator[Edit]:
    op = site.operation
    kind = tile(op.results[0]) if op.results else None
    if "flush_to_zero" in TABLE[op.name].words and kind is not None and kind.element == "f32":
        flag = op.flag("flush_to_zero")
        yield changed(site, "denormals flushed" if not flag else "denormals kept", with_attributes(
            op, flush_to_zero=None if flag else True))  # fmt: skip


def flipped_nan(site: Site) -> Iterator[Edit]:
    op = site.operation
    if "propagate_nan" in TABLE[op.name].words:
        flag = op.flag("propagate_nan")
        yield changed(site, "other treatment of NaN", with_attributes(op, propagate_nan=None if flag else True))


def other_predicate(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name in {"cmpi", "cmpf"}:
        for predicate in PREDICATES:
            if predicate != op.word("predicate"):
                yield changed(site, f"compares {predicate}", with_attributes(op, predicate=predicate))


def other_ordering(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "cmpf":
        word = "unordered" if op.word("ordering") == "ordered" else "ordered"
        yield changed(site, f"compares {word}", with_attributes(op, ordering=word))


def other_sign(site: Site) -> Iterator[Edit]:
    op = site.operation
    words = op.word("signedness").split()
    for place, word in enumerate(words):
        new = [*words]
        new[place] = "unsigned" if word == "signed" else "signed"
        yield changed(site, f"operands are {new[place]}", with_attributes(op, signedness=" ".join(new)))


def other_division(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "divi":
        for rounding in ("zero", "negative_inf", "positive_inf"):
            if rounding != op.word("rounding", "zero"):
                yield changed(site, f"rounds to {rounding}", with_attributes(op, rounding=rounding))


def other_promise(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name in {"addi", "subi", "muli", "shli", "trunci"}:
        for word in ("no_signed_wrap", "no_unsigned_wrap", "no_wrap"):
            if op.word("overflow") != word:
                yield changed(site, f"promises {word}", with_attributes(op, overflow=word))


def flipped_saturation(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "ftoi":
        flag = op.flag("saturating")
        yield changed(site, "other treatment of numbers too large", with_attributes(
            op, saturating=None if flag else True))  # fmt: skip


# Constants


def _literals(site: Site) -> tuple[str, str] | None:
    op = site.operation
    kind = tile(op.results[0]) if op.name == "constant" else None
    text = op.word("value")
    if kind is None or not isinstance(kind.element, str) or text.startswith("["):
        return None
    return text, kind.element


def integer_constant(site: Site) -> Iterator[Edit]:
    found = _literals(site)
    if found is None or found[1][0] != "i" or found[1] == "i1":
        return
    value = int(found[0], 0)
    for other in (value + 1, value - 1, -value, 2 * value):
        if other != value:
            yield changed(site, f"{value} is {other}", with_attributes(site.operation, value=str(other)))


def boolean_constant(site: Site) -> Iterator[Edit]:
    found = _literals(site)
    if found is not None and found[1] == "i1":
        word = "false" if found[0] in {"true", "1", "-1"} else "true"
        yield changed(site, f"is {word}", with_attributes(site.operation, value=word))


def float_constant(site: Site) -> Iterator[Edit]:
    found = _literals(site)
    if found is None or found[1][0] not in "fbt":
        return
    for other in ("0.000000e+00", "1.000000e+00", "-2.500000e+00", "-0.000000e+00"):
        if other != found[0]:
            yield changed(site, f"{found[0]} is {other}", with_attributes(site.operation, value=other))


# What changes need


def definition(site: Site, value: Value) -> Operation | None:
    """The operation that a value is the result of."""
    for op in walk(site.entry.body):
        if any(result == value for result in op.results):
            return op
    return None


def moved_index(site: Site, role: str, place: int, value: Value) -> Iterator[Edit]:
    """A component of an index one up or down."""
    op = site.operation
    for name, what in (("addi", "one more"), ("subi", "one less")):
        one, moved = site.fresh(value.type), site.fresh(value.type, 1)
        values = op.named[role]
        new = (
            constant(one, "1"),
            made(name, {"lhs": value, "rhs": one}, moved),
            with_role(op, role, *values[:place], moved, *values[place + 1 :]),
        )
        yield Edit(f"{op.name}: {role} {place} is {what}", op, new)


KINDS = (
    TileIrKind("swapped operands", "the two operands of an operation", swapped_operands),
    TileIrKind("swapped arms", "the arms of `select`", swapped_arms),
    TileIrKind("other operand", "an operand: another value of its type", other_operand),
    TileIrKind("other float operation", "`addf`, `subf`, `mulf`, `divf`, `maxf`, `minf` for each other",
               other_float_operation),
    TileIrKind("other function", "`exp` for `exp2`, `sin` for `cos`, `floor` for `ceil`, ...", other_function),
    TileIrKind("other integer operation", "`addi`, `subi`, `andi`, `maxi`, `divi`, `shli`, ... for each other",
               other_integer_operation),
    TileIrKind("operation left out", "an operation: its operand stands for it", dropped_operation),
    TileIrKind("inserted negation", "the sign of a value", inserted_negation),
    TileIrKind("other rounding", "the rounding of float operations and conversions", other_rounding),
    TileIrKind("approximation", "the rounding words `full` and `approx`", other_approximation),
    TileIrKind("flush to zero", "the flush of denormals", flipped_flush),
    TileIrKind("NaN of extremes", "`propagate_nan` of `maxf` and `minf`", flipped_nan),
    TileIrKind("other predicate", "the predicate of a comparison", other_predicate),
    TileIrKind("ordered or unordered", "what a float comparison says of NaN", other_ordering),
    TileIrKind("other sign", "`signed` and `unsigned`", other_sign),
    TileIrKind("rounding of a division", "where an integer division rounds to", other_division),
    TileIrKind("promise of no overflow", "the overflow flags", other_promise),
    TileIrKind("saturation", "`saturating` of `ftoi`", flipped_saturation),
    TileIrKind("integer constant", "an integer constant: one more, one less, negated, doubled", integer_constant),
    TileIrKind("boolean constant", "true for false", boolean_constant),
    TileIrKind("float constant", "a float constant: 0, 1, another, -0", float_constant),
)  # fmt: skip
assert not TERMINATORS & set(_FLOAT_PEERS), "terminators are mutated in kinds_control"

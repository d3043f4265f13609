"""The table of kinds of mutations of Rust, and the mutants that they make of a text."""

from __future__ import annotations

import random
from collections.abc import Iterator

import kinds_rust as k
from kinds import RustEdit
from kinds_rust import RustKind
from rust_tokens import tokens_of

KINDS: tuple[RustKind, ...] = (
    RustKind("swapped arguments", "the first two arguments of a call", k.swapped_arguments),
    RustKind("swapped arms", "the arms of `select`", k.swapped_arms),
    RustKind("other operator", "`+`, `-`, `*`, `/` for each other", k.other_operator),
    RustKind("swapped operands", "the operands of `-`, `/`, `<`", k.swapped_operator),
    RustKind("comparison", "`<`, `<=`, `>`, `==`, `!=` for each other", k.compared),
    RustKind("other function", "`exp` and `exp2`, `sin` and `cos`, `floor` and `ceil`, ...", k.words(
        (("exp", "exp2"), ("sin", "cos", "tan"), ("log", "log2"), ("floor", "ceil"), ("sqrt", "absf"),
         ("negf", "absf"), ("sinh", "cosh"), ("addf", "subf", "mulf", "divf"), ("andi", "ori", "xori"),
         ("floor_div", "ceil_div", "divi"), ("num_tiles", "program_id")))),
    RustKind("minimum and maximum", "`max_tile`, `reduce_max`, `min`, ... for each other", k.words(
        (("max_tile", "min_tile"), ("maxf", "minf"), ("maxi", "mini"), ("min", "max"),
         ("reduce_max", "reduce_min", "reduce_sum", "reduce_prod")))),
    RustKind("other predicate", "`lt_tile`, `le_tile`, ..., `predicate::..`", k.words(
        (("lt_tile", "le_tile", "gt_tile", "ge_tile", "eq_tile", "ne_tile"),
         ("predicate::LessThan", "predicate::LessThanOrEqual", "predicate::GreaterThan", "predicate::Equal",
          "predicate::NotEqual", "predicate::GreaterThanOrEqual")))),
    RustKind("ordered or unordered", "`cmp_ordering::..`", k.words(
        (("cmp_ordering::Ordered", "cmp_ordering::Unordered"),))),
    RustKind("rounding", "`rounding::..`", k.words(
        (("rounding::NearestEven", "rounding::Zero", "rounding::NegativeInf", "rounding::PositiveInf"),))),
    RustKind("flush", "`ftz::..`", k.words((("ftz::Enabled", "ftz::Disabled"),))),
    RustKind("NaN", "`nan::..`", k.words((("nan::Enabled", "nan::Disabled"),))),
    RustKind("padding", "`padding::..`", k.words(
        (("padding::None", "padding::Zero", "padding::NegInf", "padding::Nan", "padding::PosInf"),))),
    RustKind("direction of a scan", "`reverse::..`", k.words((("reverse::Forward", "reverse::Reverse"),))),
    RustKind("sign", "`signedness::..`, and the signs of element types", k.words(
        (("signedness::Signed", "signedness::Unsigned"), ("i32", "u32"), ("i64", "u64"), ("i8", "u8"),
         ("i16", "u16")))),
    RustKind("element type", "float types of tiles and casts", k.words((("f16", "bf16", "f32"), ("f32", "f64")))),
    RustKind("overflow", "`overflow::..`", k.words(
        (("overflow::NoUnsignedWrap", "overflow::NoSignedWrap", "overflow::NoWrap"),))),
    RustKind("atomic", "`atomic::..`", k.words(
        (("atomic::Add", "atomic::Max", "atomic::Min", "atomic::And", "atomic::Or", "atomic::Xor", "atomic::Xchg"),
         ("atomic::Umax", "atomic::Umin", "atomic::Max", "atomic::Min")))),
    RustKind("memory order", "`ordering::..`", k.words(
        (("ordering::Relaxed", "ordering::Acquire", "ordering::Release", "ordering::AcqRel"),))),
    RustKind("scope", "`scope::..`", k.words((("scope::Device", "scope::TileBlock", "scope::System"),))),
    RustKind("integer literal", "an integer: one more, one less", k.integer_literal),
    RustKind("float literal", "a float: 0, 1, 2.5", k.float_literal),
    RustKind("truth", "`true` for `false`", k.words((("true", "false"),))),
    RustKind("moved index", "a component of an index: one more, one less", k.moved_index),
    RustKind("swapped index", "two components of an index", k.swapped_index),
    RustKind("swapped shape", "two axes of `shape!`, `const_array!`", k.swapped_shape),
    RustKind("type of a partition", "the tile in the types of parameters, and in all others; the launch stays",
             k.partition_type),
    RustKind("other axis", "the axis of a reduction, of `num_tiles`, of `program_id`", k.other_axis),
    RustKind("start of a loop", "one later", k.loop_start),
    RustKind("end of a loop", "one later, one earlier", k.loop_end),
    RustKind("step of a loop", "`step_by`", k.loop_step),
    RustKind("lost carry", "an assignment to an outer variable: forgotten", k.lost_carry),
    RustKind("missing store", "a store: left out", k.missing_store),
    RustKind("doubled store", "a store: made twice", k.doubled_store),
    RustKind("reordered stores", "two stores that follow each other", k.reordered_stores),
    RustKind("other value", "a name: another name of the text, arrays among them", k.other_value),
    RustKind("dropped token", "a token that an access waits for or that is kept", k.dropped_token),
    RustKind("dropped mask", "a mask or padding: none", k.dropped_mask),
    RustKind("negated condition", "the condition of an `if`", k.negated_condition),
    RustKind("swapped branches", "the branches of an `if`", k.swapped_branches),
    RustKind("early exit", "`return`, `break`, `continue`: left out", k.early_exit),
    RustKind("missing negation", "`negf`, `negi`, `absf`: left out", k.missing_negation),
    RustKind("split fma", "one rounding into two", k.split_fma),
    RustKind("bounds check", "dropped, or added", k.unchecked),
)  # fmt: skip


def applied(text: str, edit: RustEdit) -> str:
    pieces = [(edit.start, edit.end, edit.becomes), *edit.also]
    for start, end, becomes in sorted(pieces, reverse=True):
        text = text[:start] + becomes + text[end:]
    return text


def kinds_in(text: str) -> frozenset[str]:
    """The kinds that have something to change in a text."""
    rust = tokens_of(text)
    return frozenset(kind.name for kind in KINDS if next(iter(kind.edits(rust)), None) is not None)


def mutants(text: str, seed: str) -> Iterator[tuple[RustKind, RustEdit, str]]:
    """Changed texts, by turns of each kind that has any; each text once."""
    rust, picks = tokens_of(text), random.Random(seed)
    turn: list[list[tuple[RustKind, RustEdit]]] = []
    for kind in KINDS:
        changes = [(kind, edit) for edit in kind.edits(rust)]
        picks.shuffle(changes)
        turn += [changes] if changes else []
    picks.shuffle(turn)
    seen = {text}
    while turn:
        for changes in turn:
            kind, edit = changes.pop()
            made = applied(text, edit)
            if made not in seen:
                seen.add(made)
                yield kind, edit, made
        turn = [changes for changes in turn if changes]

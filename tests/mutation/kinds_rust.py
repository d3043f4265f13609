"""Mutations of the generated Rust, by its tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from kinds import RUST, RustEdit
from msgspec import Struct
from rust_tokens import Rust


class RustKind(Struct, frozen=True):
    """A change of a Rust text. What it gives need not compile: such mutants are left out."""

    name: str
    change: str
    edits: Callable[[Rust], Iterator[RustEdit]]
    text: str = RUST


def _swap(rust: Rust, what: str, a: tuple[int, int], b: tuple[int, int]) -> RustEdit:
    return RustEdit(what, *a, rust.slice(b), ((*b, rust.slice(a)),))


def words(groups: tuple[tuple[str, ...], ...]) -> Callable[[Rust], Iterator[RustEdit]]:
    """A word for each of the others of its group; with `::` in it, a path."""

    def edits(rust: Rust) -> Iterator[RustEdit]:
        for group in groups:
            for place, token in enumerate(rust.tokens):
                path = f"{rust.at(place - 2)}::{token.text}" if rust.at(place - 1) == "::" else token.text
                if path not in group or rust.at(place - 1) == "fn":
                    continue
                start = rust.tokens[place - 2].start if "::" in path else token.start
                for other in group:
                    if other != path:
                        yield RustEdit(f"`{path}` -> `{other}`", start, token.end, other)

    return edits


_TWO = frozenset(
    word
    for words in (
        "max_tile min_tile maxf minf maxi mini addf subf mulf divf pow atan2 divi remi floor_div floor_mod ceil_div",
        "lt_tile le_tile gt_tile ge_tile eq_tile ne_tile cmpf cmpi mma cat min max shri andi ori xori",
        "fma fma_1 mul_add",
    )
    for word in words.split()
)
"""Functions whose first two arguments are of one type."""


def swapped_arguments(rust: Rust) -> Iterator[RustEdit]:
    for place, parts in rust.calls(*_TWO):
        if len(parts) >= 2 and rust.slice(parts[0]) != rust.slice(parts[1]):
            yield _swap(rust, f"arguments of `{rust.at(place)}` exchanged", parts[0], parts[1])


def swapped_arms(rust: Rust) -> Iterator[RustEdit]:
    for _, parts in rust.calls("select"):
        if len(parts) == 3:
            yield _swap(rust, "arms of `select` exchanged", parts[1], parts[2])


def _binary(rust: Rust, marks: tuple[str, ...]) -> Iterator[int]:
    for place in rust.words(*marks):
        before, after = rust.tokens[place - 1], rust.at(place + 1)
        typed = before.text[:1].isupper() or rust.at(place - 2) in {"fn", "::"}  # `<` of a type
        if (before.kind in {"word", "number"} or before.text in {")", "]"}) and after not in {"mut", "'"} and not typed:
            yield place


def other_operator(rust: Rust) -> Iterator[RustEdit]:
    for place in _binary(rust, ("+", "-", "*", "/")):
        token = rust.tokens[place]
        for other in ("+", "-", "*", "/"):
            if other != token.text:
                yield RustEdit(f"`{token.text}` -> `{other}`", token.start, token.end, other)


def swapped_operator(rust: Rust) -> Iterator[RustEdit]:
    for place in _binary(rust, ("-", "/", "<", "+", "*")):
        a, b = rust.tokens[place - 1], rust.tokens[place + 1]
        plain = rust.at(place - 2) not in {".", "::", "/", "*"} and rust.at(place + 2) not in {".", "(", "::", "<"}
        if a.kind in {"word", "number"} and b.kind in {"word", "number"} and plain:
            yield _swap(rust, f"operands of `{rust.at(place)}` exchanged", (a.start, a.end), (b.start, b.end))


def compared(rust: Rust) -> Iterator[RustEdit]:
    for place in _binary(rust, ("<", ">", "<=", ">=", "==", "!=")):
        token = rust.tokens[place]
        for other in ("<", "<=", ">", "==", "!="):
            if other != token.text:
                yield RustEdit(f"`{token.text}` -> `{other}`", token.start, token.end, other)


def _numbers(rust: Rust) -> Iterator[int]:
    return (place for place, token in enumerate(rust.tokens) if token.kind == "number" and rust.at(place - 1) != ".")


def integer_literal(rust: Rust) -> Iterator[RustEdit]:
    for place in _numbers(rust):
        token = rust.tokens[place]
        digits = token.text.rstrip("i3264u")
        if token.text.replace("_", "").isdigit() or (digits.isdigit() and "." not in token.text):
            value = int(token.text.replace("_", "")) if token.text.replace("_", "").isdigit() else int(digits)
            for other in (value + 1, value - 1):
                if other >= 0:
                    yield RustEdit(f"{value} -> {other}", token.start, token.end, str(other))


def float_literal(rust: Rust) -> Iterator[RustEdit]:
    for place in _numbers(rust):
        token = rust.tokens[place]
        if "." in token.text:
            for other in ("0.0", "1.0", "2.5"):
                if not token.text.startswith(other):
                    yield RustEdit(f"{token.text} -> {other}", token.start, token.end, other)


def _indices(rust: Rust) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Lists in brackets that are indices."""
    for place in rust.words("["):
        if rust.at(place - 1) in {",", "(", "&"} or rust.at(place - 1) == "=":
            yield place, rust.parts(place)


def moved_index(rust: Rust) -> Iterator[RustEdit]:
    for _, parts in _indices(rust):
        for start, end in parts:
            text = rust.text[start:end]
            yield RustEdit(f"index `{text}` one more", start, end, f"({text}) + 1")
            yield RustEdit(f"index `{text}` one less", start, end, f"({text}) - 1")


def swapped_index(rust: Rust) -> Iterator[RustEdit]:
    for _, parts in _indices(rust):
        for a, b in pairwise(parts):
            if rust.slice(a) != rust.slice(b):
                yield _swap(rust, "components of an index exchanged", a, b)


def swapped_shape(rust: Rust) -> Iterator[RustEdit]:
    for place in rust.words("shape", "const_array"):
        if rust.at(place + 1) == "!":
            parts = rust.parts(place + 2)
            for a, b in pairwise(parts):
                if rust.slice(a) != rust.slice(b):
                    yield _swap(rust, f"`{rust.at(place)}!` with exchanged axes", a, b)


def partition_type(rust: Rust) -> Iterator[RustEdit]:
    """The tile that a block owns, in the types of parameters, and with it in all other types and shapes of the text:
    a type alone does not compile. Launched as before, blocks own other parts."""
    for size in sorted({rust.text[s:e] for s, e in _extents(rust, "{")}):
        number = int(size) if size.isdigit() else 0
        places = [span for span in _extents(rust, "{", "!") if rust.slice(span) == size]
        if number > 1 and places:
            first, *rest = places
            also = tuple((*span, str(number // 2)) for span in rest)
            yield RustEdit(f"tiles of {number // 2} instead of {size}", *first, str(number // 2), also)


def _extents(rust: Rust, *before: str) -> Iterator[tuple[int, int]]:
    """The numbers in brackets that stand behind one of these marks."""
    for place in rust.words("["):
        if rust.at(place - 1) in before:
            yield from (span for span in rust.parts(place) if rust.slice(span).isdigit() and rust.slice(span) != "1")


def other_axis(rust: Rust) -> Iterator[RustEdit]:
    names = ("reduce_max", "reduce_min", "reduce_sum", "reduce_prod", "scan_sum", "num_tiles", "program_id", "cat")
    for place, parts in rust.calls(*names):
        text = rust.slice(parts[-1]) if parts else ""
        if text.isdigit():
            yield RustEdit(f"`{rust.at(place)}` along another axis", *parts[-1], "1" if text == "0" else "0")


def _loops(rust: Rust) -> Iterator[tuple[int, int, int]]:
    """Of each `for`: the places of `in`, of `..` and of the brace."""
    for place in rust.words("for"):
        end = next((n for n in range(place, len(rust.tokens)) if rust.at(n) == "{"), None)
        if end is None or "in" not in [rust.at(n) for n in range(place, end)]:
            continue
        start = next(n for n in range(place, end) if rust.at(n) == "in")
        middle = next((n for n in range(start, end) if rust.at(n) == ".."), None)
        if middle is not None:
            yield start, middle, end


def loop_start(rust: Rust) -> Iterator[RustEdit]:
    for start, middle, _ in _loops(rust):
        at = rust.tokens[start + 1].start, rust.tokens[middle - 1].end
        if rust.at(start + 1) != "(":
            yield RustEdit("the loop starts one later", *at, f"({rust.slice(at)}) + 1")


def loop_end(rust: Rust) -> Iterator[RustEdit]:
    for start, middle, end in _loops(rust):
        last = end - 1 if rust.at(start + 1) != "(" else rust.closing(start + 1) - 1
        at = rust.tokens[middle + 1].start, rust.tokens[last].end
        yield RustEdit("the loop ends one later", *at, f"({rust.slice(at)}) + 1")
        yield RustEdit("the loop ends one earlier", *at, f"({rust.slice(at)}) - 1")


def loop_step(rust: Rust) -> Iterator[RustEdit]:
    for start, _, end in _loops(rust):
        if rust.at(start + 1) != "(":
            at = rust.tokens[start + 1].start, rust.tokens[end - 1].end
            yield RustEdit("the loop goes in steps of 2", *at, f"({rust.slice(at)}).step_by(2)")
    for place, parts in rust.calls("step_by"):
        if parts:
            yield RustEdit(f"another `{rust.at(place)}`", *parts[0], f"({rust.slice(parts[0])}) + 1")


def lost_carry(rust: Rust) -> Iterator[RustEdit]:
    """An assignment to an outer variable is forgotten."""
    for place in rust.words("="):
        name, before = rust.tokens[place - 1], rust.at(place - 2)
        if name.kind == "word" and before in {";", "}", "{"}:
            yield RustEdit(f"`{name.text}` is not assigned", name.start, name.end, "let _")


def _stores(rust: Rust) -> Iterator[int]:
    names = ("store", "store_row", "store_view_raw", "store_view_tko_mut", "store_ptr_tko", "scatter_at")
    for place in rust.words(*names):
        if rust.at(place + 1) == "(" and rust.at(place - 1) != "fn":
            yield place


def missing_store(rust: Rust) -> Iterator[RustEdit]:
    for place in _stores(rust):
        at = rust.statement(place)
        if rust.slice(at).startswith(("unsafe", rust.at(place), rust.at(place - 2))):
            yield RustEdit(f"`{rust.slice(at)[:30]}` left out", *at, "")


def doubled_store(rust: Rust) -> Iterator[RustEdit]:
    for place in _stores(rust):
        at = rust.statement(place)
        if not rust.slice(at).startswith("let"):
            yield RustEdit(f"`{rust.slice(at)[:30]}` twice", *at, rust.slice(at) + " " + rust.slice(at))


def reordered_stores(rust: Rust) -> Iterator[RustEdit]:
    spans = sorted({rust.statement(place) for place in _stores(rust)})
    for a, b in pairwise(spans):
        if a[1] <= b[0] and not rust.text[a[1] : b[0]].strip():
            yield _swap(rust, "two stores exchanged", a, b)


def other_value(rust: Rust) -> Iterator[RustEdit]:
    """A name that is used: another name of the text."""
    names = rust.names()
    bound = {":", "="}
    for place, token in enumerate(rust.tokens):
        if token.kind != "word" or token.text not in names or rust.at(place + 1) in bound | {"!", "(", "<"}:
            continue
        if rust.at(place - 1) in {"let", "mut", "fn", ".", "::", "for"}:
            continue
        near = [name for name in names if name != token.text]
        at = names.index(token.text)
        for other in near[max(0, at - 2) : at + 2]:
            yield RustEdit(f"`{token.text}` -> `{other}`", token.start, token.end, other)


def _is_token(text: str) -> bool:
    """As the translation names them."""
    return re.fullmatch(r"\w+\.token\(\)|o|(\w+_)?order\d*|done\d*", text) is not None


def dropped_token(rust: Rust) -> Iterator[RustEdit]:
    for place, parts in rust.calls("set_token"):
        if parts and rust.at(place - 1) == ".":
            name = rust.at(place - 2)
            yield RustEdit("`set_token` of the token that it has", *parts[0], f"{name}.token()")
    for place, parts in rust.calls("Some"):
        if parts and _is_token(rust.slice(parts[0])):
            yield RustEdit("an access waits for nothing", rust.tokens[place].start, parts[0][1] + 1, "None")
    first = _first_tokens(rust)
    for place in rust.words(*first):
        token, after = rust.tokens[place], rust.at(place + 1)
        if after == "=" and rust.at(place - 1) in {";", "}", "{"}:
            yield RustEdit(f"`{token.text}` is not kept", *rust.statement(place), "")
        elif after in {",", ")"}:
            became = first[token.text]
            yield RustEdit(f"`{token.text}` -> `{became}`", token.start, token.end, became)


def _first_tokens(rust: Rust) -> dict[str, str]:
    """Variables that hold tokens, and what they hold first."""
    found = {}
    for place in rust.words("Token"):
        if rust.at(place + 1) == "=" and rust.at(place - 3) == "mut":
            found[rust.at(place - 2)] = f"{rust.at(place + 2)}.token()"
    return found


def dropped_mask(rust: Rust) -> Iterator[RustEdit]:
    for place, parts in rust.calls("Some"):
        if parts and not _is_token(rust.slice(parts[0])):
            yield RustEdit("no mask or padding", rust.tokens[place].start, parts[0][1] + 1, "None")


_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def negated_condition(rust: Rust) -> Iterator[RustEdit]:
    """The cutile compiler knows no `!`: the opposite comparison, or a comparison with `false`."""
    for place in rust.words("if"):
        end = next((n for n in range(place, len(rust.tokens)) if rust.at(n) == "{"), None)
        if end is None or rust.at(place + 1) == "let":
            continue
        marks = [n for n in range(place + 1, end) if rust.at(n) in _OPPOSITE]
        if len(marks) == 1 and not {"&", "|"} & {rust.at(n) for n in range(place, end)}:
            token = rust.tokens[marks[0]]
            opposite = _OPPOSITE[token.text]
            yield RustEdit(f"the opposite condition, `{opposite}`", token.start, token.end, opposite)
        else:
            at = rust.tokens[place + 1].start, rust.tokens[end - 1].end
            yield RustEdit("the opposite condition", *at, f"({rust.slice(at)}) == false")


def swapped_branches(rust: Rust) -> Iterator[RustEdit]:
    for place in rust.words("else"):
        if rust.at(place - 1) == "}" and rust.at(place + 1) == "{":
            depth, start = 0, place - 1
            while start >= 0:
                depth += (rust.at(start) == "}") - (rust.at(start) == "{")
                if depth == 0:
                    break
                start -= 1
            a = rust.tokens[start].start, rust.tokens[place - 1].end
            b = rust.tokens[place + 1].start, rust.tokens[rust.closing(place + 1)].end
            yield _swap(rust, "branches exchanged", a, b)


def early_exit(rust: Rust) -> Iterator[RustEdit]:
    for place in rust.words("return", "break", "continue"):
        if rust.at(place + 1) == ";":
            yield RustEdit(f"`{rust.at(place)}` left out", *rust.statement(place), "")


def missing_negation(rust: Rust) -> Iterator[RustEdit]:
    for place, parts in rust.calls("negf", "negi", "absf", "absi"):
        if parts:
            yield RustEdit(f"`{rust.at(place)}` left out", rust.tokens[place].start, rust.tokens[place].end, "")


def split_fma(rust: Rust) -> Iterator[RustEdit]:
    for place, parts in rust.calls("fma", "fma_1", "fma_2", "fma_3"):
        if len(parts) >= 3:
            a, b, c = (rust.slice(part) for part in parts[:3])
            end = rust.tokens[rust.closing(place + 1)].end
            yield RustEdit("rounded twice", rust.tokens[place].start, end, f"(({a}) * ({b}) + ({c}))")


def unchecked(rust: Rust) -> Iterator[RustEdit]:
    """A load without its check, and a check where there was none."""
    for place, parts in rust.calls("load"):
        if rust.at(place - 1) == "." and len(parts) == 1 and rust.tokens[place - 2].kind == "word":
            start, end = rust.tokens[place - 2].start, rust.tokens[rust.closing(place + 1)].end
            text = (
                f"load_view_tko(&{rust.at(place - 2)}, {rust.slice(parts[0])}, ordering::Weak, scope::TileBlock, None, "
            )
            yield RustEdit("loaded without a check", start, end, text + "tma::Enabled)")
    for place, parts in rust.calls("load_view_tko"):
        if len(parts) >= 2 and rust.slice(parts[0]).isidentifier():
            end = rust.tokens[rust.closing(place + 1)].end
            text = f"{rust.slice(parts[0])}.load({rust.slice(parts[1])})"
            yield RustEdit("loaded with a check", rust.tokens[place].start, end, text)

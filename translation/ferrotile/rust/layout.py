"""Line breaking as rustfmt's defaults do it, for the few shapes that emission produces."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

WIDTH = 100
CALL_WIDTH = 60
IF_WIDTH = 50
ATOM = 20
_UNARY = 15


class Code(Struct, frozen=True):
    """An expression on one line. `precedence` is Rust's (20 = needs no parentheses); `narrow` = rustfmt keeps it on one
    line if that fits; `head` and `arguments` describe an outermost call, `chain` counts method calls in a row;
    `links` are the receiver and the calls of a chain that may break at its dots;
    `terms` are the operands of a chain of one precedence, each but the first after its operator;
    `parts` are the inlined values and their lengths, for un-inlining."""

    text: str
    precedence: int = ATOM
    narrow: bool = True
    head: str | None = None
    arguments: tuple[Code, ...] = ()
    chain: int = 0
    links: tuple[str, ...] = ()
    parts: tuple[tuple[int, int], ...] = field(default=())
    terms: tuple[str, ...] = ()

    def inlined(self, value: int) -> Code:
        """The same, marked as the inlined form of a value."""
        return Code(
            self.text, self.precedence, self.narrow, self.head, self.arguments, self.chain, self.links,
            (*self.parts, (value, len(self.text))), self.terms,
        )  # fmt: skip


def _parts(codes: tuple[Code, ...]) -> tuple[tuple[int, int], ...]:
    return tuple([p for c in codes for p in c.parts])


def call(name: str, *arguments: Code) -> Code:
    """`name(arguments)`."""
    inside = ", ".join([a.text for a in arguments])
    narrow = len(inside) <= CALL_WIDTH and all(a.narrow for a in arguments)
    return Code(f"{name}({inside})", ATOM, narrow, name, arguments, parts=_parts(arguments))


def method(receiver: Code, name: str, *arguments: Code) -> Code:
    """`receiver.name(arguments)`."""
    left = receiver.text if receiver.precedence == ATOM else f"({receiver.text})"
    inside = ", ".join([a.text for a in arguments])
    text = f"{left}.{name}({inside})"
    chain = receiver.chain + 1
    short = len(inside) <= CALL_WIDTH and all(a.narrow for a in arguments)
    narrow = short and receiver.narrow and (chain == 1 or len(text) <= CALL_WIDTH)
    head = f"{left}.{name}" if receiver.chain == 0 and receiver.head is None else None
    parts = (*receiver.parts, *_parts(arguments))
    links: tuple[str, ...] = ()
    if short and (receiver.links or (receiver.narrow and receiver.chain == 0)):
        links = (*(receiver.links or (left,)), f".{name}({inside})")
    return Code(text, ATOM, narrow, head, arguments, chain, links, parts)


def binary(left: Code, symbol: str, right: Code, precedence: int) -> Code:
    """`left symbol right`, parenthesised as needed; comparisons do not chain."""
    a = (
        left.text
        if left.precedence > precedence or (left.precedence == precedence and precedence > 4)
        else f"({left.text})"
    )
    b = right.text if right.precedence > precedence else f"({right.text})"
    first = left.terms if left.terms and left.precedence == precedence and a == left.text else (a,)
    terms = (*first, f"{symbol} {b}")
    narrow = left.narrow and right.narrow
    return Code(f"{a} {symbol} {b}", precedence, narrow, parts=(*left.parts, *right.parts), terms=terms)


def array(*items: Code) -> Code:
    """`[items]`."""
    inside = ", ".join(i.text for i in items)
    return Code(f"[{inside}]", ATOM, len(inside) <= CALL_WIDTH, parts=_parts(items))


def tuple_of(items: Sequence[Code]) -> Code:
    """`(items)`."""
    return Code(f"({', '.join(i.text for i in items)})", parts=_parts(tuple(items)))


def atom(text: str) -> Code:
    """A name, literal, path or macro call."""
    return Code(text)


_INTEGER = re.compile(r"(?<![\w.\[])\d+(?![\w.])")


def suffixed(code: Code) -> Code:
    """The same, its plain integer literals as `2i32`, where the JIT does not infer their type."""
    return replace(code, text=_INTEGER.sub(lambda m: f"{m[0]}i32", code.text))


def negative(text: str) -> Code:
    """A negative literal."""
    return Code(text, _UNARY)


def statement(prefix: str, code: Code, suffix: str, indent: int) -> list[str] | None:
    """The lines of `prefix code suffix` relative to `indent`; None where rustfmt would break inside sub-expressions."""
    whole = f"{prefix}{code.text}{suffix}"
    if code.narrow and indent + len(whole) <= WIDTH:
        return [whole]
    assigned = prefix.endswith("= ")
    if code.narrow and assigned and indent + 4 + len(code.text) + len(suffix) <= WIDTH:
        return [prefix.rstrip(), f"    {code.text}{suffix}"]
    if code.narrow and code.terms and prefix and indent + len(prefix) + len(code.terms[0]) <= WIDTH:
        more = [f"    {term}" for term in code.terms[1:]]
        more[-1] += suffix
        if all(indent + len(line) <= WIDTH for line in more):
            return [f"{prefix}{code.terms[0]}", *more]
    if len(code.links) > 2 and prefix and indent + len(prefix) + len(code.links[0]) <= WIDTH:
        calls = [f"    {link}" for link in code.links[1:]]
        calls[-1] += suffix
        if all(indent + len(line) <= WIDTH for line in calls):
            return [f"{prefix}{code.links[0]}", *calls]
    if code.head is not None and len(code.arguments) > 1:
        fit = all(a.narrow and indent + 4 + len(a.text) + 1 <= WIDTH for a in code.arguments)
        if fit and indent + len(prefix) + len(code.head) + 1 <= WIDTH:
            return [f"{prefix}{code.head}(", *(f"    {a.text}," for a in code.arguments), f"){suffix}"]
    return None


def unsafe_statement(prefix: str, code: Code, suffix: str, indent: int) -> list[str] | None:
    """The lines of `prefix unsafe { code } suffix`."""
    block = Code(f"unsafe {{ {code.text} }}", ATOM, code.narrow)
    whole = f"{prefix}{block.text}{suffix}"
    if code.narrow and indent + len(whole) <= WIDTH:
        return [whole]
    if code.narrow and prefix.endswith("= ") and indent + 4 + len(block.text) + len(suffix) <= WIDTH:
        return [prefix.rstrip(), f"    {block.text}{suffix}"]
    inner = statement("", code, "", indent + 4)
    if inner is None:
        return None
    return [f"{prefix}unsafe {{", *(f"    {line}" for line in inner), f"}}{suffix}"]

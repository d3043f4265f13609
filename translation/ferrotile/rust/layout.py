"""Line breaking as rustfmt's defaults do it, for the few shapes that emission produces."""

from __future__ import annotations

from dataclasses import dataclass, field

WIDTH = 100
CALL_WIDTH = 60
IF_WIDTH = 50
ATOM = 20
_UNARY = 15


@dataclass(frozen=True, slots=True)
class Code:
    """An expression on one line. `precedence` is Rust's (20 = needs no parentheses); `narrow` = rustfmt keeps it on one
    line if that fits; `head` and `arguments` describe an outermost call, `chain` counts method calls in a row;
    `parts` are the inlined values and their lengths, for un-inlining."""

    text: str
    precedence: int = ATOM
    narrow: bool = True
    head: str | None = None
    arguments: tuple[Code, ...] = ()
    chain: int = 0
    parts: tuple[tuple[int, int], ...] = field(default=())

    def inlined(self, value: int) -> Code:
        """The same, marked as the inlined form of a value."""
        return Code(
            self.text, self.precedence, self.narrow, self.head, self.arguments, self.chain,
            (*self.parts, (value, len(self.text))),
        )  # fmt: skip


def _parts(codes: tuple[Code, ...]) -> tuple[tuple[int, int], ...]:
    return tuple(p for c in codes for p in c.parts)


def call(name: str, *arguments: Code) -> Code:
    """`name(arguments)`."""
    inside = ", ".join(a.text for a in arguments)
    narrow = len(inside) <= CALL_WIDTH and all(a.narrow for a in arguments)
    return Code(f"{name}({inside})", ATOM, narrow, name, arguments, 0, _parts(arguments))


def method(receiver: Code, name: str, *arguments: Code) -> Code:
    """`receiver.name(arguments)`."""
    left = receiver.text if receiver.precedence == ATOM else f"({receiver.text})"
    inside = ", ".join(a.text for a in arguments)
    text = f"{left}.{name}({inside})"
    chain = receiver.chain + 1
    narrow = receiver.narrow and len(inside) <= CALL_WIDTH and all(a.narrow for a in arguments)
    narrow = narrow and (chain == 1 or len(text) <= CALL_WIDTH)
    head = f"{left}.{name}" if receiver.chain == 0 and receiver.head is None else None
    return Code(text, ATOM, narrow, head, arguments, chain, (*receiver.parts, *_parts(arguments)))


def binary(left: Code, symbol: str, right: Code, precedence: int) -> Code:
    """`left symbol right`, parenthesised as needed; comparisons do not chain."""
    a = (
        left.text
        if left.precedence > precedence or (left.precedence == precedence and precedence > 4)
        else f"({left.text})"
    )
    b = right.text if right.precedence > precedence else f"({right.text})"
    return Code(f"{a} {symbol} {b}", precedence, left.narrow and right.narrow, parts=(*left.parts, *right.parts))


def array(*items: Code) -> Code:
    """`[items]`."""
    inside = ", ".join(i.text for i in items)
    return Code(f"[{inside}]", ATOM, len(inside) <= CALL_WIDTH, parts=_parts(items))


def atom(text: str) -> Code:
    """A name, literal, path or macro call."""
    return Code(text)


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

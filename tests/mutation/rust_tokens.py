"""Tokens of generated Rust: words, numbers, punctuation; comments and strings are none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

_TOKEN = re.compile(
    r"(?P<skip>//[^\n]*|\s+|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<number>\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?(?:[iuf]\d+|bf16)?)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<mark>::|\.\.|->|=>|&&|\|\||<=|>=|==|!=|\+=|-=|\*=|.)",
    re.S,
)
_OPEN, _CLOSE = "([{", ")]}"


class Token(Struct, frozen=True):
    kind: str
    text: str
    start: int
    end: int


class Rust(Struct, frozen=True):
    """A text and its tokens from the first function on."""

    text: str
    tokens: tuple[Token, ...]

    def words(self, *names: str) -> Iterator[int]:
        """Places of the tokens with one of these texts."""
        return (place for place, token in enumerate(self.tokens) if token.text in names)

    def at(self, place: int) -> str:
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def closing(self, place: int) -> int:
        """The place of what closes the bracket at `place`; -1 without one."""
        depth = 0
        for number in range(place, len(self.tokens)):
            text = self.at(number)
            depth += (text in _OPEN) - (text in _CLOSE)
            if depth == 0:
                return number
        return -1

    def parts(self, place: int) -> list[tuple[int, int]]:
        """The pieces between commas of the bracket at `place`, as `start, end` in the text."""
        end, depth, found = self.closing(place), 0, []
        start = place + 1
        for number in range(place + 1, end + 1):
            text = self.at(number)
            if (text == "," and depth == 0) or number == end:
                if number > start:
                    found.append((self.tokens[start].start, self.tokens[number - 1].end))
                start = number + 1
            depth += (text in _OPEN) - (text in _CLOSE)
        return found

    def slice(self, span: tuple[int, int]) -> str:
        return self.text[span[0] : span[1]]

    def calls(self, *names: str) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Calls of functions of these names: the place of the name, the spans of the arguments."""
        for place in self.words(*names):
            if self.at(place + 1) == "(" and self.at(place - 1) != "fn":
                yield place, self.parts(place + 1)

    def statement(self, place: int) -> tuple[int, int]:
        """The statement that the token at `place` is in, with its semicolon, as `start, end` in the text."""
        start, depth = place, 0
        while start > 0:
            text = self.at(start - 1)
            depth += (text in _CLOSE) - (text in _OPEN)
            if depth < 0 or (depth == 0 and text == ";") or (text == "}" and depth == 1 and self.at(start) != ")"):
                break
            start -= 1
        end, depth = place, 0
        while end < len(self.tokens) - 1 and not (self.at(end) == ";" and depth <= 0):
            depth += (self.at(end) in _OPEN) - (self.at(end) in _CLOSE)
            end += 1
        return self.tokens[start].start, self.tokens[end].end

    def names(self) -> Sequence[str]:
        """Values that the text binds: parameters and `let`s."""
        found: dict[str, None] = {}
        for place in self.words(":"):
            if self.tokens[place - 1].kind == "word":
                found[self.at(place - 1)] = None
        for place in self.words("let"):
            name = self.at(place + 1) if self.at(place + 1) != "mut" else self.at(place + 2)
            if name.isidentifier():
                found[name] = None
        return tuple(found)


def tokens_of(text: str) -> Rust:
    start = max(text.find("fn "), 0)
    found = []
    for match in _TOKEN.finditer(text, start):
        kind = match.lastgroup or "mark"
        if kind != "skip":
            found.append(Token(kind, match.group(), match.start(), match.end()))
    return Rust(text, tuple(found))

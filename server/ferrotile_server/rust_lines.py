"""Which line of a generated Rust file was made from which Python: kernels' source maps are about modules of their own,
a file has the kernels after one another, with helpers shared, and now and then a line broken in two."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ferrotile.syntax.span import Span
from ferrotile.translation import KernelTranslation
from msgspec import Struct

from ferrotile_server.application import Analysis

_FUNCTION = re.compile(r"    fn (\w+)")
_NUMBERED = re.compile(r"\b(\w+?)_\d(?=\(|::<)")


class KernelLines(Struct, frozen=True):
    """The lines of one kernel in a file, 0-based: from `first` (what stands above its `fn`) over `head` (its `fn`) to
    `last` (its closing brace)."""

    kernel: KernelTranslation
    first: int
    head: int
    last: int
    pairs: tuple[tuple[int, Span], ...]
    """(line of code in the file, Python), sorted by line."""

    def made_from(self, span: Span) -> int | None:
        """The first line made from Python that begins within `span`; without one, from Python that reaches into it."""
        reaching = [(line, s) for line, s in self.pairs if line > self.head and s.touches(span)]
        begun = [line for line, s in reaching if span.start <= s.start < span.end]
        return min(begun or [line for line, _ in reaching], default=None)

    def python_of(self, line: int) -> Span:
        """The Python that made a line of this kernel; what has none of its own belongs to the line above it."""
        found = self.kernel.name_span
        for at, span in self.pairs:
            if at > line:
                break
            found = span
        return found


class RustFile(Struct, frozen=True):
    """A generated text, and where its kernels are, as far as they say what would be written now."""

    text: str
    kernels: tuple[KernelLines, ...]

    def of(self, name: str) -> KernelLines | None:
        """The lines of the kernel `name`."""
        return next((k for k in self.kernels if k.kernel.name == name), None)

    def python_of(self, line: int) -> Span | None:
        """The Python that made a line; None for what belongs to no kernel alone, or to one that was edited since."""
        lines = self.text.split("\n")
        while line < len(lines) and _is_comment(lines[line]):
            line += 1  # a comment is about what is below it
        return next((k.python_of(line) for k in self.kernels if k.first <= line <= k.last), None)


def translated(analysis: Analysis) -> dict[str, KernelTranslation]:
    """The first translated entry of each kernel, by name, as a file has them."""
    found: dict[str, KernelTranslation] = {}
    for kernel in analysis.translation.kernels:
        if kernel.rust is not None:
            found.setdefault(kernel.name, kernel)
    return found


def locate(text: str, kernels: Iterable[KernelTranslation]) -> RustFile:
    """Where `kernels` are in a text that ferrotile has written, now or earlier. One whose lines are not what would be
    written now is left out, so that no line leads to the wrong one."""
    lines = text.split("\n")
    heads = {m[1]: i for i, line in enumerate(lines) if (m := _FUNCTION.match(line))}
    found = (_locate(lines, heads, kernel) for kernel in kernels)
    return RustFile(text, tuple(k for k in found if k is not None))


def _locate(lines: Sequence[str], heads: Mapping[str, int], kernel: KernelTranslation) -> KernelLines | None:
    own = (kernel.rust or "").rstrip("\n").split("\n")[:-1]  # the last line closes the kernel's own module
    place = heads.get(kernel.name if kernel.entry is None else kernel.entry.name, -1)
    if place < 0 or lines[place] not in own or not kernel.source_map.pairs:
        return None
    head = own.index(lines[place])
    first = min(kernel.source_map.pairs[0][0], head)
    at = above = place - (head - first)
    moved: dict[int, int] = {}
    for i in range(first, len(own)):
        count = _matched(lines, at, own[i])
        if count == 0:
            return None
        moved[i] = at
        at += count
    if moved[head] != place:
        return None
    code = (pair for pair in kernel.source_map.pairs if pair[0] in moved and not _is_comment(own[pair[0]]))
    pairs = tuple((moved[i], span) for i, span in code)
    return KernelLines(kernel, above, place, at - 1, pairs)


def _is_comment(line: str) -> bool:
    return line.lstrip(" ").startswith("//")


def _matched(lines: Sequence[str], at: int, own: str) -> int:
    """How many lines from `at` on are the line `own`; 0 where they are not. In a file with several kernels a helper can
    have another number, and its longer name can break a line after `=`."""
    if not 0 <= at < len(lines):
        return 0
    line = lines[at]
    if line == own:
        return 1
    if _NUMBERED.sub(r"\1", line) == (plain := _NUMBERED.sub(r"\1", own)):
        return 1
    broken = line.endswith(" =") and at + 1 < len(lines)
    return 2 if broken and _NUMBERED.sub(r"\1", f"{line} {lines[at + 1].lstrip()}") == plain else 0


__all__ = ["KernelLines", "RustFile", "locate", "translated"]

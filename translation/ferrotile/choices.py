"""What a tuner chose for a kernel on one target, and the comment above the kernel that keeps it.

comment := "# ferrotile tuned:" TARGET choice*          one line a target
choice  := ARRAY ".load=" way | ARRAY ".store=" way     way := "tma" | "plain"
         | "rows=" ("view" | "pointer") | "occupancy=" INT | "num_ctas=" INT
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.program.ir import EntryHint
from ferrotile.syntax.document import Comment
from ferrotile.syntax.span import Span

_HEAD = re.compile(r"#+\s*ferrotile\s+tuned\s*:")
_WORD = re.compile(r"\S+")
_TARGET = re.compile(r"sm_\d+")
_WAYS = {"tma": True, "plain": False}
_ROWS = {"view": True, "pointer": False}
_ENTRY = {"occupancy": range(1, 33), "num_ctas": range(1, 17)}


class Choices(Struct, frozen=True):
    """Hints in the place of the author's and of the policy. `tma`: whether the loads or the stores of an array
    (`x.load`, `x.store`) may go through TMA; `rows`: whether masked gathers of part of a row become views of it;
    `entry`: occupancy and num_ctas."""

    tma: tuple[tuple[str, bool], ...] = ()
    rows: bool | None = None
    entry: tuple[tuple[str, int], ...] = ()

    def access(self, array: str, store: bool) -> bool | None:
        """Whether these accesses may go through TMA; None where nothing is chosen."""
        return dict(self.tma).get(f"{array}.{'store' if store else 'load'}")

    def hints(self, own: Sequence[EntryHint], target: str) -> tuple[EntryHint, ...]:
        """The author's hints with what was chosen for `target`."""
        chosen = {name for name, _ in self.entry}
        kept = [h for h in own if h.name not in chosen or h.target != target]
        return (*kept, *(EntryHint(name, value, target) for name, value in self.entry))

    def joined(self, others: Choices) -> Choices:
        """These, and what `others` choose beside them or instead."""
        tma, entry = {**dict(self.tma), **dict(others.tma)}, {**dict(self.entry), **dict(others.entry)}
        rows = self.rows if others.rows is None else others.rows
        return Choices(tuple(tma.items()), rows, tuple(entry.items()))

    def __str__(self) -> str:
        words = [f"{name}={'tma' if on else 'plain'}" for name, on in self.tma]
        if self.rows is not None:
            words.append(f"rows={'view' if self.rows else 'pointer'}")
        return " ".join((*words, *(f"{name}={value}" for name, value in self.entry)))

    def comment(self, target: str) -> str:
        """The line that keeps them."""
        return f"# ferrotile tuned: {target} {self}"


def is_tuned(comment: Comment) -> bool:
    """Whether a comment line holds choices."""
    return _HEAD.match(comment.text) is not None


def target_of(comment: Comment) -> str | None:
    """The target that a line of choices is for."""
    head = _HEAD.match(comment.text)
    first = _WORD.search(comment.text, head.end()) if head else None
    return first[0] if first else None


def read_choices(comments: Sequence[Comment], target: str) -> tuple[Choices, tuple[Diagnostic, ...]]:
    """The choices for `target` in the comment lines above a kernel. What is not understood is FT104, and left out."""
    found, told = Choices(), []
    for comment in comments:
        head = _HEAD.match(comment.text)
        if head is None:
            continue
        for number, word in enumerate(_WORD.finditer(comment.text, head.end())):
            start = comment.span.start + len(comment.text[: word.start()].encode())
            span = Span(start, start + len(word[0].encode()))
            if number == 0:
                if _TARGET.fullmatch(word[0]) is None:
                    told.append(diagnostic("FT104", f"tuned: `{word[0]}` is no target: write sm_90 or the like", span))
                if word[0] != target:
                    break
                continue
            choice = _choice(word[0])
            if choice is None:
                what = "`x.load=plain`, `x.store=tma`, `rows=view`, `occupancy=2` or `num_ctas=2`"
                told.append(diagnostic("FT104", f"tuned: `{word[0]}` is not understood: write {what}", span))
            else:
                found = found.joined(choice)
    return found, tuple(told)


def _choice(word: str) -> Choices | None:
    name, _, value = word.partition("=")
    array, _, kind = name.rpartition(".")
    if array.isidentifier() and kind in ("load", "store") and value in _WAYS:
        return Choices(tma=((name, _WAYS[value]),))
    if name == "rows" and value in _ROWS:
        return Choices(rows=_ROWS[value])
    if name in _ENTRY and value.isdecimal() and int(value) in _ENTRY[name]:
        return Choices(entry=((name, int(value)),))
    return None

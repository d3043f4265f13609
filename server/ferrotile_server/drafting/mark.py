"""The mark of a draft: comments at the top of its Rust that say who wrote it, when, of which Python, and how far the
ladder let it. A mark speaks of the text below it: once that is edited, it holds no more.

    // Drafted by AI, checked by ferrotile: proved.
    // Origin: ai
    // Model: some-model
    // Date: 2026-12-01T00:30:00Z
    // Rungs: type-checked passed, assembled passed, proved passed, simulated passed
    // Unsafe: none
    // Python: refused.py::ping_pong
    // Signature: even: f32[N], odd: f32[N], out: f32[N], step: i32, TILE=1024, grid=(N/1024,)
    // Python digest: 5f4d...
    // Rust digest: 09c1...
"""

from __future__ import annotations

import re
from hashlib import blake2b

from msgspec import Struct

from ferrotile_server.drafting.judgement import Judgement

MARK = "// Drafted by AI"
"""How the first line of every draft begins. It is not the mark of generated files, which are overwritten unasked."""
UNVERIFIED = "UNVERIFIED"
LONGEST_LINE = 300
_FIELD = re.compile(r"// (Origin|Model|Date|Rungs|Unsafe|Python|Signature|Python digest|Rust digest|Failed): ?(.*)")


_PLACE = re.compile(r"(Python|Rust) line \d+: `")


class Mark(Struct, frozen=True):
    """`rung`: the one that verified the draft, empty where none did. `intact`: the Rust is what was judged."""

    rung: str
    model: str
    date: str
    python: str
    digest: str
    intact: bool

    @property
    def verified(self) -> bool:
        """Whether the text below the mark is what the ladder let pass."""
        return bool(self.rung) and self.intact


class About(Struct, frozen=True):
    """What a draft is of: `python` is `file.py::kernel`, the file as seen from the draft's folder; `digest`: of the
    Python, what it uses and its signature."""

    model: str
    date: str
    python: str
    signature: str
    digest: str


def marked(rust: str, judgement: Judgement, about: About) -> str:
    """A draft as a file: its mark, what failed where it is not verified, its Rust."""
    verified = judgement.verified
    rust = rust.strip("\n") + "\n"
    head = f"{MARK}, checked by ferrotile: {verified or UNVERIFIED}."
    if not verified:
        head += " Do not use it as it is."
    fields = [
        ("Origin", "ai"),
        ("Model", about.model),
        ("Date", about.date),
        ("Rungs", judgement.words or "none"),
        ("Unsafe", f"{judgement.unsafe} blocks, whose promises nobody has checked" if judgement.unsafe else "none"),
        ("Python", about.python),
        ("Signature", about.signature),
        ("Python digest", about.digest),
        ("Rust digest", _digest(rust)),
    ]
    lines = [head, *(f"// {name}: {_line(value)}" for name, value in fields)]
    if not verified:
        told = [*(judgement.failure or "no verdict").splitlines(), *places(judgement.feedback)]
        height = len(lines) + len(told) + 1
        lines += [f"// Failed: {_line(_lower(line, height))}" for line in told]
    return "\n".join(lines) + "\n\n" + rust


def read(text: str) -> Mark | None:
    """The mark of a file; None for a file without one. Total."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.startswith(MARK):
        return None
    lines = text.split("\n")
    end = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    fields = {m[1]: m[2] for line in lines[:end] if (m := _FIELD.match(line))}
    said = lines[0].rpartition(": ")[2].partition(".")[0]
    rust = "\n".join(lines[end:]).strip("\n") + "\n"
    return Mark(
        rung=said if said in ("proved", "simulated") else "",
        model=fields.get("Model", ""),
        date=fields.get("Date", ""),
        python=fields.get("Python", ""),
        digest=fields.get("Python digest", ""),
        intact=fields.get("Rust digest") == _digest(rust),
    )


def places(feedback: str) -> list[str]:
    """The lines of both sources that a judgement points at."""
    return [line for line in feedback.splitlines() if _PLACE.match(line)]


def _lower(line: str, height: int) -> str:
    """A place in the candidate as one in the file, whose mark is `height` lines high."""
    return re.sub(r"^Rust line (\d+)", lambda found: f"Rust line {int(found[1]) + height}", line)


def _digest(rust: str) -> str:
    return blake2b(rust.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _line(text: str) -> str:
    """One line of a comment: nothing in it can end the comment."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return plain if len(plain) <= LONGEST_LINE else plain[: LONGEST_LINE - 1] + "…"

"""A warm proof, taken apart: the two compilers, disassembling, reading, comparing. The budget is for what ferrotile
adds to the compilers; `cuda-tile` compiling the original, in the same runs, is the peer."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path

from ferrotile.frontends.cutile.discover import find_kernels
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Options
from ferrotile_runner.disassemble import disassemble
from ferrotile_runner.rungs.proved import hypotheses_of, parameter_map
from ferrotile_runner.rungs.subject import Subject
from ferrotile_runner.session import Session
from ferrotile_runner.slice import slice_source
from ferrotile_runner.tileir.equivalence import prove
from ferrotile_runner.tileir.model import Entry, walk
from ferrotile_runner.tileir.reader import read
from ferrotile_runner.toolchain import locate
from measuring import Budget, Times, print_table
from msgspec.structs import replace

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ("vector_add", "softmax", "silu_mul", "matmul", "layer_norm", "adamw", "attention")
RUNS = 7
BEYOND = Budget(150)
"""What a warm proof may take beyond the two compilers, of a kernel of 60 operations."""
WHOLE = Budget(500)


@dataclass(frozen=True, slots=True)
class Parts:
    """Milliseconds of one warm proof."""

    python: float
    rust: float
    disassembling: float
    reading: float
    comparing: float

    @property
    def beyond(self) -> float:
        return self.disassembling + self.reading + self.comparing

    @property
    def whole(self) -> float:
        return self.beyond + self.python + self.rust


def subject_of(text: str) -> Subject:
    document = Document(text)
    module = parse_module(document)
    kernel: KernelTranslation = next(k for k in translate_document(document, Options()).kernels if k.rust)
    function = next(f for f in find_kernels(module) if f.name == kernel.name)
    return Subject(document, module, function, kernel, "sm_90", threading.Event())


def proof(session: Session, subject: Subject) -> tuple[Parts, Entry]:
    """The times and the original's entry. Raises RuntimeError where it is not a proof."""
    kernel, signature, rust = subject.kernel, subject.kernel.signature, subject.kernel.entry
    if signature is None or rust is None or kernel.rust is None or subject.function is None:
        raise RuntimeError(f"{kernel.name} is not translated")
    clock = [time.perf_counter()]

    def lap() -> None:
        clock.append(time.perf_counter())

    source = slice_source(subject.module, subject.function).text
    original = session.python().compile(source, subject.function.name, signature).data
    lap()
    translation = session.compile_rust(subject).bytecode
    lap()
    texts = [disassemble(session.toolchain, code) for code in (original, translation)]
    lap()
    left, right = (read(text).entry() for text in texts)
    lap()
    facts = replace(hypotheses_of(signature, rust)[0], positive_extents=True, no_overflow=True)
    found = prove(left, right, parameter_map(signature, rust), facts)
    lap()
    if not found.equal:
        raise RuntimeError(f"{kernel.name}: {found.reason}")
    return Parts(*((after - before) * 1e3 for before, after in pairwise(clock))), left


def rows(parts: Sequence[Parts]) -> list[tuple[str, Times]]:
    """What ferrotile adds comes first, the peer second."""
    found = [("beyond the compilers", Times(tuple(p.beyond for p in parts)))]
    found.append(("peer: cuda-tile compiles the original", Times(tuple(p.python for p in parts))))
    found += [(f.name, Times(tuple(getattr(p, f.name) for p in parts))) for f in fields(Parts) if f.name != "python"]
    return found


def main() -> None:
    with Session(locate()) as session:
        for name in KERNELS:
            text = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
            # A new comment in the kernel, so that no compiler remembers it.
            texts = [
                re.sub(r"^( *)(ct\.store\()", rf"\1# {n}\n\1\2", text, count=1, flags=re.MULTILINE)
                for n in range(RUNS + 1)
            ]
            runs = [proof(session, subject_of(one)) for one in texts]
            parts = [found for found, _ in runs[1:]]
            operations = sum(1 for operation in walk(runs[0][1].body) if operation.name != "constant")
            title = f"warm proof of {name}: {operations} operations of Tile IR but constants in the original"
            print_table(title, rows(parts), BEYOND)
            print_table(f"{name} in all", [("warm", Times(tuple(p.whole for p in parts)))], WHOLE)


if __name__ == "__main__":
    main()

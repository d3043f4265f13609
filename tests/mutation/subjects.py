"""What is mutated: the examples and the conformance kernels, both sides compiled to Tile IR."""

from __future__ import annotations

import contextlib
import importlib
import pickle
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from ferrotile.signatures.model import Signature
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module
from ferrotile.translate import translate_document
from ferrotile.translation import Entry as RustEntry
from ferrotile.translation import KernelTranslation, Options
from ferrotile_runner.process import ProcessError
from ferrotile_runner.rungs.proved import hypotheses_of, parameter_map
from ferrotile_runner.rungs.subject import RungFailure, RungSkipped, Subject
from ferrotile_runner.session import Session
from ferrotile_runner.tileir.equivalence import prove
from ferrotile_runner.tileir.hypotheses import Hypotheses, ParameterMap
from ferrotile_runner.tileir.model import Entry, Module
from ferrotile_runner.tileir.reader import read
from ferrotile_runner.verify import DEFAULT_TARGET
from msgspec import Struct
from msgspec.structs import replace

TESTS = Path(__file__).parent.parent
EXAMPLES = TESTS.parent / "examples"
CONFORMANCE = TESTS / "conformance"
FUZZ = TESTS / "fuzz"
RANDOM_A_FILE = 25


class Pair(Struct, frozen=True):
    """Both sides of a kernel, as text and read, and what a proof of them goes by."""

    name: str
    texts: tuple[str, str]
    """Tile IR of the original and of the translation."""
    entries: tuple[str, str]
    """The names of their entries."""
    signature: Signature
    translation: RustEntry

    @property
    def python(self) -> Entry:
        return _entry(read(self.texts[0]), self.entries[0])

    @property
    def rust(self) -> Entry:
        return _entry(read(self.texts[1]), self.entries[1])

    @property
    def facts(self) -> Hypotheses:
        """As the rung `proved` takes them."""
        known, _ = hypotheses_of(self.signature, self.translation)
        return replace(known, positive_extents=True, no_overflow=True)

    @property
    def parameters(self) -> ParameterMap:
        return parameter_map(self.signature, self.translation)

    def proved(self) -> bool:
        """Only of a pair that is proved do mutants say anything about the prover."""
        return prove(self.python, self.rust, self.parameters, self.facts).equal


def _entry(module: Module, name: str) -> Entry:
    return module.entry(name if any(entry.name == name for entry in module.entries) else None)


class Source(Struct, frozen=True):
    """A kernel before it is compiled."""

    name: str
    subject: Subject


def example_sources(names: Sequence[str] = ()) -> Iterator[Source]:
    """The kernels of `examples/`, or of the named files there."""
    for path in sorted(EXAMPLES.glob("*.py")):
        if not names or path.stem in names:
            document = Document(path.read_text(encoding="utf-8"))
            for kernel in translate_document(document, Options()).kernels:
                if kernel.rust is not None:
                    yield Source(f"{path.stem}::{kernel.name}", subject_of(document, kernel))


def conformance_sources(names: Sequence[str] = ()) -> Iterator[Source]:
    """The conformance rows that are translated, or the named ones."""
    if str(CONFORMANCE) not in sys.path:
        sys.path.append(str(CONFORMANCE))
    for path in sorted(CONFORMANCE.glob("rows_*.py")):
        for row in getattr(importlib.import_module(path.stem), "ROWS", ()):
            if row.refused or (names and row.name not in names):
                continue
            document = Document(row.source)
            for kernel in translate_document(document, Options(unsafe=row.unsafe)).kernels:
                if kernel.rust is not None:
                    yield Source(row.name, subject_of(document, kernel, row.target))


def random_sources(seeds: range) -> Iterator[Source]:
    """The random kernels of `tests/fuzz` that are translated, a file of them at a time."""
    if str(FUZZ) not in sys.path:
        sys.path.append(str(FUZZ))
    file = importlib.import_module("generate").file
    for first in range(seeds.start, seeds.stop, RANDOM_A_FILE):
        document = Document(file(range(first, min(first + RANDOM_A_FILE, seeds.stop))))
        for kernel in translate_document(document).kernels:
            if kernel.rust is not None:
                yield Source(kernel.name, subject_of(document, kernel))


def subject_of(document: Document, kernel: KernelTranslation, target: str = DEFAULT_TARGET) -> Subject:
    module = parse_module(document)
    return Subject(document, module, module.function(kernel.name), kernel, target, threading.Event())


def compiled(session: Session, sources: Sequence[Source]) -> Iterator[Pair]:
    """The pairs that both compilers take and the prover proves."""
    for source in sources:
        with contextlib.suppress(RungFailure, RungSkipped, ProcessError):
            pair = pair_of(session, source)
            if pair.proved():
                yield pair


def pair_of(session: Session, source: Source) -> Pair:
    """Raises as `Session.python_code` and `Session.rust_code` do."""
    subject = source.subject
    signature, entry = subject.kernel.signature, subject.kernel.entry
    assert signature is not None and entry is not None, "a translated kernel has both"
    sides = session.python_code(subject).tile_ir, session.rust_code(subject).tile_ir
    return Pair(source.name, (sides[0].text, sides[1].text), (sides[0].entry, sides[1].entry), signature, entry)


def remember(pairs: Sequence[Pair], path: Path) -> None:
    """Keeps compiled pairs, so that another run needs no compiler."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(list(pairs)))


def remembered(path: Path) -> list[Pair]:
    """What `remember` kept; the file is as trusted as the code that reads it."""
    found = pickle.loads(path.read_bytes())
    return [pair for pair in found if isinstance(pair, Pair)]

"""Compilers kept warm over many kernels, and what they made of each."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ferrotile.translation import Entry as RustEntry
from msgspec import Struct
from msgspec.structs import replace

from ferrotile_runner.disassemble import DisassemblyError, disassemble
from ferrotile_runner.host import CompiledRust, HostClient, HostError, Specialization
from ferrotile_runner.process import Ending, ProcessError
from ferrotile_runner.python_worker import PythonCompileError, PythonCompiler
from ferrotile_runner.rungs.subject import RungFailure, RungSkipped, Subject, ToolMissing
from ferrotile_runner.simulator import Simulator, TileIr
from ferrotile_runner.slice import slice_source
from ferrotile_runner.targets import needed_target
from ferrotile_runner.tileir.model import Entry, Module
from ferrotile_runner.tileir.reader import read
from ferrotile_runner.tileir.text import ReadError
from ferrotile_runner.toolchain import Toolchain, cache_directory
from ferrotile_runner.typecheck import RustDiagnostic, TypeCheckError, type_check

SETUP = "run `ferrotile setup`"
POLL_SECONDS = 0.05
INSTALL = "install it with `pip install 'ferrotile[compilers]'`"


class Code(Struct, frozen=True):
    """One side's Tile IR, as text and read."""

    tile_ir: TileIr
    entry: Entry
    bytecode: bytes = b""


class InputOptions(Struct, frozen=True):
    """What `simulated` runs kernels on: the `file` of the user's, else what the function that the directive names gives
    where the code is trusted, else launches made from `seed`. It tries as many as it can within `seconds`."""

    seed: int = 0
    file: Path | None = None
    trust: bool = False
    seconds: float = 120.0


class Session:
    """Starts compilers when they are first needed and stops them at the end of the `with` block. What they
    made is kept, so that `assembled`, `proved` and `simulated` compile once. Safe to share between
    threads."""

    def __init__(self, toolchain: Toolchain, inputs: InputOptions | None = None) -> None:
        self.toolchain = toolchain
        self.inputs = inputs or InputOptions()
        self._lock = threading.RLock()
        self._checking = threading.Lock()
        self._host: HostClient | None = None
        self._python: PythonCompiler | None = None
        self._simulator: Simulator | None = None
        self._rustc: dict[str, tuple[RustDiagnostic, ...]] = {}
        self._compiled: dict[tuple[str, str, str], CompiledRust] = {}
        self._codes: dict[tuple[str, str, str], Code] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stops the compilers. The session can be used again: they start anew."""
        with self._lock:
            if self._host is not None:
                self._host.close()
            if self._python is not None:
                self._python.close()
            if self._simulator is not None:
                self._simulator.close()
            self._host = self._python = self._simulator = None

    def host(self) -> HostClient:
        """The running `ferrotile-host`. Raises ToolMissing when it is not built."""
        with self._lock:
            if self.toolchain.host is None:
                raise ToolMissing(f"ferrotile-host is not built: {SETUP}")
            if self._host is None:
                self._host = HostClient(self.toolchain)
            return self._host

    def python(self) -> PythonCompiler:
        """The running cuTile Python compiler. Raises ToolMissing when `cuda-tile` is not installed."""
        with self._lock:
            if not self.toolchain.cuda_tile:
                raise ToolMissing(f"cuda-tile is not installed: {INSTALL}")
            if self._python is None:
                self._python = PythonCompiler()
            return self._python

    def simulator(self) -> Simulator:
        """The running simulator."""
        with self._lock:
            if self._simulator is None:
                self._simulator = Simulator()
            return self._simulator

    def check_types(self, texts: Sequence[str], cancel: threading.Event | None = None) -> None:
        """Type-checks many Rust texts in one run of `cargo`, for `rustc_errors` to find. Raises as that
        does."""
        # Not `_lock`: a run takes minutes, in which others want their compilers, or to close the session.
        with self._turn(cancel):
            new = [text for text in dict.fromkeys(texts) if text not in self._rustc]
            if not new:
                return
            if self.toolchain.cargo is None:
                raise ToolMissing("cargo is not installed: get it from https://rustup.rs")
            if self.toolchain.cuda is None or self.toolchain.libclang is None:
                raise ToolMissing(f"CUDA headers or libclang are missing: {INSTALL}")
            try:
                errors = type_check(self.toolchain, new, cancel=cancel)
            except TypeCheckError as error:
                raise ProcessError(Ending.CRASHED, str(error)) from error
            except OSError as error:
                where = error.filename or cache_directory()
                reason = f"{where}: {error.strerror or error}: choose another cache folder with XDG_CACHE_HOME"
                raise ToolMissing(reason) from error
            self._rustc.update(zip(new, errors, strict=True))

    @contextlib.contextmanager
    def _turn(self, cancel: threading.Event | None) -> Iterator[None]:
        """Waits for the other threads' runs of `cargo`, or for `cancel`."""
        while not self._checking.acquire(timeout=POLL_SECONDS):
            if cancel is not None and cancel.is_set():
                raise ProcessError(Ending.CANCELLED, "cancelled")
        try:
            yield
        finally:
            self._checking.release()

    def know_types(self, text: str, errors: Sequence[RustDiagnostic]) -> None:
        """Takes over what another run of `check_types` found about a text."""
        with self._lock:
            self._rustc[text] = tuple(errors)

    def forget(self) -> None:
        """Drops what the compilers made, so that a long session does not grow. They stay warm."""
        with self._lock:
            self._rustc.clear()
            self._compiled.clear()
            self._codes.clear()

    def rustc_errors(self, text: str, cancel: threading.Event | None = None) -> tuple[RustDiagnostic, ...]:
        """rustc's errors about one text. Raises ToolMissing without cargo, ProcessError when cargo itself
        fails."""
        self.check_types([text], cancel)
        return self._rustc[text]

    def compile_rust(self, subject: Subject) -> CompiledRust:
        """The Tile IR of the translation, for the subject's target or, where it lacks what the kernel uses, for the
        one that the compiler names. Raises RungFailure with the Python that made the refused line."""
        entry, text = subject.kernel.entry, subject.kernel.rust
        if entry is None or text is None:
            raise RungSkipped("not translated")
        key = (text, f"{entry.name}{entry.generics}", subject.target)
        found = self._compiled.get(key)
        if found is not None:
            return found
        try:
            made = self.specialised(subject, entry, text, subject.target)
        except HostError as error:
            needed = needed_target(error.message, subject.target)
            if needed is None:
                raise subject.rust_failure("FT502", error.message, error.line, error.column) from error
            made = self._compile_newer(subject, entry, text, *needed)
        self._compiled[key] = made
        return made

    def specialised(
        self,
        subject: Subject,
        entry: RustEntry,
        text: str,
        target: str,
        divisors: Mapping[str, Specialization] | None = None,
    ) -> CompiledRust:
        """An entry of a Rust text for `target`, specialised on `divisors` by the names of the Rust; not kept. Raises
        HostError."""
        strides = {p.rust or p.name: p.strides for p in entry.parameters if p.kind not in ("scalar", "pointer")}
        names = (entry.module, entry.name, entry.generics)
        return self.host().compile(text, *names, strides, target, specialization=divisors, cancel=subject.cancel)

    def _compile_newer(self, subject: Subject, entry: RustEntry, text: str, target: str, what: str) -> CompiledRust:
        """For the oldest architecture that has all that the kernel uses; the result says which, and why."""
        try:
            return replace(self.specialised(subject, entry, text, target), needs=what)
        except HostError as error:
            raise subject.rust_failure("FT502", error.message, error.line, error.column) from error

    def rust_code(self, subject: Subject) -> Code:
        """The translation's Tile IR. Raises as `compile_rust` does."""
        entry, text = subject.kernel.entry, subject.kernel.rust
        if entry is None or text is None:
            raise RungSkipped("not translated")
        key = (text, f"{entry.name}{entry.generics}", subject.target)
        if key not in self._codes:
            self._codes[key] = self._read(self.compile_rust(subject).bytecode, f"{entry.name}_entry")
        return self._codes[key]

    def rust_entry(self, subject: Subject) -> Entry:
        """The translation's Tile IR, read."""
        return self.rust_code(subject).entry

    def python_code(self, subject: Subject) -> Code:
        """The original's Tile IR. Runs the kernel's slice of the file. Raises RungFailure with the refused
        line."""
        if subject.function is None or subject.kernel.signature is None:
            raise RungSkipped("the signature is not known: add a `# ferrotile:` directive")
        made = slice_source(subject.module, subject.function)
        name, signature = subject.function.name, subject.kernel.signature
        key = (made.text, name, repr(signature))
        if key not in self._codes:
            try:
                compiled = self.python().compile(made.text, name, signature, cancel=subject.cancel)
            except PythonCompileError as error:
                if made.missing:
                    raise RungSkipped(
                        f"the original cannot be compiled alone: no constant, function or harmless import of this file "
                        f"defines {', '.join(made.missing)} ({error.message})"
                    ) from error
                span = subject.kernel.name_span
                if error.line is not None and (line := made.file_line(error.line - 1)) is not None:
                    start = subject.document.lines.line_start(line)
                    span = type(span)(start, subject.document.lines.line_end(line))
                raise RungFailure("FT504", f"cuTile Python refuses the original: {error.message}", span) from error
            self._codes[key] = self._read(compiled.data, name)
        return self._codes[key]

    def _read(self, bytecode: bytes, name: str) -> Code:
        if self.toolchain.tileirdisasm is None:
            raise ToolMissing(f"tileirdisasm is not installed: {INSTALL}")
        try:
            text = disassemble(self.toolchain, bytecode)
        except DisassemblyError as error:
            raise ProcessError(Ending.CRASHED, f"tileirdisasm: {error}") from error
        try:
            module = read(text)
        except ReadError as error:
            raise RungSkipped(f"Tile IR that ferrotile cannot read: {error}") from error
        return Code(TileIr(text, name), _entry(module, name), bytecode)

    def located(self, code: Code) -> Entry:
        """The same entry with the places in its source. Raises as `python_code` does."""
        try:
            text = disassemble(self.toolchain, code.bytecode, locations=True)
        except DisassemblyError as error:
            raise ProcessError(Ending.CRASHED, f"tileirdisasm: {error}") from error
        return _entry(read(text), code.tile_ir.entry)


def _entry(module: Module, name: str) -> Entry:
    return module.entry(name if any(e.name == name for e in module.entries) else None)

"""Makes bundles: kernels compiled for a GPU that need not be here, with launches and what the interpreter expects."""

from __future__ import annotations

import tempfile
import threading
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from ferrotile.signatures.model import ArrayArgument, Signature
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import Module
from ferrotile.translation import KernelTranslation, Origin
from msgspec import Struct

from ferrotile_runner.compile_error import CompileError
from ferrotile_runner.gpu.specialization import merged_divisors, specialization
from ferrotile_runner.host import BYTECODE_VERSION, Specialization
from ferrotile_runner.process import ProcessError
from ferrotile_runner.report import signature_text
from ferrotile_runner.rungs.subject import RungFailure, RungSkipped, Subject, ToolMissing, subject_of
from ferrotile_runner.session import Session
from ferrotile_runner.simulator import SimulatorFault
from ferrotile_runner.slice import slice_source
from ferrotile_runner.workers.bundle_format import (
    MANIFEST,
    BundleKernel,
    BundleLaunch,
    Launches,
    Manifest,
    to_json,
)

PREPARE_SECONDS = 60.0
"""For what the interpreter does with the launches of one kernel."""

STANDALONE = (
    "__init__.py",
    "json_values.py",
    "process.py",
    "worker.py",
    "workers/__init__.py",
    "workers/array_verdict.py",
    "workers/bundle_format.py",
    "workers/element_bits.py",
    "workers/gpu.py",
    "workers/gpu_device.py",
    "workers/gpu_launches.py",
    "workers/gpu_requests.py",
    "workers/guard.py",
)
"""What a bundle needs to run itself."""

MAIN = '''"""Runs this bundle on the GPU of this machine. Needs a driver, NumPy and `cuda-bindings`."""

import sys
import tempfile
import zipfile

if __name__ == "__main__":
    bundle = sys.argv[0]
    with tempfile.TemporaryDirectory(prefix="ferrotile-") as folder:
        with zipfile.ZipFile(bundle) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if name.startswith("ferrotile_runner/")])
        sys.path[:0] = [folder]
        from ferrotile_runner.worker import main

        code = main([bundle, *sys.argv[1:]])
    sys.exit(code)
'''


class NotBundled(Exception):
    """A kernel has no launches to run on a GPU; the message says why."""


class Asked(Struct, frozen=True):
    """What kernels are bundled for, and with which launches."""

    target: str
    launches: Launches = Launches.ALL
    seed: int = 0


class BundleWriter:
    """Adds kernels to a bundle. At the end of a `with` block without an exception the bundle is written, whole."""

    def __init__(self, path: Path, asked: Asked, session: Session) -> None:
        self._path, self._asked, self._session = path, asked, session
        self._kernels: list[BundleKernel] = []
        self._originals: dict[str, bytes] = {}
        """Cubins of originals: one kernel may be added with several translations."""
        self._large: dict[str, tuple[tuple[BundleLaunch, ...], tuple[str, ...]]] = {}
        """Launches for the clock alone, which are the same for translations that differ in hints."""
        self._scratch = tempfile.TemporaryDirectory(prefix="ferrotile-")
        self._folder = Path(self._scratch.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                files = sorted(one for one in self._folder.rglob("*") if one.is_file())
                named = {one.relative_to(self._folder).as_posix(): one for one in files}
                write_bundle(self._path, self.manifest, named)
        finally:
            self._scratch.cleanup()

    @property
    def manifest(self) -> Manifest:
        return Manifest(self._asked.target, BYTECODE_VERSION, tuple(self._kernels))

    def add(
        self,
        document: Document,
        module: Module | None,
        kernel: KernelTranslation,
        file: str,
        cancel: threading.Event | None = None,
    ) -> BundleKernel:
        """Compiles both sides of a kernel and prepares its launches. Raises NotBundled, and ToolMissing without
        compilers."""
        return self.add_subject(subject_of(document, kernel, self._asked.target, module, cancel), file)

    def add_subject(self, subject: Subject, file: str = "") -> BundleKernel:
        """As `add`."""
        try:
            made = self._kernel(subject, file)
        except ToolMissing:
            raise
        except (RungFailure, RungSkipped, ProcessError, CompileError, SimulatorFault) as error:
            raise NotBundled(str(error)) from error
        self._kernels.append(made)
        return made

    def _kernel(self, subject: Subject, file: str) -> BundleKernel:
        kernel, session, number = subject.kernel, self._session, len(self._kernels)
        signature, entry = kernel.signature, kernel.entry
        if signature is None or entry is None or kernel.rust is None:
            raise NotBundled("it is not translated")
        original, translation = session.python_code(subject), session.rust_code(subject)
        compiled = session.compile_rust(subject)
        if compiled.target != self._asked.target:
            raise NotBundled(f"it needs {compiled.target}: {compiled.needs}")
        same = repr((original.tile_ir, signature, entry.parameters, entry.hypotheses, compiled.launch_checks))
        found = self._large.get(same)
        if found is None:
            found = session.simulator().prepare(
                original.tile_ir,
                translation.tile_ir,
                signature,
                entry,
                compiled.launch_checks,
                self._folder,
                f"data/{number}",
                wanted=self._asked.launches,
                seconds=PREPARE_SECONDS,
                seed=self._asked.seed,
                cancel=subject.cancel,
            )
            if self._asked.launches is Launches.LARGE:
                self._large[same] = found
        launches, left_out = found
        if not launches:
            raise NotBundled("; ".join(left_out) or "no launch fits its signature")
        host, target = session.host(), self._asked.target
        plain = any(not launch.timed for launch in launches)
        base = f"cubins/{number}"
        if plain:
            self._keep(f"{base}.original.cubin", host.assemble(original.bytecode, target, cancel=subject.cancel))
            self._keep(f"{base}.translation.cubin", host.assemble(compiled.bytecode, target, cancel=subject.cancel))
        for launch in launches:
            if launch.timed:
                self._specialised(subject, signature, launch, base)
        symbols = kernel.name, f"{entry.name}_entry"
        done = tuple(_with_cubins(launch, base, *symbols) for launch in launches)
        return BundleKernel(file, kernel.name, signature_text(signature), done, left_out)

    def _specialised(self, subject: Subject, signature: Signature, launch: BundleLaunch, base: str) -> None:
        """Both sides as their dispatchers would compile them for the large launch."""
        kernel, entry = subject.kernel, subject.kernel.entry
        assert entry is not None and kernel.rust is not None and subject.function is not None
        extents = {array.name: array.shape for array in launch.arrays}
        sizes = {
            symbol: extent
            for a in signature.arguments
            if isinstance(a, ArrayArgument)
            for symbol, extent in zip(a.extents, extents[a.name], strict=True)
            if isinstance(symbol, str)
        }
        divisors = specialization(signature, sizes)
        text = slice_source(subject.module, subject.function).text
        target, cancel = self._asked.target, subject.cancel
        key = repr((text, kernel.name, signature, divisors))
        if key not in self._originals:
            self._originals[key] = (
                self._session.python()
                .cubin(text, kernel.name, signature, target, specialization=divisors, cancel=cancel)
                .data
            )
        known: dict[str, Specialization] = {}
        for parameter in entry.parameters:
            found = divisors.get(parameter.copy_of or parameter.name)
            # cutile 0.5 applies hints to the wrong extents of a tensor that has some in its type, as other Rust may.
            if found is not None and kernel.origin is Origin.RULES and parameter.kind != "pointer":
                known[parameter.rust or parameter.name] = merged_divisors(found, parameter.rank)
        compiled = self._session.specialised(subject, entry, kernel.rust, target, known)
        self._keep(f"{base}.original.timed.cubin", self._originals[key])
        cubin = self._session.host().assemble(compiled.bytecode, target, cancel=cancel)
        self._keep(f"{base}.translation.timed.cubin", cubin)

    def _keep(self, name: str, data: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write_bundle(path: Path, manifest: Manifest, files: Mapping[str, bytes | Path]) -> None:
    """Writes a bundle whole, or not at all: the manifest, the files that it names, and the program that runs it."""
    partial = path.with_name(path.name + ".partial")
    package = Path(__file__).parent.parent
    programs = {f"ferrotile_runner/{name}": package / name for name in STANDALONE}
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(MANIFEST, to_json(manifest))
            archive.writestr("__main__.py", MAIN)
            for name, content in {**programs, **files}.items():
                if isinstance(content, bytes):
                    archive.writestr(name, content)
                else:
                    archive.write(content, name)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _with_cubins(launch: BundleLaunch, base: str, original: str, translation: str) -> BundleLaunch:
    ending = ".timed.cubin" if launch.timed else ".cubin"
    return launch._replace(
        original=launch.original._replace(cubin=f"{base}.original{ending}", symbol=original),
        translation=launch.translation._replace(cubin=f"{base}.translation{ending}", symbol=translation),
    )

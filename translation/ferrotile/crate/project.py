"""All files of a crate."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from ferrotile.crate.attribution import attribution, notice
from ferrotile.crate.example_file import example
from ferrotile.crate.launch_module import launch_module
from ferrotile.crate.manifest import library, manifest, readme
from ferrotile.crate.model import CrateFiles, PythonFile, Recordings, Refused
from ferrotile.crate.modules import RustModule, module_text, modules_of, shared_helpers, shared_text
from ferrotile.crate.python_package import python_package
from ferrotile.crate.test_files import compile_tests, recorded_tests


class Crate(Struct, frozen=True):
    """The files, the modules that they are of, and the kernels that have no host function."""

    name: str
    files: CrateFiles
    modules: tuple[RustModule, ...]
    refused: tuple[Refused, ...]


class Contents(Struct, frozen=True):
    """The modules of a crate and what they share, before its files: what recording works on."""

    name: str
    modules: tuple[RustModule, ...]
    refused: tuple[Refused, ...]


def contents_of(name: str, files: Sequence[PythonFile]) -> Contents:
    """Plans every kernel of the files."""
    modules, refused = modules_of(files)
    return Contents(name, modules, refused)


def crate_files(
    contents: Contents,
    recordings: Recordings | None = None,
    recorded: Collection[str] = (),
    python: bool = False,
) -> Crate:
    """The files of the crate; with `recordings` also tests that compare with them. `recorded`: modules whose tests of
    this kind are in the folder already, and are not made anew. `python`: also a package for Python."""
    modules, name = contents.modules, contents.name
    shared = shared_helpers(modules)
    uses = {u for m in modules for k in m.kernels if k.host is not None for u in k.host.uses}
    hosts = any(k.host is not None for m in modules for k in m.kernels)
    files: dict[str, str | bytes] = {
        "Cargo.toml": manifest(name),
        "README.md": readme(contents, bool(recordings or recorded)),
        "NOTICE": notice(
            (f"src/{m.name}.rs", path, attribution(text))
            for m in modules
            for path, text in ((m.file.path, m.file.document.text), *m.inlined)
        ),
        "src/lib.rs": library(modules, bool(shared), hosts, "Float" in uses),
    }
    if hosts:
        files["src/launch.rs"] = launch_module(uses)
    if shared:
        files["src/device.rs"] = shared_text(shared)
    for module in modules:
        files[f"src/{module.name}.rs"] = module_text(module, shared, name)
    files.update(compile_tests(name, modules))
    files.update(recorded_tests(name, modules, recordings or {}, recorded))
    files.update(example(name, modules))
    if python:
        files.update(python_package(name, modules))
    return Crate(name, files, modules, contents.refused)

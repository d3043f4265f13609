"""A crate for a crate that is someone else's: one module more, the dependencies that it needs, and nothing else.

What would be `src/lib.rs` is the module's own file, and the paths in all files say so. `Cargo.toml` and the file with
the crate's modules are edited as a person would: a line at its place, once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from ferrotile_runner.export.files import Found, like, look, with_lf
from ferrotile_runner.export.manifest import ManifestEdit, ManifestError, Toml, add_dependencies, parse, table
from ferrotile_runner.export.modules import declare, declares
from ferrotile_runner.export.outcome import Action, Conflict, FileOutcome
from ferrotile_runner.export.planning import Step
from ferrotile_runner.export.record import HOME, Record, load
from ferrotile_runner.export.rust_text import outside_literals
from ferrotile_runner.export.workspace import MANIFEST, told_to_join, workspace_around

_LIBRARY = "src/lib.rs"
EDITIONS = ("2021", "2024")
"""Those that the generated code is written for."""
_FROM_OUTSIDE = ("tests", "examples", "benches")
"""Folders whose files see the crate from outside."""
_PYTHON = "python"
"""The folder of the package for Python, a crate that uses this one."""
_TESTS = "tests/kernels/"
"""The folder of the one program of tests."""
_PROGRAM = frozenset({"main", "common", "compiles"})
"""Its files that are there without recorded launches."""
_CRATE = re.compile(r"\bcrate::")
_ENTRY = re.compile(r"^src/\S+\.rs(?=, from )", re.MULTILINE)
"""The head of an entry of `NOTICE`."""
_NOT_NEEDED = frozenset({".gitignore", "Cargo.lock", "rust-toolchain.toml", "rustfmt.toml"})


class ExportError(Exception):
    """Nothing can be written into this folder; the message says why, for a person."""


class Adapted(Struct, frozen=True):
    """What goes where. `undecided`: generated before, and not now. `steps`: the edits of files that are someone else's.
    `additions`: for the record."""

    files: Mapping[str, str | bytes]
    undecided: frozenset[str]
    steps: tuple[Step, ...] = ()
    additions: Mapping[str, tuple[str, ...]] = {}
    notes: tuple[str, ...] = ()


class _Crate(Struct, frozen=True):
    """`name`: as code says it; `root`: the file with its modules; `library`: whether others can use it."""

    package: str
    name: str
    root: str
    library: bool
    manifest: bytes
    values: Toml
    workspace: Toml


def adapt(
    folder: Path, files: Mapping[str, str | bytes], record: Record, module: str, undecided: Sequence[str]
) -> Adapted:
    """`files`, a crate of their own, as they must be in `folder`: the same where that is no crate yet, or one that
    ferrotile made; else a module called `module`. `undecided`: files and folders that this export says nothing of.
    Raises `ExportError`."""
    there = look(folder, MANIFEST)
    generated = files.get(MANIFEST)
    whole = there.data is None or record.knows(MANIFEST) or not isinstance(generated, str)
    if whole or (there.data is not None and with_lf(there.data) == str(generated).encode() and not record.additions):
        join = told_to_join(folder) if MANIFEST in files else None
        unsaid = _below(undecided, record.paths - frozenset(files))
        return Adapted(files, unsaid, additions=record.additions, notes=(join,) if join else ())
    assert there.data is not None and isinstance(generated, str)
    if not record.additions and _starts_alike(look(folder, _LIBRARY).data, files.get(_LIBRARY)):
        raise ExportError(
            f"{folder} was made by ferrotile, but {HOME} is not there, so edits cannot be told from what was generated;"
            " restore it from version control (is it ignored?), or export into a new folder"
        )
    crate = _crate(folder, there.data)
    wanted = parse(generated, "the generated Cargo.toml")
    placed, notes = _placed(files, crate, _crate_name(wanted), module)
    moved = [_place(path, crate, module) for path in undecided]
    old = _below(moved, record.paths - frozenset(placed))
    try:
        edit = add_dependencies(
            with_lf(crate.manifest).decode(), wanted, crate.workspace, record.additions.get(MANIFEST, ())
        )
    except (ManifestError, UnicodeDecodeError) as error:
        raise ExportError(str(error)) from None
    step, line, said = _module_step(folder, crate, record, module)
    additions = {**record.additions, MANIFEST: edit.added, crate.root: (line,)}
    return Adapted(placed, old, (_manifest_step(crate, edit), step), additions, (*notes, *said))


def _starts_alike(there: bytes | None, generated: str | bytes | None) -> bool:
    if there is None or not isinstance(generated, str):
        return False
    return with_lf(there).partition(b"\n")[0] == generated.encode().partition(b"\n")[0]


def _below(places: Sequence[str], paths: Collection[str]) -> frozenset[str]:
    return frozenset(path for path in paths if any(path == place or path.startswith(f"{place}/") for place in places))


def module_folder(folder: Path, module: str) -> str:
    """Where the generated modules will be below `folder`: `src`, or the module's folder in a crate of someone else's.
    Raises `ExportError` and `RecordError`."""
    there = look(folder, MANIFEST)
    if there.data is None or load(folder).knows(MANIFEST):
        return "src"
    return f"{PurePosixPath(_crate(folder, there.data).root).parent}/{module}"


def has_python(folder: Path) -> bool:
    """Whether an earlier export made a package for Python. Raises `RecordError`."""
    return load(folder).knows(f"{_PYTHON}/{MANIFEST}")


def recorded_modules(folder: Path, module: str) -> frozenset[str]:
    """The modules of which an earlier export made tests of recorded launches. Raises `RecordError`."""
    record = load(folder)
    place = _TESTS if record.knows(MANIFEST) else f"tests/{module}/"
    files = (path.removeprefix(place) for path in record.texts if path.startswith(place))
    return frozenset(name.removesuffix(".rs") for name in files if "/" not in name) - _PROGRAM


def _crate(folder: Path, data: bytes) -> _Crate:
    try:
        values = parse(data.decode(), MANIFEST)
    except (ManifestError, UnicodeDecodeError) as error:
        raise ExportError(f"{folder}: {error}") from None
    if not table(values, "package"):
        raise ExportError(f"{folder} is a workspace without a crate of its own; name a member, or a new folder")
    library = table(values, "lib").get("path", "src/lib.rs")
    bins = values.get("bin")
    paths = [b.get("path") for b in bins if isinstance(b, dict)] if isinstance(bins, list) else []
    for path in (library, "src/main.rs", *paths):
        if isinstance(path, str) and look(folder, path).data is not None:
            package = str(table(values, "package").get("name", ""))
            around = workspace_around(folder).manifest
            return _Crate(package, _crate_name(values), path, path == library, data, values, around)
    raise ExportError(f"{folder} has a Cargo.toml, but neither src/lib.rs nor src/main.rs that a module could go into")


def _crate_name(values: Toml) -> str:
    """As code says it."""
    name = table(values, "lib").get("name", table(values, "package").get("name", ""))
    return str(name).replace("-", "_")


def _placed(
    files: Mapping[str, str | bytes], crate: _Crate, name: str, module: str
) -> tuple[dict[str, str | bytes], list[str]]:
    """Each file at its new place, and what must be said of the rest."""
    placed: dict[str, str | bytes] = {}
    left: list[str] = []
    for path, content in files.items():
        if path == MANIFEST or path in _NOT_NEEDED:
            continue
        if path.partition("/")[0] in (*_FROM_OUTSIDE, _PYTHON) and not crate.library:
            left.append(path)
            continue
        if isinstance(content, str) and path.endswith(".rs"):
            if path.startswith("src/"):
                content = outside_literals(content, _CRATE, f"crate::{module}::")
            content = _within(content, name, crate.name, module)
            content = _with_lints(content) if path == _LIBRARY else content
        if path == f"{_PYTHON}/{MANIFEST}" and isinstance(content, str):
            content = re.sub(r'(?m)^[\w-]+(?= = \{ path = "\.\." )', crate.package, content)
        if path == "NOTICE" and isinstance(content, str):
            content = _ENTRY.sub(lambda found: _place(found.group(), crate, module), content)
        placed[_place(path, crate, module)] = content
    shown = ", ".join(path for path in left if path.endswith(".rs"))
    said = f"{shown}: left out, since the modules of a program cannot be used from outside; they need a library"
    return placed, [said] if left else []


def _place(path: str, crate: _Crate, module: str) -> str:
    """Where a file of a crate of its own is in `crate`."""
    first, _, rest = path.partition("/")
    home = f"{PurePosixPath(crate.root).parent}/{module}"
    if first == "src":
        return f"{home}/mod.rs" if rest == "lib.rs" else f"{home}/{rest}"
    if path.startswith(_TESTS):
        return f"tests/{module}/{path.removeprefix(_TESTS)}"
    if first == _PYTHON:
        return path
    if first in _FROM_OUTSIDE:
        return path if "/" in rest else f"{first}/{module}_{rest}"
    return f"{home}/{path}"


def _within(text: str, generated: str, crate: str, module: str) -> str:
    """The paths of Rust code, as they are once it is a module of `crate`."""
    return outside_literals(text, re.compile(rf"(?<![\w:]){re.escape(generated)}::"), f"{crate}::{module}::")


def _with_lints(text: str) -> str:
    """The module's file, for a crate with lints of its own: what cuTile's macros make has no documentation."""
    lines = text.split("\n")
    at = next((n for n, line in enumerate(lines) if not line.startswith("//!")), len(lines))
    return "\n".join([*lines[:at], "#![allow(missing_docs)]", *lines[at:]])


def _manifest_step(crate: _Crate, edit: ManifestEdit) -> Step:
    problems = [*edit.conflicts, *_edition(crate)]
    new = like(edit.text.encode(), crate.manifest)
    added = [line.partition(" = ")[0] for line in edit.added]
    detail = "; ".join(problems) or (f"added {', '.join(added)}" if new != crate.manifest else "")
    lines = tuple(Conflict(line, line) for line in _lines_of(edit, problems)) if problems else ()
    written = None if new == crate.manifest else new
    action = Action.CONFLICT if problems else Action.UNCHANGED if written is None else Action.UPDATED
    return Step(FileOutcome(MANIFEST, action, detail, lines), crate.manifest, written)


def _edition(crate: _Crate) -> list[str]:
    edition = table(crate.values, "package").get("edition", "2015")
    if isinstance(edition, dict):
        edition = table(crate.workspace, "workspace", "package").get("edition", "2015")
    if edition in EDITIONS:
        return []
    return [f"edition {edition} is there; the generated code needs {EDITIONS[0]} or later"]


def _lines_of(edit: ManifestEdit, problems: list[str]) -> list[int]:
    """Where the manifest speaks of what the problems are about."""
    found = []
    for problem in problems:
        word = re.escape(problem.removeprefix("[workspace.dependencies] ").split()[0])
        pattern = re.compile(rf"\s*(?:[\w.-]*\.)?\"?{word}\"?\s*(?:[.=\]]|$)|\s*\[[\w.'()=\"-]*{word}\]")
        lines = [n for n, line in enumerate(edit.text.split("\n"), start=1) if pattern.match(line)]
        found.append(lines[0] if lines else 1)
    return found


def _module_step(folder: Path, crate: _Crate, record: Record, module: str) -> tuple[Step, str, list[str]]:
    """The `mod` line: added once; who took it out again wants it so."""
    there: Found = look(folder, crate.root)
    data = there.data or b""
    line = f"{'pub ' if crate.library else ''}mod {module};"
    ours = record.additions.get(crate.root, ())
    try:
        text = with_lf(data).decode()
    except UnicodeDecodeError:
        raise ExportError(f"{folder / crate.root} is not UTF-8") from None
    home = str(PurePosixPath(crate.root).parent / module)
    declared = declares(text, module)
    known = line in ours or record.knows(f"{home}/mod.rs")
    if not known and (declared or look(folder, f"{home}.rs").data is not None):
        raise ExportError(f"{folder / crate.root}: a module `{module}` is there already; choose another name: --module")
    said = [f"{crate.root}: `{line}` was taken out by hand and is not added again"] if known and not declared else []
    new = text if known else declare(text, line)
    if not known and not declares(new, module):
        raise ExportError(f"{folder / crate.root}: no place for `{line}` was found; add it by hand and export again")
    for old in ours:
        if old != line:  # the name that the module had before
            new = "".join(row for row in new.splitlines(keepends=True) if row.rstrip("\n") != old)
    if new == text:
        return Step(FileOutcome(crate.root, Action.UNCHANGED), data), line, said
    written = like(new.encode(), data)
    return Step(FileOutcome(crate.root, Action.UPDATED, f"has `{line}` now"), data, written), line, said

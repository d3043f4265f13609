"""`ferrotile export`: a Cargo project from the kernels of Python files."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from ferrotile.crate.model import PythonFile, Recording
from ferrotile.crate.modules import crate_name
from ferrotile.crate.project import Contents, Crate, contents_of, crate_files
from ferrotile.diagnostics.model import Severity
from ferrotile.syntax.module import Module
from ferrotile.translate import DocumentTranslation
from ferrotile.translation import Options
from ferrotile_runner.export.existing import ExportError, has_python, module_folder, recorded_modules
from ferrotile_runner.export.outcome import UP_TO_DATE, Outcome
from ferrotile_runner.export.record import RecordError
from ferrotile_runner.export.regenerate import regenerate
from ferrotile_runner.export.sources import node
from msgspec.structs import replace

from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.export_report import exit_code, shown
from ferrotile_server.cli.output import Style, stdout_style, use_colour
from ferrotile_server.cli.paths import PathError, read_sources, split_node
from ferrotile_server.cli.places import render
from ferrotile_server.cli.progress import Progress
from ferrotile_server.cli.translating import Translated, application, translate_sources
from ferrotile_server.drafting.exported import unverified_drafts


def known_as(source: Path, folder: Path) -> str:
    """How a reader of the crate in `folder` knows a Python file: from the folder that both are in, so that it is the
    same wherever the command is run."""
    source = Path(os.path.abspath(source))
    try:
        common = Path(os.path.commonpath((source.parent, os.path.abspath(folder))))
    except ValueError:  # drives of Windows
        common = Path(source.anchor)
    parts = source.relative_to(common).parts if common != Path(common.anchor) else source.parts[-2:]
    return "/".join(parts)


def python_file(translated: Translated, folder: Path, sources: str, options: Options) -> PythonFile | None:
    """A translated file as the crate's maker takes it; `folder` is the crate's, its modules will be below `sources`."""
    translation = translated.analysis.translation
    if not isinstance(translation, DocumentTranslation) or translation.module is None:
        return None
    wanted = set(map(id, translated.kernels))
    pairs = [(k, p) for k, p in zip(translation.kernels, translation.parts, strict=True) if id(k) in wanted]
    link = os.path.relpath(translated.source.path, folder / sources).replace(os.sep, "/")
    return PythonFile(
        translated.source.stem,
        known_as(translated.source.path, folder),
        link,
        translated.analysis.document,
        translation.module,
        tuple(k for k, _ in pairs),
        tuple(p for _, p in pairs),
        options,
        _others(translated, translation.module, folder),
    )


def _others(translated: Translated, module: Module, folder: Path) -> dict[str, tuple[str, str]]:
    """The files whose functions `module` imports, as `PythonFile.others` has them."""
    around = translated.around
    if around is None:
        return {}
    found: dict[str, tuple[str, str]] = {}
    for name in sorted(set(module.origins.values())):
        document = around.workspace.document(name)
        if document is not None and name in around.paths:
            found[name] = known_as(Path(around.paths[name]), folder), document.text
    return found


def make(arguments: Arguments, folder: Path) -> tuple[Crate, Sequence[Translated]]:
    """The crate for `folder` and what it is made from. Raises `PathError`."""
    core = application(arguments)
    sources, unreadable = read_sources(arguments.paths)
    for error in unreadable:
        raise PathError(f"{error}; nothing is exported, since the Rust of this file would go")
    translated = translate_sources(core, sources)
    if not arguments.include_drafts:
        _refuse_drafts(folder, translated)
    try:
        place, before = module_folder(folder, arguments.module), recorded_modules(folder, arguments.module)
        python = has_python(folder) if arguments.python is None else arguments.python
    except (ExportError, RecordError) as error:
        raise PathError(str(error)) from None
    files = [f for one in translated if (f := python_file(one, folder, place, core.options)) is not None]
    contents = contents_of(crate_name(folder.absolute().name), files)
    if arguments.record:
        return crate_files(contents, recorded(contents), python=python), translated
    return crate_files(contents, recorded=before, python=python), translated


def _refuse_drafts(folder: Path, translated: Sequence[Translated]) -> None:
    """Raises `PathError` where the crate has drafts by a model that are not verified."""

    def digests() -> dict[str, str]:
        from ferrotile_server.drafting.task import digest_of  # few crates have drafts

        refused = ((one, k) for one in translated for k in one.kernels if k.rust is None)
        return {f"{one.source.path.name}::{k.name}": digest_of(one.analysis, k) for one, k in refused}

    if found := unverified_drafts(folder, digests):
        lines = "\n  ".join(found)
        raise PathError(
            f"nothing is exported beside what is not verified:\n  {lines}\n"
            "Take them out, draft them anew, or export with --include-drafts"
        )


def recorded(contents: Contents) -> dict[tuple[str, str], Recording]:
    """A launch of each kernel that has host functions; says of the others why there is none."""
    from ferrotile_runner.export.recorded import NotRecorded, record
    from ferrotile_runner.rungs.subject import ToolMissing
    from ferrotile_runner.session import Session
    from ferrotile_runner.toolchain import locate

    made: dict[tuple[str, str], Recording] = {}
    wanted = [(m, k) for m in contents.modules for k in m.kernels if k.host is not None]
    with Session(locate()) as session, Progress(len(wanted)) as progress:
        for module, kernel in wanted:
            name = kernel.planned.entry.name
            progress.step(f"recording {module.name}::{name}")
            try:
                made[module.name, name] = record(session, module, kernel)
            except NotRecorded as reason:
                print(f"{module.name}::{name}: no recorded test: {reason}", file=sys.stderr)
            except ToolMissing as reason:
                print(f"ferrotile: no recorded tests: {reason}", file=sys.stderr)
                break
            progress.finish_one()
    return made


def merge(folder: Path, crate: Crate, arguments: Arguments) -> Outcome:
    """Brings the folder to what the crate is now, edits kept; with `--check` only says what that would be. Raises
    `PathError`."""
    undecided = () if arguments.record else recorded_paths(crate)
    try:
        before = frozenset() if arguments.record else recorded_modules(folder, arguments.module)
        named = [(Path(path), kernel) for path, kernel in map(split_node, arguments.paths)]
        done = regenerate(
            folder,
            crate.files,
            check=arguments.check,
            module=arguments.module,
            undecided=undecided,
            sources=[node(path, kernel, folder) for path, kernel in named],
            drop=arguments.drop,
        )
    except (ExportError, RecordError) as error:
        raise PathError(str(error)) from None
    except OSError as error:
        raise PathError(f"{error.filename or folder}: {error.strerror or error}") from None
    return replace(done, notes=(*done.notes, *older_recordings(done, before)))


def older_recordings(outcome: Outcome, recorded: Collection[str]) -> tuple[str, ...]:
    """What is to be said of modules whose kernels changed since their launches were recorded."""
    new = {Path(f.path).stem for f in outcome.files if f.path.startswith("src/") and f.action not in UP_TO_DATE}
    names = ", ".join(sorted(new & set(recorded)))
    return (f"{names}: recorded launches are from before this change; export with --record",) if names else ()


def recorded_paths(crate: Crate) -> tuple[str, ...]:
    """Where the tests of recorded launches are, each a file or a folder: without `--record` they stay as they are."""
    names = [module.name for module in crate.modules]
    return (*(f"tests/kernels/{n}.rs" for n in names), *(f"tests/data/{n}" for n in names))


def run(arguments: Arguments) -> int:
    """Exit code 1 where a kernel was refused; the others are written all the same."""
    assert arguments.output is not None
    folder = Path(arguments.output)
    crate, translated = make(arguments, folder)
    outcome = merge(folder, crate, arguments)
    print(shown(folder, outcome, arguments.format, stdout_style()))
    if arguments.check:
        return exit_code(outcome)
    style = Style(use_colour(sys.stderr))
    refused = [(one, k) for one in translated for k in one.kernels if k.rust is None]
    for one, kernel in refused:
        for found in kernel.diagnostics:
            if found.severity is Severity.ERROR:
                print(render(one.source.name, one.source.text, found, style), file=sys.stderr)
    for without in crate.refused:
        print(f"{without.module}::{without.entry}: no host function: {without.reason}", file=sys.stderr)
    count = sum(len(m.kernels) for m in crate.modules)
    print(f"{folder}: {count} kernels in {len(crate.modules)} modules, {len(refused)} refused", file=sys.stderr)
    return 1 if refused or exit_code(outcome) else 0

"""Static translation of the files that the command line names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ferrotile.choices import Choices
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.syntax.document import Document
from ferrotile.translation import KernelTranslation, Options
from ferrotile_runner.project import Projects, Surroundings, may_hold_kernels
from msgspec import Struct

from ferrotile_server.application import Analysis, Application
from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.paths import PathError, Source

NO_CHOICES = Choices()


class Translated(Struct, frozen=True):
    """A file and its translation; `kernels` are those that the user asked for; `around`: its project, if it is read."""

    source: Source
    analysis: Analysis
    kernels: tuple[KernelTranslation, ...]
    around: Surroundings | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The kernels' names, each once."""
        return tuple(dict.fromkeys(kernel.name for kernel in self.kernels))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Of the whole file or of the kernel that was asked for, in the order of the source."""
        if self.source.kernel is None:
            return self.analysis.diagnostics
        found = {diagnostic: None for kernel in self.kernels for diagnostic in kernel.diagnostics}
        return tuple(sorted(found, key=lambda d: (d.span.start, d.span.end, d.code)))


def application(arguments: Arguments, choices: Choices = NO_CHOICES) -> Application:
    """The application core with the translation options of this call, and a tuner's `choices`."""
    return Application(Options(arguments.target, arguments.unsafe, arguments.checks, choices))


def _unknown_kernel(source: Source, names: Sequence[str]) -> PathError:
    there = f"it has {', '.join(names)}" if names else "it has no kernel"
    return PathError(f"{source.name}: no kernel is called '{source.kernel}'; {there}")


def translate_sources(core: Application, sources: Sequence[Source]) -> list[Translated]:
    """Translate files, each with the files of its project at hand. Raises `PathError` where a named kernel is not
    there."""
    projects = Projects()
    return [_translate(core, source, projects) for source in sources]


def translate_source(core: Application, source: Source) -> Translated:
    """Translate one file; raises `PathError` where the named kernel is not there."""
    return translate_sources(core, (source,))[0]


def _translate(core: Application, source: Source, projects: Projects) -> Translated:
    document = Document(source.text)
    path = Path(os.path.abspath(source.path))
    around = projects.around(path) if may_hold_kernels(document.data) else None
    if around is None:
        analysis = core.check_document(document, str(path))
    else:
        analysis = core.check_document(document, str(path), around.workspace, around.name)
    if source.kernel is None:
        return Translated(source, analysis, analysis.translation.kernels, around)
    kernels = analysis.named(source.kernel)
    if not kernels:
        raise _unknown_kernel(source, analysis.kernel_names)
    return Translated(source, analysis, kernels, around)

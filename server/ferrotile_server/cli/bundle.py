"""`ferrotile bundle`: compiles kernels and their translations here, to be run where a GPU is."""

from __future__ import annotations

import sys
from pathlib import Path

from ferrotile_runner.gpu.bundle import Asked, BundleWriter, NotBundled
from ferrotile_runner.rungs.subject import ToolMissing
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate
from ferrotile_runner.workers.bundle_format import Launches, Manifest
from msgspec import Struct

from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.output import plural
from ferrotile_server.cli.paths import PathError, read_sources
from ferrotile_server.cli.progress import Progress
from ferrotile_server.cli.translating import application, translate_sources


class Made(Struct, frozen=True):
    """What is in a bundle; `left_out` are kernels that are not, and why; `errors` are sources that cannot be read."""

    manifest: Manifest
    left_out: tuple[str, ...]
    errors: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        return 2 if self.errors else 1 if self.left_out else 0


def make(arguments: Arguments, path: Path) -> Made:
    """Bundles the kernels of `arguments.paths`. Raises PathError where tools are missing, or nothing can be bundled."""
    sources, errors = read_sources(arguments.paths)
    files = translate_sources(application(arguments), sources)
    if not path.absolute().parent.is_dir():
        raise PathError(f"{path}: there is no folder {path.parent}")
    left_out: list[str] = []
    asked = Asked(arguments.target, Launches(arguments.launches), arguments.seed)
    try:
        with (
            Session(locate()) as session,
            Progress(sum(len(one.kernels) for one in files)) as progress,
            BundleWriter(path, asked, session) as writer,
        ):
            for one in files:
                analysis, module = one.analysis, one.analysis.translation.module
                for kernel in one.kernels:
                    progress.step(kernel.name)
                    try:
                        writer.add(analysis.document, module, kernel, one.source.name)
                    except NotBundled as error:
                        left_out.append(f"{one.source.name}::{kernel.name}: {error}")
                    progress.finish_one()
            if not writer.manifest.kernels:
                raise PathError("\n".join(("nothing to bundle", *left_out)))
    except ToolMissing as error:
        raise PathError(str(error)) from error
    except OSError as error:
        raise PathError(f"{path}: {error.strerror or error}") from error
    return Made(writer.manifest, tuple(left_out), tuple(map(str, errors)))


def complain(made: Made) -> None:
    """What is not in the bundle, on standard error."""
    for line in made.left_out:
        print(f"left out: {line}", file=sys.stderr)
    for error in made.errors:
        print(f"ferrotile: {error}", file=sys.stderr)


def run(arguments: Arguments) -> int:
    """Write the bundle and say what is in it and how to run it: 1 where a kernel is left out, 2 where a source is."""
    path = Path(arguments.output or "")
    made = make(arguments, path)
    launches = sum(len(kernel.launches) for kernel in made.manifest.kernels)
    size = path.stat().st_size / 2**20
    print(f"{path}: {plural(len(made.manifest.kernels), 'kernel')}, {launches} launches, {size:.3g} MiB")
    print(f"run it where a GPU is: python {path.name} (needs a driver, numpy and cuda-bindings)")
    complain(made)
    return made.exit_code

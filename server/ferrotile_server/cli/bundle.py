"""`ferrotile bundle`: compiles kernels and their translations here, to be run where a GPU is."""

from __future__ import annotations

import sys
from pathlib import Path

from ferrotile_runner.gpu.bundle import Asked, BundleWriter, NotBundled
from ferrotile_runner.rungs.subject import ToolMissing
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate

from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.output import plural
from ferrotile_server.cli.paths import PathError, read_sources
from ferrotile_server.cli.progress import Progress
from ferrotile_server.cli.translating import application, translate_sources


def run(arguments: Arguments) -> int:
    """Write the bundle and say what is in it, and what is not and why: 1 where a kernel is left out, 2 where tools are
    missing or nothing can be bundled."""
    sources, errors = read_sources(arguments.paths)
    files = translate_sources(application(arguments), sources)
    path = Path(arguments.output or "")
    if not path.absolute().parent.is_dir():
        raise PathError(f"{path}: there is no folder {path.parent}")
    left_out: list[str] = []
    asked = Asked(arguments.target, arguments.timed, arguments.seed)
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
                raise PathError("\n".join((*left_out, "nothing to bundle")))
    except ToolMissing as error:
        raise PathError(str(error)) from error
    except OSError as error:
        raise PathError(f"{path}: {error.strerror or error}") from error
    launches = sum(len(kernel.launches) for kernel in writer.manifest.kernels)
    size = path.stat().st_size / 2**20
    print(f"{path}: {plural(len(writer.manifest.kernels), 'kernel')}, {launches} launches, {size:.3g} MiB")
    print(f"run it where a GPU is: python {path.name} (needs a driver, numpy and cuda-bindings)")
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    for unread in errors:
        print(f"ferrotile: {unread}", file=sys.stderr)
    return 2 if errors else 1 if left_out else 0

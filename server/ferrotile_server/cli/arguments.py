"""The grammar of the command line, and its result as a typed value."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from ferrotile_server.verdicts import RUNGS

VERSION = "0.1.0"


class Arguments(Struct, frozen=True):
    """Every option of every command; a command reads those that are its own."""

    command: str
    paths: tuple[str, ...] = ()
    format: str = "text"
    output: str | None = None
    force: bool = False
    target: str = "sm_90"
    unsafe: str = "proved"
    checks: str = "free"
    rungs: tuple[str, ...] = ()
    backend: str = "auto"
    host: str = ""
    launches: str = "all"
    jobs: int = 0
    seconds: float = 0.0
    fresh: bool = False
    inputs: str | None = None
    seed: int = 0
    trust: bool = False
    verbose: bool = False
    check: bool = False
    module: str = "kernels"
    drop: bool = False
    record: bool = False
    write: bool = False


def _rungs(text: str) -> tuple[str, ...]:
    """`assembled,proved` as a tuple; raises `ArgumentTypeError` on a name that is no rung."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in RUNGS:
            raise argparse.ArgumentTypeError(f"no rung is called '{name}'; the rungs are {', '.join(RUNGS)}")
    return names


def _some_or_all(text: str) -> tuple[str, ...]:
    """As `_rungs`; `all` are those that need no GPU."""
    return tuple(rung for rung in RUNGS if rung != "matched") if text == "all" else _rungs(text)


def _positive(text: str) -> float:
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not above 0")
    return number


def _module(text: str) -> str:
    from ferrotile.passes.naming import KEYWORDS

    if not re.fullmatch(r"[a-z][a-z0-9_]*", text) or text in KEYWORDS:
        raise argparse.ArgumentTypeError(f"'{text}' is no name of a Rust module")
    return text


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not at least 1")
    return number


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"'{text}' is below 0")
    return number


def _translation_options(parser: argparse.ArgumentParser, unsafe: tuple[str, ...] = ("proved", "never")) -> None:
    absent = argparse.SUPPRESS  # then the project's `pyproject.toml` may say it
    parser.add_argument("--target", default=absent, metavar="sm_XX", help="GPU to choose hints for (default sm_90)")
    both = "; both: count under either" if "both" in unsafe else ""
    parser.add_argument("--unsafe", choices=unsafe, default=absent, help=f"whether proved `unsafe` may be used{both}")
    parser.add_argument("--checks", choices=("free", "keep"), default=absent, help="keep bounds checks that cost time")


def _input_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--inputs", metavar="FILE.npz", help="simulate on these arrays and numbers, by parameter name")
    parser.add_argument("--seed", type=_natural, default=0, metavar="N", help="of the inputs that are made (default 0)")
    parser.add_argument("--trust", action="store_true", help="run the function of `# ferrotile: inputs=FUNCTION`")


def build_parser() -> argparse.ArgumentParser:
    """The parser of `ferrotile`."""
    parser = argparse.ArgumentParser(
        prog="ferrotile",
        description="Turns cuTile Python kernels into safe cuTile Rust, and proves each translation.",
    )
    parser.add_argument("--version", action="version", version=f"ferrotile {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    check = commands.add_parser("check", help="diagnostics for files and folders; nothing is run")
    check.add_argument("paths", nargs="+", metavar="PATH[::KERNEL]")
    check.add_argument("--format", choices=("text", "json", "sarif", "github"), default="text")
    check.add_argument("-v", "--verbose", action="store_true", help="show each signature, and where it is known from")
    _translation_options(check)

    translate = commands.add_parser("translate", help="Rust on stdout, or in a file; nothing is run")
    translate.add_argument("paths", nargs=1, metavar="FILE[::KERNEL]")
    translate.add_argument("-o", "--output", metavar="FILE", help="write the Rust here")
    translate.add_argument("--force", action="store_true", help="overwrite a file that ferrotile did not write")
    _translation_options(translate)

    verify = commands.add_parser("verify", help="climb the ladder: assemble, prove, simulate")
    verify.add_argument("paths", nargs="+", metavar="PATH[::KERNEL]")
    verify.add_argument("--rungs", type=_rungs, default=(), metavar="RUNG,...", help="only these rungs")
    verify.add_argument("--format", choices=("text", "json"), default="text")
    _input_options(verify)
    _translation_options(verify)

    run = commands.add_parser("run", help="run a kernel and its translation on the same inputs")
    run.add_argument("paths", nargs=1, metavar="FILE[::KERNEL]")
    run.add_argument(
        "--backend",
        choices=("auto", "cuda", "simulate"),
        default="auto",
        help="auto (default): a GPU where one can be used, else the simulator",
    )
    run.add_argument("--on", dest="host", default="", metavar="HOST", help="run on the GPU of this host, through `ssh`")
    run.add_argument("--format", choices=("text", "json"), default="text")
    _input_options(run)
    _translation_options(run)

    bundle = commands.add_parser("bundle", help="compile here, to run where a GPU is: `python BUNDLE.zip`")
    bundle.add_argument("paths", nargs="+", metavar="PATH[::KERNEL]")
    bundle.add_argument("-o", "--output", metavar="FILE.zip", required=True, help="write the bundle here")
    bundle.add_argument("--seed", type=_natural, default=0, metavar="N", help="of the inputs that are made (default 0)")
    bundle.add_argument(
        "--launches",
        choices=("all", "small", "large"),
        default="all",
        help="small ones, which the interpreter runs too; the large one, for the clock; all (default)",
    )
    _translation_options(bundle)

    tune = commands.add_parser("tune", help="find the hints with which a kernel is fastest on a GPU, and keep them")
    tune.add_argument("paths", nargs="+", metavar="PATH[::KERNEL]")
    tune.add_argument("--on", dest="host", default="", metavar="HOST", help="on the GPU of this host, through `ssh`")
    tune.add_argument(
        "--seconds", type=_positive, default=300.0, metavar="S", help="begin no trial after this time (default 300)"
    )
    tune.add_argument("--write", action="store_true", help="write what wins above the kernel, as a comment")
    tune.add_argument("--fresh", action="store_true", help="use nothing that earlier runs measured")
    tune.add_argument("--format", choices=("text", "json"), default="text")
    _translation_options(tune)

    export = commands.add_parser("export", help="a Cargo project: kernels, safe host functions, tests")
    export.add_argument("paths", nargs="+", metavar="PATH[::KERNEL]")
    export.add_argument("-o", "--output", metavar="FOLDER", required=True, help="the crate's folder")
    export.add_argument(
        "--record",
        action="store_true",
        help="record inputs and outputs for the crate's GPU tests (compiles and simulates the originals)",
    )
    export.add_argument("--check", action="store_true", help="write nothing; exit code 1 where the Rust is out of date")
    export.add_argument("--drop", action="store_true", help="take out the Rust of what is not named any more")
    export.add_argument(
        "--module", type=_module, default="kernels", metavar="NAME", help="in a crate of your own (default: kernels)"
    )
    export.add_argument("--format", choices=("text", "json", "github"), default="text")
    _translation_options(export)

    coverage = commands.add_parser("coverage", help="how many kernels get how far, and why not further")
    coverage.add_argument("paths", nargs="+", metavar="PATH")
    coverage.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    coverage.add_argument(
        "--rungs",
        type=_some_or_all,
        default=("translated",),
        metavar="all|RUNG,...",
        help="how far to climb (default: translated, for which nothing is run)",
    )
    coverage.add_argument(
        "-j", "--jobs", type=_count, default=0, metavar="N", help="processes at once (default: one a processor)"
    )
    coverage.add_argument(
        "--seconds", type=_positive, default=120.0, metavar="S", help="the most for a kernel on a rung (default 120)"
    )
    coverage.add_argument("--fresh", action="store_true", help="use nothing that earlier runs found out")
    _translation_options(coverage, ("proved", "never", "both"))

    explain = commands.add_parser("explain", help="what a diagnostic means and what to do")
    explain.add_argument("paths", nargs="*", metavar="FT###", help="a code; without one, all codes")

    commands.add_parser("setup", help="build what the rungs need: ferrotile-host")
    commands.add_parser("doctor", help="what is there and what is missing")
    server = commands.add_parser("server", help="the language server, on stdin and stdout")
    server.add_argument("--stdio", action="store_true", help="accepted, since editors pass it")
    server.add_argument("--clientProcessId", metavar="PID", help="accepted; `initialize` says it too")
    server.add_argument("--verbose", action="store_true", help="log more, on stderr")
    demo = commands.add_parser("demo", help="verify the example kernels and print a table")
    demo.add_argument("paths", nargs="*", metavar="FOLDER", help="examples to use (default: those of ferrotile)")
    demo.add_argument("--rungs", type=_rungs, default=(), metavar="RUNG,...", help="only these rungs")
    return parser


def parse(argv: Sequence[str] | None) -> Arguments:
    """The arguments of this call. Wrong use prints a message and raises `SystemExit(2)`."""
    parsed = vars(build_parser().parse_args(argv))
    for accepted in ("stdio", "clientProcessId"):
        parsed.pop(accepted, None)
    parsed["paths"] = tuple(parsed.get("paths", ()))
    if parsed["command"] in _OF_PROJECTS:
        parsed = _of_project(parsed["paths"][0]) | parsed
    return Arguments(**parsed)


_OF_PROJECTS = frozenset({"check", "translate", "verify", "run", "bundle", "tune", "export"})
"""Commands that a project has a say in: not the measure, which is to be the same everywhere."""


def _of_project(path: str) -> dict[str, object]:
    """The translation options of the project that the first path lies in."""
    from ferrotile.translation import Options

    from ferrotile_server.project_settings import ProjectSettings

    first = Path(os.path.abspath(path.partition("::")[0]))
    file = first if first.suffix == ".py" else first / "__init__.py"
    options = ProjectSettings().options(file, (), Options())
    return {"target": options.target, "unsafe": options.unsafe, "checks": options.checks}

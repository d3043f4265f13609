"""The grammar of the command line, and its result as a typed value."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from ferrotile_server.drafting.prices import Prices
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
    refused: bool = False
    inputs: str | None = None
    seed: int = 0
    trust: bool = False
    trusted: tuple[str, ...] = ()
    verbose: bool = False
    check: bool = False
    module: str = "kernels"
    drop: bool = False
    record: bool = False
    python: bool | None = None
    write: bool = False
    model: str = ""
    base_url: str = ""
    tries: int = 5
    most_tokens: int = 200_000
    prices: Prices | None = None
    log: str | None = None
    replay: str | None = None
    write_unverified: bool = False
    include_drafts: bool = False
    rust: str = ""
    mapping: tuple[tuple[str, str], ...] = ()
    assume: tuple[str, ...] = ()
    grid: str = ""


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


def _prices(text: str) -> Prices:
    """`3,15`: of a million tokens of prompts, and of answers."""
    prompt, _, answer = text.partition(",")
    try:
        return Prices(float(prompt), float(answer))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not two prices, as 3,15") from None


def _pair(text: str) -> tuple[str, str]:
    """`x=src`: what of the Python it is, and the name in the Rust."""
    python, equals, rust = text.rpartition("=")
    if not equals or not python.strip() or not rust.strip():
        raise argparse.ArgumentTypeError(f"'{text}' is not PYTHON=RUST, as x=src or x.shape[0]=n")
    return python.strip(), rust.strip()


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(map(_pair, filter(None, (part.strip() for part in text.split(",")))))


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
    verify.add_argument(
        "--rust", default="", metavar="FILE.rs[::ENTRY]", help="verify this Rust instead of ferrotile's: one kernel"
    )
    verify.add_argument(
        "--map",
        dest="mapping",
        type=_pairs,
        action="extend",
        default=[],
        metavar="PYTHON=RUST,...",
        help="with --rust: what a parameter is, where its name does not say it: x=src, x.shape[0]=n, 128=TILE",
    )
    verify.add_argument(
        "--grid", default="", metavar="GRID", help="with --rust: its launch's, if not the Python's: 'M/64, H, B'"
    )
    verify.add_argument(
        "--assume",
        action="append",
        default=[],
        metavar="FACT",
        help="with --rust: verify for launches of which this holds, as 'N = 1000' or 'cdiv(N, 1024) = 1'",
    )
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
    export.add_argument(
        "--python",
        action=argparse.BooleanOptionalAction,
        help="with a package for Python, for tensors of torch, cupy, ... (default: as it was exported last)",
    )
    export.add_argument("--check", action="store_true", help="write nothing; exit code 1 where the Rust is out of date")
    export.add_argument(
        "--include-drafts", action="store_true", help="export also beside drafts by a model that are not verified"
    )
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
    coverage.add_argument(
        "--refused", action="store_true", help="name every kernel that the rules refuse, by reason; nothing else"
    )
    coverage.add_argument("--fresh", action="store_true", help="use nothing that earlier runs found out")
    _translation_options(coverage, ("proved", "never", "both"))

    draft = commands.add_parser("draft", help="a model proposes Rust where rules refuse; the ladder decides")
    draft.add_argument("paths", nargs=1, metavar="FILE::KERNEL")
    draft.add_argument("--model", default="", metavar="M", help="the model's name at the endpoint (FERROTILE_MODEL)")
    draft.add_argument(
        "--base-url",
        default="",
        metavar="URL",
        help="an OpenAI-compatible endpoint, https://HOST/v1 (FERROTILE_BASE_URL); its key: FERROTILE_API_KEY",
    )
    draft.add_argument("--tries", type=_count, default=5, metavar="N", help="candidates at most (default 5)")
    draft.add_argument("--seconds", type=_positive, default=600.0, metavar="S", help="time at most (default 600)")
    draft.add_argument(
        "--max-tokens",
        dest="most_tokens",
        type=_count,
        default=200_000,
        metavar="T",
        help="of prompts and answers together (default 200000)",
    )
    draft.add_argument("--prices", type=_prices, metavar="IN,OUT", help="of a million tokens each, to show the cost")
    draft.add_argument("-o", "--output", metavar="OUT.rs", help="write the verified draft here (default: stdout)")
    draft.add_argument("--force", action="store_true", help="overwrite what is no unedited draft")
    draft.add_argument("--log", metavar="LOG.jsonl", help="write every prompt, answer and verdict to this new file")
    draft.add_argument("--replay", metavar="LOG.jsonl", help="take the answers from a log: no endpoint is needed")
    draft.add_argument(
        "--write-unverified", action="store_true", help="with -o: write the best draft, marked, if none is verified"
    )
    _translation_options(draft)

    explain = commands.add_parser("explain", help="what a diagnostic means and what to do")
    explain.add_argument("paths", nargs="*", metavar="FT###", help="a code; without one, all codes")

    commands.add_parser("setup", help="build what the rungs need: ferrotile-host")
    commands.add_parser("doctor", help="what is there and what is missing")
    mcp = commands.add_parser("mcp", help="serve agents over the Model Context Protocol, on stdin and stdout")
    mcp.add_argument("paths", nargs="*", metavar="FOLDER", help="may be read (default: the client's folders)")
    mcp.add_argument(
        "--trust", dest="trusted", action="append", default=[], metavar="FOLDER", help="its kernels may be run, unasked"
    )
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
    for listed in ("mapping", "assume"):
        parsed[listed] = tuple(parsed.get(listed, ()))
    parsed["trusted"] = tuple(parsed.get("trusted", ()))
    if parsed["command"] in _OF_PROJECTS:
        parsed = _of_project(parsed["paths"][0]) | parsed
    return Arguments(**parsed)


_OF_PROJECTS = frozenset({"check", "translate", "verify", "run", "bundle", "tune", "export", "draft"})
"""Commands that a project has a say in: not the measure, which is to be the same everywhere."""


def _of_project(path: str) -> dict[str, object]:
    """The translation options of the project that the first path lies in."""
    from ferrotile.translation import Options

    from ferrotile_server.project_settings import ProjectSettings

    first = Path(os.path.abspath(path.partition("::")[0]))
    file = first if first.suffix == ".py" else first / "__init__.py"
    options = ProjectSettings().options(file, (), Options())
    return {"target": options.target, "unsafe": options.unsafe, "checks": options.checks}

"""Analysis time of the examples' kernels, each in a file of its own with nothing kept from before, beside cuda-tile's
front end: the same text and signature to Tile IR, in a process that is warm and has imported the kernel already.
`bench_analysis.py FOLDER...` adds the kernels of other people's code, which are longer than the examples, beside the
same budget (as `bench_corpus.py` does).

Both read Python syntax and type every operation. ferrotile also finds the signature and the launches, decides who owns
each output and writes Rust; cuda-tile also runs its own optimisations and encodes bytecode."""

from __future__ import annotations

import gc
import sys
from functools import partial
from pathlib import Path

from bench_corpus import report
from ferrotile.frontends.cutile.discover import find_kernels
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import FunctionSource, Module, parse_module
from ferrotile.translate import translate_document
from ferrotile_runner.python_worker import PythonCompiler
from ferrotile_runner.slice import slice_source
from measuring import Budget, Times, measure, print_table

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
RUNS = 10
BUDGET = Budget(5)


def kernel_text(module: Module, source: FunctionSource) -> str:
    """The kernel with what it needs of its file, and the comments above it, which hold its directive."""
    made = slice_source(module, source).text
    above = module.document.comments_above(source.span.start)
    at = made.rindex("@", 0, made.index(f"def {source.name}("))
    return made[:at] + "".join(f"{c.text}\n" for c in above) + made[at:]


def analyse(text: str) -> None:
    translate_document(Document(text))


def compile_times(compiler: PythonCompiler, text: str) -> list[float] | None:
    """Milliseconds of cuda-tile's compiler for each run but the first; None where ferrotile refuses the kernel."""
    (kernel,) = translate_document(Document(text)).kernels
    if kernel.signature is None or kernel.rust is None:
        return None
    made = [compiler.compile(text, kernel.name, kernel.signature).ms for _ in range(RUNS + 1)]
    return made[1:]


def main() -> None:
    gc.set_threshold(50_000, 20, 20)  # as in ferrotile's own processes
    compiler = PythonCompiler()
    compiler.version()
    ours: list[float] = []
    theirs: list[float] = []
    for file in sorted(EXAMPLES.glob("*.py")):
        module = parse_module(Document(file.read_text(encoding="utf-8")))
        for source in find_kernels(module):
            text = kernel_text(module, source)
            compiled = compile_times(compiler, text)
            if compiled is None:
                continue
            theirs += compiled
            ours += measure(partial(analyse, text), RUNS).ms
    compiler.close()
    rows = [("ferrotile: Python to Rust", Times(tuple(ours))), ("cuda-tile: Python to Tile IR", Times(tuple(theirs)))]
    print_table(f"analysis of a kernel, {len(ours) // RUNS} kernels of the examples", rows, BUDGET)
    if folders := [Path(argument) for argument in sys.argv[1:]]:
        report(folders)


if __name__ == "__main__":
    main()

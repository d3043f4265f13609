"""Translates kernels and climbs the ladder with them, one at a time; a program: `kernels.py ROOT...`, one JSON-RPC
2.0 object a line on stdin, one answer a line on stdout. The packages of ferrotile are imported from the ROOT folders.

- `kernels` {text} -> {kernels: [{name, line}], problems: [message]}
- `translate` {text, file, path, index, options} -> {entries: [{report, rust}]}, a report being `kernels[i]` of the
  schema
- `climb` {text, file, path, index, options, entry, rung, types, seconds} -> {report, broken}; `types` has rustc's
  errors about the entry where they are known, else null; `seconds` is the caller's patience. Runs the compilers, and
  the kernel's part of the file in one of them.

`index` counts the text's kernels; `path` is where the text lies among the files of its project, or empty. Compilers
stay warm. Whoever waits too long for an answer kills this process.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import convert
from msgspec.structs import replace

if TYPE_CHECKING:
    from ferrotile.cache import Cache
    from ferrotile.syntax.document import Document
    from ferrotile.translate import DocumentTranslation
    from ferrotile.translation import Options

    from ferrotile_runner.project import Projects
    from ferrotile_runner.session import Session

SIMULATION_SHARE = 0.7
"""Of the time for a kernel on a rung."""
INTERNAL_ERROR = -32603


class Worker:
    """The text at hand, and compilers once one was needed."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._document: Document | None = None
        self._cache: Cache | None = None
        self._session: Session | None = None
        self._kernel: tuple[str, int] | None = None
        self._projects: Projects | None = None

    def answer(self, method: str, params: Mapping[str, object]) -> dict[str, object]:
        text, index = str(params["text"]), params.get("index", 0)
        assert isinstance(index, int)
        document = self._open(text)
        if method == "kernels":
            return self._kernels(document)
        options = _options(params["options"])
        file, path = str(params["file"]), str(params["path"])
        if method == "translate":
            return {"entries": self._translate(document, index, options, file, path)}
        assert method == "climb"
        if self._kernel != (text, index) and self._session is not None:
            self._session.forget()
        self._kernel = text, index
        return self._climb(document, index, options, file, path, params)

    def _open(self, text: str) -> Document:
        from ferrotile.cache import Cache
        from ferrotile.syntax.document import Document

        if self._document is None or text != self._text:
            self._text, self._document, self._cache = text, Document(text), Cache()
        return self._document

    def _kernels(self, document: Document) -> dict[str, object]:
        from ferrotile.frontends.cutile.discover import find_kernels
        from ferrotile.syntax.module import parse_module

        module = parse_module(document, None if self._cache is None else self._cache.parsed)
        problems = [
            f"{document.lines.line_of(d.span.start) + 1}: {d.code} {d.message}"
            for d in module.diagnostics
            if d.severity.value == "error"
        ]
        found = [{"name": f.name, "line": document.lines.line_of(f.name_span.start) + 1} for f in find_kernels(module)]
        return {"kernels": found, "problems": problems}

    def _entries(self, document: Document, index: int, options: Options, path: str) -> DocumentTranslation:
        from ferrotile.translate import translate_document

        from ferrotile_runner.project import Projects

        if self._projects is None:
            self._projects = Projects()
        around = self._projects.around(Path(path)) if path else None
        if around is None:
            return translate_document(document, options, self._cache, only=index)
        return translate_document(
            document, options, self._cache, only=index, workspace=around.workspace, name=around.name
        )

    def _translate(
        self, document: Document, index: int, options: Options, file: str, path: str
    ) -> list[dict[str, object]]:
        from ferrotile_runner.report import Rung, kernel_json, kernel_report
        from ferrotile_runner.rungs.translated import translated

        # Of the processor: the time on the wall depends on how busy the machine is.
        started = time.process_time()
        kernels = self._entries(document, index, options, path).kernels
        ms = (time.process_time() - started) * 1e3 / max(1, len(kernels))
        made: list[dict[str, object]] = []
        for kernel in kernels:
            rungs = {Rung.TRANSLATED: replace(translated(kernel), ms=ms)}
            report = kernel_json(kernel_report(document, kernel, rungs, file=file))
            made.append({"report": report, "rust": kernel.rust})
        return made

    def _climb(
        self, document: Document, index: int, options: Options, file: str, path: str, params: Mapping[str, object]
    ) -> dict[str, object]:
        from ferrotile_runner.report import kernel_json
        from ferrotile_runner.session import InputOptions, Session
        from ferrotile_runner.toolchain import locate
        from ferrotile_runner.typecheck import RustDiagnostic
        from ferrotile_runner.verify import verify_kernel

        if self._session is None:
            # Compilers need their part of the time as well.
            self._session = Session(locate(), InputOptions(seconds=float(str(params["seconds"])) * SIMULATION_SHARE))
        session, entry, rung, types = self._session, params["entry"], str(params["rung"]), params["types"]
        assert isinstance(entry, int)
        translated = self._entries(document, index, options, path)
        kernel = translated.kernels[entry]
        if isinstance(types, list) and kernel.rust is not None:
            session.know_types(kernel.rust, [RustDiagnostic(**d) for d in types])
        report = verify_kernel(
            document,
            kernel,
            (rung,),
            session.toolchain,
            target=options.target,
            session=session,
            module=translated.module,
            file=file,
        )
        return {"report": kernel_json(report), "broken": report.rungs[rung].broken}


def _options(value: object) -> Options:
    from ferrotile.translation import Options

    return convert(value, Options)


def reply(worker: Worker, request: Mapping[str, object]) -> dict[str, object]:
    made: dict[str, object] = {"jsonrpc": "2.0", "id": request.get("id")}
    params = request.get("params")
    try:
        assert isinstance(params, dict)
        made["result"] = worker.answer(str(request.get("method")), params)
    except Exception as error:
        traceback.print_exc()
        made["error"] = {"code": INTERNAL_ERROR, "message": f"{type(error).__name__}: {error}"}
    return made


def main() -> None:
    """Serves until stdin ends. Whatever is printed meanwhile goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path[:0] = sys.argv[1:]
    # Loaded now, so that it does not count as the first kernel's time.
    importlib.import_module("ferrotile.translate")
    importlib.import_module("ferrotile_runner.rungs.translated")
    # A translation makes many small records and hardly a cycle; the default thresholds cost it a sixth of its time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)

    worker = Worker()
    for line in sys.stdin:
        if line.strip():
            answers.write(json.dumps(reply(worker, json.loads(line))) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()

"""Random kernels are proved, or refused where cuTile Python's own compiler refuses them too: nothing in between."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from ferrotile.diagnostics.model import Severity
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module
from ferrotile.translate import translate_document
from ferrotile_runner.rungs.subject import RungFailure, Subject
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate
from ferrotile_runner.verify import verify_kernels
from kernels import file

SEEDS = range(2000, 2040)
TARGET = "sm_90"

pytestmark = [pytest.mark.compilers, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    toolchain = locate()
    if toolchain.missing:
        pytest.skip(f"needs {', '.join(toolchain.missing)}")
    with Session(toolchain) as found:
        yield found


def test_proved_or_refused_by_both(session: Session) -> None:
    document = Document(file(SEEDS))
    module = parse_module(document)
    functions = {f.name: f for f in module.functions}
    kernels = translate_document(document).kernels
    assert [k.name for k in kernels] == [f"k{seed}" for seed in SEEDS]
    wrong: dict[str, str] = {}
    translated = [k for k in kernels if k.rust is not None]
    for report in verify_kernels(document, translated, ("proved",), locate(), session=session):
        result = report.rungs["proved"]
        if result.status != "passed":
            wrong[report.name] = f"{result.status}: {result.detail}"
    for kernel in kernels:
        if kernel.rust is None:
            subject = Subject(document, module, functions[kernel.name], kernel, TARGET, threading.Event())
            try:
                session.python_code(subject)
            except RungFailure:
                continue
            wrong[kernel.name] = "; ".join(d.message for d in kernel.diagnostics if d.severity is Severity.ERROR)
    assert wrong == {}
    assert len(translated) >= len(SEEDS) // 2

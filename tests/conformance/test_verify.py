"""The ladder end to end: with the real compilers, and without any."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Options
from ferrotile_runner.report import RungStatus
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import Toolchain, locate
from ferrotile_runner.verify import verify_kernel, verify_kernels
from msgspec.structs import replace

EXAMPLES = Path(__file__).parents[2] / "examples"
BARE = Toolchain(None, None, None, None, None, None, None, None, False)
ALL = ("type-checked", "assembled", "proved", "simulated", "matched")


def translated(name: str) -> tuple[Document, tuple[KernelTranslation, ...]]:
    document = Document((EXAMPLES / f"{name}.py").read_text())
    return document, translate_document(document, Options()).kernels


def test_without_tools_every_rung_says_what_it_lacks() -> None:
    document, (kernel,) = translated("vector_add")
    report = verify_kernel(document, kernel, ALL, BARE)
    assert report.rungs["translated"].status is RungStatus.PASSED
    for rung in ALL:
        assert report.rungs[rung].status is RungStatus.SKIPPED, rung
    assert "ferrotile setup" in report.rungs["assembled"].detail
    assert "pip install" in report.rungs["proved"].detail
    assert "rustup" in report.rungs["type-checked"].detail
    assert not report.failed and report.diagnostics == kernel.diagnostics


def test_a_refused_kernel_fails_its_first_rung_and_skips_the_others() -> None:
    document, (kernel,) = translated("vector_add")
    refused = replace(kernel, rust=None, entry=None)
    report = verify_kernel(document, refused, ALL, BARE)
    assert report.rungs["translated"].status is RungStatus.FAILED
    assert {report.rungs[r].status for r in ALL} == {RungStatus.SKIPPED}


def test_cancel_skips() -> None:
    document, (kernel,) = translated("vector_add")
    cancel = threading.Event()
    cancel.set()
    report = verify_kernel(document, kernel, ALL, locate(), lambda message: None, cancel)
    assert report.rungs["simulated"].detail == "cancelled"


@pytest.mark.compilers
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "name", ["vector_add", "softmax", "silu_mul", "layer_norm", "matmul", "batch_matmul", "adamw", "attention"]
)
def test_examples_climb_every_rung_without_a_gpu(session: Session, name: str) -> None:
    document, kernels = translated(name)
    for report in verify_kernels(
        document, kernels, ("assembled", "proved", "simulated"), session.toolchain, session=session
    ):
        for rung, result in report.rungs.items():
            assert result.status is RungStatus.PASSED, f"{name} {rung}: {result.detail}"
        assert report.rungs["simulated"].detail.startswith(("bit-equal", "for the instance"))


@pytest.mark.compilers
def test_a_wrong_translation_is_caught_at_its_kernel(session: Session) -> None:
    document, (kernel,) = translated("vector_add")
    assert kernel.rust is not None
    wrong = replace(kernel, rust=kernel.rust.replace(" + ", " - "))
    assert wrong.rust != kernel.rust
    report = verify_kernel(document, wrong, ("simulated",), session.toolchain, session=session)
    assert report.rungs["simulated"].status is RungStatus.FAILED
    found = report.diagnostics[-1]
    assert found.code == "FT505" and found.span == kernel.name_span
    assert "z[" in found.message


@pytest.mark.compilers
def test_a_compilers_refusal_comes_back_on_the_python_line(session: Session) -> None:
    document, (kernel,) = translated("vector_add")
    assert kernel.rust is not None
    broken = replace(kernel, rust=kernel.rust.replace(" + ", " + nonsense + "))
    report = verify_kernel(document, broken, ("assembled",), session.toolchain, session=session)
    assert report.rungs["assembled"].status is RungStatus.FAILED
    (found,) = [d for d in report.diagnostics if d.code == "FT502"]
    text = document.data[found.span.start : found.span.end].decode()
    assert "+" in text or text == kernel.name


@pytest.mark.compilers
@pytest.mark.timeout(900)
def test_many_kernels_are_type_checked_in_one_run(session: Session) -> None:
    document, (kernel,) = translated("vector_add")
    assert kernel.rust is not None
    broken = replace(kernel, rust=kernel.rust.replace(" + ", " + nonsense + "))
    good, bad = verify_kernels(document, (kernel, broken), ("type-checked",), session.toolchain, session=session)
    assert good.rungs["type-checked"].status is RungStatus.PASSED, good.rungs["type-checked"].detail
    assert bad.rungs["type-checked"].status is RungStatus.FAILED
    assert bad.diagnostics[-1].code == "FT501"


VARIANTS = """import cuda.tile as ct
import torch


@ct.kernel
def scaled(x, y, FACTOR: ct.Constant[float], TILE: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, (i,), (TILE,))
    if FACTOR != 1.0:
        t = t * FACTOR
    ct.store(y, (i,), t)


def copy(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(x.shape[0], 128),), scaled, (x, y, 1.0, 128))
    return y


def double(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(x.shape[0], 256),), scaled, (x, y, 2.0, 256))
    return y
"""


@pytest.mark.compilers
def test_every_variant_of_a_kernel_is_proved_for_its_own_constants(session: Session) -> None:
    """The launch sites give two structures: one without the multiplication. Each verdict says which it is of."""
    document = Document(VARIANTS)
    kernels = translate_document(document, Options()).kernels
    reports = verify_kernels(document, kernels, ("proved",), session.toolchain, session=session)
    details = [report.rungs["proved"].detail for report in reports]
    assert all(report.rungs["proved"].status is RungStatus.PASSED for report in reports), details
    for words in (("FACTOR=1.0", "TILE=128"), ("FACTOR=2.0", "TILE=256")):
        (one,) = [text for text in details if all(word in text for word in words)]
        assert "compiled for sm_90" in one and "extent" in one

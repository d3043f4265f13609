"""Wrong translations that the proof must refuse: one change in one place of the generated Rust."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Options
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate
from ferrotile_runner.verify import verify_kernels
from msgspec.structs import replace

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

pytestmark = pytest.mark.compilers

CHANGES = (
    (r"NearestEven", "Zero"),
    (r"reduce_max", "reduce_min"),
    (r"NegInf", "Zero"),
    (r"\bexp\(", "exp2("),
    (r"lt_tile", "le_tile"),
    (r"\+ ", "- "),
    (r" / ", " * "),
    (r"ftz::Disabled", "ftz::Enabled"),
    (r"constant\(1\.0", "constant(2.0"),
    (r"unsafe \{ z\.set_token\(done\) \};", ""),
    (r"\[i, k\]", "[k, i]"),
    (r"p\.store", "m.store"),
    (r"m\.store\(tm\)", "m.store(tv)"),
    (r"0\.\.4", "0..3"),
    (r"lr\.broadcast", "eps.broadcast"),
    (r"negf\(", "absf("),
    (r"1000", "1001"),
)


def mutants(kernel: KernelTranslation) -> Iterator[tuple[str, KernelTranslation]]:
    assert kernel.rust is not None
    for pattern, replacement in CHANGES:
        for match in re.finditer(pattern, kernel.rust):
            line = kernel.rust[kernel.rust.rfind("\n", 0, match.start()) + 1 : match.start()]
            if "//" in line:
                continue
            text = kernel.rust[: match.start()] + replacement + kernel.rust[match.end() :]
            yield f"{match.group(0)!r} -> {replacement!r}", replace(kernel, rust=text)


@pytest.mark.parametrize("name", ["vector_add", "softmax", "layer_norm", "adamw", "matmul"])
def test_the_translation_is_proved_and_no_mutant_is(name: str) -> None:
    toolchain = locate()
    if toolchain.host is None:
        pytest.skip("ferrotile-host is not built: run `ferrotile setup`")
    document = Document((EXAMPLES / f"{name}.py").read_text())
    (kernel,) = translate_document(document, Options()).kernels
    with Session(toolchain) as session:

        def proved(candidate: KernelTranslation) -> bool:
            (report,) = verify_kernels(document, (candidate,), ("proved",), toolchain, session=session)
            return report.rungs["proved"].status == "passed"

        assert proved(kernel)
        changed = list(mutants(kernel))
        assert changed, "the changes no longer fit the generated text"
        assert [what for what, candidate in changed if proved(candidate)] == []

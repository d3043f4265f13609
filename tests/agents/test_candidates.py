"""What `verify` makes of Rust that it cannot judge, or not under every signature."""

from __future__ import annotations

from pathlib import Path

import pytest
from ferrotile.translation import KernelTranslation
from ferrotile_runner.candidate_error import CandidateError
from ferrotile_server.application import Application, Candidate
from ferrotile_server.mcp.server import Handlers, Start, build
from mcp import Client
from msgspec.structs import replace

from .support import KERNEL, Verifier, call, run, words

pytestmark = pytest.mark.timeout(60)

TWICE = (
    KERNEL.split("# ferrotile")[0]
    + """@ct.kernel
def double(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), shape=(TILE,)) * 2.0)


def main(x, y):
    x, y = torch.zeros(1000, dtype=torch.float32), torch.zeros(1000, dtype=torch.float32)
    ct.launch(stream, (4,), double, (x, y, 256))
    a, b = torch.zeros(1000, dtype=torch.float16), torch.zeros(1000, dtype=torch.float16)
    ct.launch(stream, (4,), double, (a, b, 256))
"""
)


def judge(folder: Path, refuse: str, **arguments: object) -> tuple[bool, str, dict[str, object]]:
    """`verify` with Rust that cannot be judged under signatures whose first element type is `refuse`."""
    seen: list[Candidate] = []

    def candidates(kernel: KernelTranslation, candidate: Candidate) -> KernelTranslation:
        seen.append(candidate)
        assert kernel.signature is not None
        if refuse in str(kernel.signature.arguments[0]):
            raise CandidateError("`x` is an array of another type", 4)
        return replace(kernel, origin=candidate.origin)

    made: list[tuple[bool, str, dict[str, object]]] = []

    async def scenario() -> None:
        application = Application(verifier=Verifier(), candidates=candidates)
        async with Client(build(Handlers(Start((folder,), (folder,)), application)), mode="auto") as client:
            result = await call(client, "verify", path="k.py", kernel="double", **arguments)
            made.append((bool(result.is_error), words(result), result.structured_content or {}))

    run(scenario)
    assert all(candidate.rust == "mod a {}" for candidate in seen) and seen
    return made[0]


def test_rust_that_cannot_be_judged_at_all_is_an_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(KERNEL)
    failed, said, _ = judge(tmp_path, "f32", rust="mod a {}")
    assert failed and "line 4: `x` is an array of another type" in said


def test_what_is_not_judged_under_a_signature_does_not_pass(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("import torch\n" + TWICE)
    failed, said, data = judge(tmp_path, "f16", rust="mod a {}")
    assert not failed and said.startswith("This Rust does not pass")
    kernels, beside = data["kernels"], data["diagnostics"]
    assert isinstance(kernels, list) and isinstance(beside, list)
    assert [kernel["origin"] for kernel in kernels] == ["ai"]
    assert [(d["file"], d["code"], d["line"]) for d in beside] == [("rust", "FT508", 4)]


def test_a_file_counts_as_a_person_s(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(KERNEL)
    (tmp_path / "k.rs").write_text("mod a {}")
    failed, said, data = judge(tmp_path, "nothing", rust_file="k.rs")
    assert not failed and said.startswith("This Rust passes")
    kernels = data["kernels"]
    assert isinstance(kernels, list) and kernels[0]["origin"] == "hand"

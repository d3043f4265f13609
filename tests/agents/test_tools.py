"""What each static tool says, under both eras of the protocol."""

from __future__ import annotations

from pathlib import Path

import pytest
from ferrotile.diagnostics.catalogue import CATALOGUE

from .support import ERAS, KERNEL, REFUSED, Verifier, call, run, session, words

pytestmark = [pytest.mark.timeout(60), pytest.mark.parametrize("era", ERAS)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.py").write_text(KERNEL)
    (tmp_path / "bad.py").write_text(REFUSED)
    (tmp_path / "other.py").write_text("print('no kernel')\n")
    return tmp_path


def test_check_of_a_file_names_code_and_line(folder: Path, era: str) -> None:
    async def scenario() -> None:
        async with session(folder, era=era) as client:
            result = await call(client, "check", path="bad.py")
            assert not result.is_error
            (kernel,) = result.structured_content["kernels"]
            (found,) = [d for d in kernel["diagnostics"] if d["severity"] == "error"]
            # Line 8 of the text holds `... + ...`; int32 and uint32 have no common type.
            assert (kernel["name"], found["code"], found["line"]) == ("mixed", "FT203", 8)
            assert kernel["rungs"]["translated"]["status"] == "failed" and kernel["entry"] is None
            assert "bad.py:8:" in words(result) and "FT203 error" in words(result)

    run(scenario)


def test_check_of_a_folder_counts_files_with_kernels(folder: Path, era: str) -> None:
    async def scenario() -> None:
        async with session(folder, era=era) as client:
            said: list[float] = []

            async def progress(done: float, total: float | None, message: str | None) -> None:
                said.append(done)

            result = await client.call_tool("check", {"path": "."}, progress_callback=progress)
            assert {k["name"] for k in result.structured_content["kernels"]} == {"double", "mixed"}
            summary = "Kernels: 2, in files: 2; of 2 signatures 1 translate."
            assert words(result).startswith(summary) and result.structured_content["summary"] == summary
            assert said == sorted(set(said)) and len(said) == 2

    run(scenario)


def test_signature_says_where_each_part_is_known_from(folder: Path, era: str) -> None:
    async def scenario() -> None:
        async with session(folder, era=era) as client:
            result = await call(client, "signature", path="good.py", kernel="double")
            (kernel,) = result.structured_content["kernels"]
            parts = {p["part"]: (p["what"], p["known_from"]) for p in kernel["parts"]}
            assert parts["x"] == ("f32[N]", "directive") and parts["TILE"] == ("256", "directive")
            assert kernel["line"] == 6
            assert kernel["directive"] == "# ferrotile: x: f32[N], y: f32[N], TILE=256, grid=(N/256,)"

    run(scenario)


def test_translate_gives_rust_or_the_reason(folder: Path, era: str) -> None:
    async def scenario() -> None:
        async with session(folder, era=era) as client:
            good = await call(client, "translate", path="good.py")
            assert "fn double<const TILE: i32>" in good.structured_content["rust"]
            assert "fn double<const TILE: i32>" in words(good)
            bad = await call(client, "translate", path="bad.py")
            assert bad.structured_content["rust"] is None and not bad.is_error
            assert "FT203" in words(bad)
            none = await call(client, "translate", path="other.py")
            assert none.structured_content == {"file": "other.py", "rust": None, "kernels": []}

    run(scenario)


def test_explain_has_every_page(folder: Path, era: str) -> None:
    async def scenario() -> None:
        async with session(folder, era=era) as client:
            page = await call(client, "explain", code="ft203")
            assert page.structured_content["diagnostics"][0]["page"].startswith("# FT203")
            every = await call(client, "explain")
            assert [d["code"] for d in every.structured_content["diagnostics"]] == sorted(CATALOGUE)
            unknown = await call(client, "explain", code="FT998")
            assert unknown.is_error and "FT998" in words(unknown)

    run(scenario)


def test_static_tools_run_nothing_and_write_nothing(folder: Path, era: str) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*")}
    verifier = Verifier()

    async def scenario() -> None:
        async with session(folder, era=era, verifier=verifier) as client:
            for tool in ("check", "signature", "translate"):
                await call(client, tool, path="good.py")

    run(scenario)
    assert verifier.calls == []
    assert {path: path.read_bytes() for path in folder.rglob("*")} == before


def test_definitions_say_what_executes(folder: Path, era: str) -> None:
    async def scenario() -> None:
        async with session(folder, era=era) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == ["check", "signature", "translate", "verify", "run", "explain"]
            for tool in tools.values():
                assert tool.annotations is not None and tool.output_schema is not None
                assert tool.annotations.read_only_hint is (tool.name not in ("verify", "run"))
                assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
                assert tool.input_schema["additionalProperties"] is False

    run(scenario)

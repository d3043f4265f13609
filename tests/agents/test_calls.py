"""Malformed calls, progress, cancellation, resources and prompts."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from ferrotile.diagnostics.catalogue import CATALOGUE
from ferrotile_server.guide import target_guide
from mcp import MCPError, types

from .support import ERAS, KERNEL, Verifier, call, run, session, words

pytestmark = [pytest.mark.timeout(60), pytest.mark.parametrize("era", ERAS)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.py").write_text(KERNEL)
    return tmp_path


MALFORMED: tuple[tuple[str, dict[str, object], str], ...] = (
    ("check", {}, "missing required field `path`"),
    ("check", {"path": 3}, "Expected `str`"),
    ("check", {"path": "good.py", "run": True}, "unknown field `run`"),
    ("check", {"path": "x" * 5000}, "length"),
    ("check", {"path": "good.py", "kernel": "nobody"}, "it has double"),
    ("translate", {"path": "good.py", "unsafe": "always"}, "Invalid enum value"),
    ("verify", {"path": "good.py", "rungs": ["heaven"]}, "Invalid enum value"),
    ("verify", {"path": "good.py", "rust": "x" * 200_001}, "length"),
    ("verify", {"path": "good.py", "rust": "a", "rust_file": "b"}, "not both"),
    ("verify", {"path": "good.py", "entry": "a"}, "there is neither"),
    ("run", {"path": "good.py", "backend": "cloud"}, "Invalid enum value"),
)


def test_malformed_calls_say_what_is_wrong(folder: Path, era: str) -> None:
    async def scenario() -> None:
        async with session(folder, era=era, trusted=(folder,)) as client:
            for tool, arguments, reason in MALFORMED:
                result = await client.call_tool(tool, arguments)
                assert result.is_error and reason in words(result), (tool, arguments, words(result))
            with pytest.raises(MCPError, match="No tool is called 'shell'"):
                await client.call_tool("shell", {})
            assert not (await call(client, "check", path="good.py")).is_error  # the server goes on

    run(scenario)


def test_progress_grows_with_the_rungs(folder: Path, era: str) -> None:
    async def scenario() -> None:
        said: list[tuple[float, float | None, str | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            said.append((done, total, message))

        async with session(folder, era=era, trusted=(folder,)) as client:
            await client.call_tool(
                "verify", {"path": "good.py", "rungs": ["assembled", "proved"]}, progress_callback=progress
            )
        assert [m for _, _, m in said] == ["double: translated", "double: assembled", "double: proved"]
        assert [d for d, _, _ in said] == sorted({d for d, _, _ in said})
        assert all(total is not None and done <= total for done, total, _ in said)

    run(scenario)


def test_cancelling_stops_the_work_and_the_next_call_is_served(folder: Path, era: str) -> None:
    verifier = Verifier(blocks=True)

    async def scenario() -> None:
        async with session(folder, era=era, verifier=verifier, trusted=(folder,)) as client:
            with anyio.move_on_after(30) as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(call, client, "verify")  # malformed, and answered beside the other
                    tasks.start_soon(lambda: call(client, "verify", path="good.py"))
                    await anyio.to_thread.run_sync(verifier.started.wait, 20)
                    # A long verification does not keep static calls waiting.
                    assert not (await call(client, "check", path="good.py")).is_error
                    tasks.cancel_scope.cancel()
            assert not scope.cancelled_caught
            assert await anyio.to_thread.run_sync(verifier.stopped.wait, 20)
            assert not (await call(client, "translate", path="good.py")).is_error

    run(scenario)


def test_a_client_that_leaves_stops_the_work(folder: Path, era: str) -> None:
    verifier = Verifier(blocks=True)

    async def scenario() -> None:
        opened = session(folder, era=era, verifier=verifier, trusted=(folder,))
        async with anyio.create_task_group() as tasks, opened as client:
            tasks.start_soon(lambda: call(client, "verify", path="good.py"))
            await anyio.to_thread.run_sync(verifier.started.wait, 20)
            tasks.cancel_scope.cancel()

    run(scenario)
    assert verifier.stopped.wait(20)


def test_every_diagnostic_and_the_guide_can_be_read(folder: Path, era: str) -> None:
    async def scenario() -> None:
        async with session(folder, era=era) as client:
            listed = (await client.list_resources()).resources
            assert {r.uri for r in listed} == {
                "ferrotile://guide/cutile-0.5",
                *(f"ferrotile://diagnostics/{code}" for code in CATALOGUE),
            }
            for resource in listed:
                (content,) = (await client.read_resource(resource.uri)).contents
                assert isinstance(content, types.TextResourceContents) and content.mime_type == "text/markdown"
                assert content.text.startswith("# ")
            for uri in ("ferrotile://diagnostics/FT998", "file:///etc/passwd", "ferrotile://diagnostics/../../x"):
                with pytest.raises(MCPError, match="There is no resource"):
                    await client.read_resource(uri)

    run(scenario)


def test_the_prompt_brings_the_guide(folder: Path, era: str) -> None:
    async def scenario() -> None:
        async with session(folder, era=era) as client:
            (prompt,) = (await client.list_prompts()).prompts
            made = await client.get_prompt(prompt.name, {"path": "a\nb.py", "kernel": "k"})
            steps, guide = (message.content for message in made.messages)
            assert isinstance(steps, types.TextContent) and "a\N{REPLACEMENT CHARACTER}b.py" in steps.text
            assert isinstance(guide, types.EmbeddedResource)
            assert isinstance(guide.resource, types.TextResourceContents) and guide.resource.text == target_guide()
            with pytest.raises(MCPError, match="takes `path` and `kernel`"):
                await client.get_prompt("port", {"path": "a"})
            with pytest.raises(MCPError, match="No prompt"):
                await client.get_prompt("other", {})

    run(scenario)

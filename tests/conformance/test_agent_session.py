"""A whole session of an agent: the SDK's own client over stdio, with the real compilers."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import anyio
import pytest
from ferrotile_runner.toolchain import locate
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client

pytestmark = [pytest.mark.compilers, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
TICK = os.sysconf("SC_CLK_TCK")

PYTHON = """import cuda.tile as ct


# ferrotile: x: f32[N], y: f32[N], s: f32, TILE=256, grid=(N/TILE,)
@ct.kernel
def scaled(x, y, s, TILE: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, (i,), shape=(TILE,))
    ct.store(y, (i,), ct.exp(t) * s)


def forever():
    while True:
        pass


# ferrotile: x: f32[N], y: f32[N], TILE=256, grid=(N/TILE,), inputs=forever
@ct.kernel
def slow(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), shape=(TILE,)))
"""

WRONG = """#[cutile::module]
mod port {
    use cutile::core::*;

    #[cutile::entry()]
    fn scaled<const TILE: i32>(x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [TILE] }>, s: f32) {
        let t = x.load_like(y);
        let factor = s.broadcast(shape![TILE]);
        y.store(exp(t * factor));
    }
}
"""
WRONG_LINE = 9
RIGHT = WRONG.replace("exp(t * factor)", "exp(t) * factor")
BROKEN = WRONG.replace("exp(t * factor)", "t + s")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    missing = locate().missing
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: run `ferrotile setup`")
    (tmp_path / "kernels.py").write_text(PYTHON)
    return tmp_path


def server(folder: Path) -> StdioServerParameters:
    path = os.pathsep.join(str(ROOT / part) for part in ("translation", "gpu_runner", "server"))
    kept = {name: os.environ[name] for name in ("XDG_CACHE_HOME", "CARGO_HOME", "RUSTUP_HOME") if name in os.environ}
    arguments = ["-m", "ferrotile_server.cli.main", "mcp", "--trust", str(folder)]
    return StdioServerParameters(command=sys.executable, args=arguments, cwd=folder, env={"PYTHONPATH": path, **kept})


def kernel_of(result: types.CallToolResult) -> dict[str, object]:
    assert not result.is_error, result.content
    (kernel,) = result.structured_content["kernels"]
    return dict(kernel)


def words(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def test_a_session_from_the_check_to_the_proof(folder: Path) -> None:
    async def scenario() -> None:
        async with Client(stdio_client(server(folder)), mode="auto") as client:
            checked = await client.call_tool("check", {"path": "kernels.py", "kernel": "scaled"})
            assert kernel_of(checked)["rungs"]["translated"]["status"] == "passed"  # type: ignore[index]
            translated = await client.call_tool("translate", {"path": "kernels.py", "kernel": "scaled"})
            assert "fn scaled" in translated.structured_content["rust"]

            call = {"path": "kernels.py", "kernel": "scaled", "rungs": ["type-checked", "assembled", "proved"]}
            broken = await client.call_tool("verify", {**call, "rust": BROKEN})
            rungs = kernel_of(broken)["rungs"]
            assert rungs["type-checked"]["status"] == "failed"  # type: ignore[index]
            assert words(broken).startswith("This Rust does not pass")

            wrong = kernel_of(await client.call_tool("verify", {**call, "rust": WRONG}))
            proof = wrong["rungs"]["proved"]  # type: ignore[index]
            assert (wrong["origin"], proof["status"]) == ("ai", "failed")
            assert proof["difference"]["rust"]["line"] == WRONG_LINE, proof
            assert proof["difference"]["python"]["line"] == 9, proof

            right = await client.call_tool("verify", {**call, "rust": RIGHT})
            rungs = kernel_of(right)["rungs"]
            assert {rung: rungs[rung]["status"] for rung in call["rungs"]} == dict.fromkeys(call["rungs"], "passed")  # type: ignore[index]
            assert words(right).startswith("This Rust passes")

            (folder / "port.rs").write_text(RIGHT)
            by_file = {"path": "kernels.py", "kernel": "scaled", "rust_file": "port.rs", "rungs": ["proved"]}
            assert kernel_of(await client.call_tool("verify", by_file))["origin"] == "hand"

            simulate = {"path": "kernels.py", "kernel": "scaled", "backend": "simulate"}
            ran = kernel_of(await client.call_tool("run", simulate))
            assert ran["rungs"]["simulated"]["status"] == "passed"  # type: ignore[index]

    anyio.run(scenario)


def below(pid: int) -> set[int]:
    """The processes that a process started, and theirs."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def busy(pid: int) -> set[int]:
    """Those of them that use a processor, now and half a second later."""

    def ticks() -> dict[int, int]:
        used = {}
        for child in below(pid):
            try:
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            used[child] = int(fields[11]) + int(fields[12])
        return used

    first = ticks()
    time.sleep(0.5)
    return {child for child, used in ticks().items() if used - first.get(child, used) > TICK // 20}


def server_below() -> int:
    """The server that this process started last."""
    found = [p for p in below(os.getpid()) if b"\0mcp\0" in Path(f"/proc/{p}/cmdline").read_bytes()]
    return max(found)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
def test_cancelling_a_long_verification_kills_its_processes(folder: Path) -> None:
    async def scenario() -> None:
        async with Client(stdio_client(server(folder)), mode="legacy") as client:
            at_work = anyio.Event()

            async def progress(done: float, total: float | None, message: str | None) -> None:
                if message == "slow: simulated":
                    at_work.set()

            async def verify() -> None:
                call = {"path": "kernels.py", "kernel": "slow", "rungs": ["simulated"]}
                await client.call_tool("verify", call, progress_callback=progress)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(verify)
                with anyio.fail_after(300):
                    await at_work.wait()
                    pid = server_below()
                    while not await anyio.to_thread.run_sync(busy, pid):  # `forever` is running
                        await anyio.sleep(0.1)
                tasks.cancel_scope.cancel()
            with anyio.fail_after(10):
                while await anyio.to_thread.run_sync(busy, pid):
                    await anyio.sleep(0.1)
            assert not (await client.call_tool("check", {"path": "kernels.py"})).is_error

    anyio.run(scenario)

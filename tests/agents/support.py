"""A session of a real MCP client with the server: in this process, or over stdio as an agent has it."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from threading import Event

import anyio
from ferrotile.translation import KernelTranslation
from ferrotile_runner.report import KernelReport, Rung, RungResult, RungStatus, kernel_report
from ferrotile_server.application import Analysis, Application, Progress
from ferrotile_server.mcp.server import Handlers, Start, build
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client

ERAS = ("legacy", "auto")
"""With the handshake of protocols up to 2025-11-25, and without, as from 2026-07-28 on."""

ROOT = Path(__file__).resolve().parents[2]

KERNEL = """import cuda.tile as ct


# ferrotile: x: f32[N], y: f32[N], TILE=256, grid=(N/TILE,)
@ct.kernel
def double(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), shape=(TILE,)) * 2.0)
"""
REFUSED = """import cuda.tile as ct


# ferrotile: x: i32[N], y: u32[N], TILE=256, grid=(N/TILE,)
@ct.kernel
def mixed(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), shape=(TILE,)) + ct.load(y, (i,), shape=(TILE,)))
"""


class Verifier:
    """In place of compilers: says that every rung passed, once `gate` is open."""

    def __init__(self, *, blocks: bool = False) -> None:
        self.calls: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        self.started, self.stopped = Event(), Event()
        self._blocks = blocks

    def __call__(
        self,
        analysis: Analysis,
        kernels: Sequence[KernelTranslation],
        rungs: Sequence[str],
        progress: Progress,
        cancel: Event,
    ) -> Iterator[KernelReport]:
        self.calls.append((tuple(kernel.name for kernel in kernels), tuple(rungs)))
        self.started.set()
        if self._blocks:
            cancel.wait(30)
            self.stopped.set()
            return
        for kernel in kernels:
            results = {}
            for rung in Rung:
                if rung.value in rungs:
                    progress(f"{kernel.name}: {rung.value}")
                    results[rung] = RungResult(RungStatus.PASSED, "as told")
            yield kernel_report(analysis.document, kernel, results)


class User:
    """The person behind the client, who answers what the server asks."""

    def __init__(self, action: str = "accept", allow: str = "once") -> None:
        self.questions: list[str] = []
        self._result = types.ElicitResult(
            action=action,  # type: ignore[arg-type]
            content={"allow": allow} if action == "accept" else None,
        )

    async def __call__(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.questions.append(params.message)
        return self._result


def roots_of(*folders: Path) -> Callable[[object], Awaitable[types.ListRootsResult]]:
    async def answer(context: object) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=folder.as_uri()) for folder in folders])

    return answer


@asynccontextmanager
async def session(
    folder: Path,
    *,
    era: str = "legacy",
    verifier: Verifier | None = None,
    user: User | None = None,
    trusted: tuple[Path, ...] = (),
    roots: tuple[Path, ...] | None = None,
) -> AsyncIterator[Client]:
    """A client and a server in this process; the server may read `folder`, or the client's `roots` where it has any."""
    start = Start(() if roots is not None else (folder,), trusted)
    server = build(Handlers(start, Application(verifier=verifier or Verifier())))
    asked = roots_of(*roots) if roots is not None else None
    async with Client(server, mode=era, elicitation_callback=user, list_roots_callback=asked) as client:  # type: ignore[arg-type]
        yield client


def command(*arguments: str, folder: Path) -> StdioServerParameters:
    """`ferrotile mcp`, as a client starts it in `folder`."""
    path = os.pathsep.join(str(ROOT / part) for part in ("translation", "gpu_runner", "server"))
    env = {"PYTHONPATH": path, **{k: v for k, v in os.environ.items() if k in ("XDG_CACHE_HOME", "CARGO_HOME")}}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "ferrotile_server.cli.main", "mcp", *arguments], cwd=folder, env=env
    )


@asynccontextmanager
async def process(
    *arguments: str, folder: Path, era: str = "legacy", user: User | None = None
) -> AsyncIterator[Client]:
    """A client that started the server as a process and talks over its stdin and stdout."""
    transport = stdio_client(command(*arguments, folder=folder))
    async with Client(transport, mode=era, elicitation_callback=user) as client:  # type: ignore[arg-type]
        yield client


def run(scenario: Callable[..., Awaitable[None]], *arguments: object, **named: object) -> None:
    """Runs an asynchronous test to its end."""
    anyio.run(partial(scenario, *arguments, **named))


async def call(client: Client, tool: str, /, **arguments: object) -> types.CallToolResult:
    """A tool's result; the client checks structured results against the tool's output schema."""
    return await client.call_tool(tool, arguments)


def words(result: types.CallToolResult) -> str:
    """The result's text."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text

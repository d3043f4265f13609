"""`run`: a kernel and its translation on the same inputs. Runs the kernel's code, so it needs consent."""

from __future__ import annotations

from typing import Annotated, Literal

from ferrotile_runner.gpu.presence import usable_gpu
from msgspec import Meta, Struct

from ferrotile_server.mcp.answers import Answer
from ferrotile_server.mcp.call import Call
from ferrotile_server.mcp.climbing import answer, climb, translated
from ferrotile_server.mcp.consent import Consent
from ferrotile_server.mcp.reports import output_schema
from ferrotile_server.mcp.tool import KernelName, PathText, tool

Backend = Literal["auto", "simulate", "cuda"]


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to run, and where."""

    path: PathText
    kernel: KernelName | None = None
    backend: Annotated[
        Backend, Meta(description="`cuda`: this machine's GPU; `simulate`: the CPU; `auto`: the GPU if there is one.")
    ] = "auto"


def _rung(backend: Backend) -> str:
    match backend:
        case "simulate":
            return "simulated"
        case "cuda":
            return "matched"
        case "auto":
            return "simulated" if usable_gpu().name is None else "matched"


async def run(call: Call, consent: Consent, arguments: Arguments) -> Answer:
    """Raises `Problem` where the user does not consent."""
    found = await translated(call, consent, arguments.path, arguments.kernel, "Run the kernels of")
    return answer(found, await climb(call, found, ("translated", _rung(arguments.backend))))


TOOL = tool(
    "run",
    "Run a kernel and its translation",
    "Runs the Python kernel and its Rust on the same inputs and compares the arrays, bit for bit where nothing sums "
    "floats: on this machine's GPU, with both times, or in the CPU simulator. Runs the kernel's code: needs the user's "
    "consent.",
    Arguments,
    output_schema(),
    run,
    executes=True,
)

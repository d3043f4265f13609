"""`verify`: climbs the ladder, with ferrotile's Rust or with other. Runs the kernel's code, so it needs consent."""

from __future__ import annotations

from typing import Annotated, Literal

from ferrotile.translation import Origin
from ferrotile_runner.candidate_file import MOST_BYTES
from msgspec import Meta, Struct

from ferrotile_server.application import Candidate
from ferrotile_server.mcp.answers import Answer, Problem
from ferrotile_server.mcp.call import Call
from ferrotile_server.mcp.climbing import answer, climb, climb_with, judgement, translated
from ferrotile_server.mcp.consent import Consent
from ferrotile_server.mcp.folders import LONGEST_PATH
from ferrotile_server.mcp.reports import output_schema
from ferrotile_server.mcp.sources import read_text, shown_name
from ferrotile_server.mcp.tool import KernelName, PathText, tool
from ferrotile_server.verdicts import DEFAULT_RUNGS

Rung = Literal["type-checked", "assembled", "proved", "simulated", "matched"]
LARGEST_RUST = MOST_BYTES
Short = Annotated[str, Meta(max_length=200)]


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to verify, how far, and against which Rust."""

    path: PathText
    kernel: KernelName | None = None
    rust: Annotated[
        str,
        Meta(
            max_length=LARGEST_RUST,
            description="Rust to judge instead of ferrotile's own: one `#[cutile::module] mod .. { .. }`.",
        ),
    ] = ""
    rust_file: Annotated[
        str, Meta(max_length=LONGEST_PATH, description="The same, as the path of a file in the client's folders.")
    ] = ""
    entry: Annotated[
        str, Meta(max_length=200, description="Its entry, `name` or `module::name`, where there are several.")
    ] = ""
    mapping: Annotated[
        dict[Short, Short],
        Meta(
            max_length=100,
            description="What of the Python is what of the Rust, where names differ: a parameter, `x.shape[0]` or a "
            "number, to the Rust's name.",
        ),
    ] = {}
    assume: Annotated[
        tuple[Short, ...],
        Meta(max_length=20, description="Facts about every launch to which the claim is narrowed, such as `N = 1024`."),
    ] = ()
    grid: Annotated[
        str,
        Meta(
            max_length=200,
            description="The grid that it is launched on, where that is not the Python's: `M/64, N/64`.",
        ),
    ] = ""
    rungs: Annotated[
        tuple[Rung, ...],
        Meta(description="Only these. Without it: all that need no GPU, which is all but `matched`."),
    ] = ()


async def _candidate(call: Call, arguments: Arguments) -> Candidate | None:
    """The Rust of the call. Text in a call comes from a model, a file from a person, as far as anyone can tell."""
    if arguments.rust and arguments.rust_file:
        raise Problem("Give `rust` or `rust_file`, not both.")
    text, origin = arguments.rust, Origin.AI
    if arguments.rust_file:
        folders = await call.folders()
        path = folders.find(arguments.rust_file)
        text, origin = read_text(path, shown_name(path, folders), LARGEST_RUST), Origin.HAND
    if not text:
        if arguments.entry or arguments.mapping or arguments.assume or arguments.grid:
            raise Problem("`entry`, `mapping`, `assume` and `grid` speak of `rust` or `rust_file`: there is neither.")
        return None
    return Candidate(text, arguments.entry or None, arguments.mapping, origin, arguments.assume, arguments.grid)


async def run(call: Call, consent: Consent, arguments: Arguments) -> Answer:
    """Raises `Problem` where the user does not consent."""
    rungs = ("translated", *arguments.rungs) if arguments.rungs else DEFAULT_RUNGS
    candidate = await _candidate(call, arguments)
    if candidate is None:
        found = await translated(call, consent, arguments.path, arguments.kernel, "Verify the kernels of")
        return answer(found, await climb(call, found, rungs))
    what = "Compile Rust that was not written by ferrotile and compare it with the kernels of"
    found = await translated(call, consent, arguments.path, arguments.kernel, what, candidate.rust)
    names = dict.fromkeys(kernel.name for kernel in found.kernels)
    if len(names) > 1:
        raise Problem(f"`rust` is for one kernel: name it in `kernel` ({', '.join(names)}).")
    judged = await climb_with(call, found, candidate, rungs)
    return judgement(found, judged, arguments.rust_file or "rust")


TOOL = tool(
    "verify",
    "Verify Rust against the Python",
    "Climbs the ladder for a kernel, with ferrotile's own Rust or with other (`rust`): type-checked (rustc), assembled "
    "(the real compilers), proved (both sides' Tile IR is the same program), simulated (same arrays in a CPU "
    "interpreter). A failure names the line that is to blame. Compiles and runs the kernel's code: needs the user's "
    "consent. Takes seconds to minutes.",
    Arguments,
    output_schema(),
    run,
    executes=True,
)

"""`ferrotile/run`: a kernel and its translation on the same inputs, as `ferrotile run` has them: on the GPU where there
is a usable one, else in the simulator on the CPU.

Parameters as of `ferrotile/verify`, without `rungs`. Result `{"backend", "where", "kernels"}`: `cuda` or `simulate`;
the GPU's name, or why there is none; kernels as in verify_result.py. Refused where the workspace is not trusted."""

from __future__ import annotations

import asyncio

from ferrotile_runner.gpu.presence import Presence, usable_gpu
from msgspec.structs import replace

from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.features.verify import Verification, VerifyParams, parse
from ferrotile_server.lsp.protocol import InvalidParams, Json

METHOD = "ferrotile/run"


def register(context: Context, verification: Verification) -> None:
    """Offer the request."""

    async def request(params: Json) -> dict[str, object]:
        if isinstance(params, dict) and "rungs" in params:
            raise InvalidParams("ferrotile/run takes no `rungs`.")
        return await run(verification, parse(params))

    context.server.feature(METHOD)(request)


async def run(verification: Verification, wanted: VerifyParams) -> dict[str, object]:
    """Run kernels and show what came of it. Raises as `Verification.run` does."""
    verification.require_trust()
    found = await asyncio.to_thread(usable_gpu)
    rung = "simulated" if found.name is None else "matched"
    kernels = await verification.run(replace(wanted, rungs=("translated", rung), verb="Run"))
    return {"backend": "simulate" if found.name is None else "cuda", "where": _where(found), "kernels": kernels}


def _where(found: Presence) -> str:
    return found.why if found.name is None else found.name

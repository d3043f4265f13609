"""`ferrotile/draft`: a model proposes Rust for a refused kernel, the ladder decides.

Parameters `{"uri", "kernel", "model"?, "tries"?, "seconds"?, "tokens"?, "show"?, "log"?, "workDoneToken"?}`; `model`
is the name of the editor's model, `log` the path of a new file. Result `{"verified", "rung", "summary", "failure",
"uri"}`: `uri` is the written file of a verified draft, the preview of one that is not, else null. An unverified draft
is written only where the user says so in a message. Refused with -32803 where the workspace is not trusted, and where
no draft can be made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from ferrotile_server.drafting.budget import Budget
from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.features.content import Previews
from ferrotile_server.lsp.features.verify import Verification
from ferrotile_server.lsp.protocol import InvalidParams, Json

if TYPE_CHECKING:
    from ferrotile_server.lsp.features.draft_session import Drafts

METHOD = "ferrotile/draft"


class DraftParams(Struct, frozen=True):
    """What to draft, by which model of the editor, and what that may cost."""

    uri: str
    kernel: str
    model: str = ""
    budget: Budget = Budget()
    work_done: str | int | None = None
    log: str | None = None
    """A new file on this machine for the log of the draft."""
    shows: bool = True
    """Whether the server has the editor open the draft; a client of ours does so itself, beside the Python."""


def parse(params: object) -> DraftParams:
    """Check the parameters. Raises `InvalidParams`."""
    if not isinstance(params, dict):
        raise InvalidParams("ferrotile/draft takes an object.")
    uri, kernel, model = params.get("uri"), params.get("kernel"), params.get("model", "")
    if not isinstance(uri, str) or not isinstance(kernel, str) or not isinstance(model, str):
        raise InvalidParams("`uri`, `kernel` and `model` must be text.")
    token = params.get("workDoneToken")
    if token is not None and (not isinstance(token, str | int) or isinstance(token, bool)):
        raise InvalidParams("`workDoneToken` must be text or a whole number.")
    least = Budget()
    budget = Budget(
        int(_above_0(params, "tries", least.tries)),
        _above_0(params, "seconds", least.seconds),
        int(_above_0(params, "tokens", least.tokens)),
    )
    log = params.get("log")
    if log is not None and (not isinstance(log, str) or "\0" in log):
        raise InvalidParams("`log` must be a path.")
    return DraftParams(uri, kernel, model, budget, token, log, params.get("show") is not False)


def _above_0(params: dict[str, object], key: str, default: float) -> float:
    value = params.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 1e9:
        raise InvalidParams(f"`{key}` must be a number, at least 1.")
    return value


Run = Callable[[DraftParams], Awaitable[dict[str, object]]]


def register(context: Context, previews: Previews, verification: Verification) -> Run:
    """Offer `ferrotile/draft`; gives what runs one."""
    made: Drafts | None = None

    async def run(wanted: DraftParams) -> dict[str, object]:
        nonlocal made
        if made is None:
            from ferrotile_server.lsp.features.draft_session import Drafts  # most sessions make none

            made = Drafts(context, previews, verification)
        return await made.run(wanted)

    async def request(params: Json) -> dict[str, object]:
        return await run(parse(params))

    context.server.feature(METHOD)(request)
    return run

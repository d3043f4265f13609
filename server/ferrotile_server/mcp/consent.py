"""Whose code may run. The user says so when the server starts (`--trust FOLDER`), or when the client asks them; nothing
else is consent, and least of all what a kernel, a comment or a model says."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import mcp_types as types

from ferrotile_server.mcp.answers import Problem
from ferrotile_server.mcp.call import Call
from ferrotile_server.mcp.folders import Folders, one_line
from ferrotile_server.mcp.sources import Source

ONCE, SESSION = "once", "session"

NO_WAY_TO_ASK = (
    "Not run: this compiles and runs the kernel's code, which needs the user's consent, and this client cannot ask for "
    "it. The user can start the server as `ferrotile mcp --trust FOLDER`, with the folder whose code may run. "
    "`check`, `signature`, `translate` and `explain` run nothing and work without."
)
DECLINED = (
    "Not run: the user did not allow it. Do not ask again unless they say so. `check`, `signature`, `translate` and "
    "`explain` run nothing and work without."
)


def _question(what: str, source: Source, folder: Path | None) -> types.ElicitRequest:
    shown = one_line(str(source.path))
    whole = one_line(str(folder or source.path.parent))
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(
            message=(
                f"ferrotile: {what} {shown}? The kernel, the helpers and constants that it names are compiled and "
                "run in a worker process on this machine."
            ),
            requested_schema={
                "type": "object",
                "properties": {
                    "allow": {
                        "type": "string",
                        "title": "Allow",
                        "description": f"once, or for all kernels in {whole} until the server stops",
                        "enum": [ONCE, SESSION],
                        "default": ONCE,
                    }
                },
                "required": ["allow"],
            },
        )
    )


class Consent:
    """What the user has allowed: folders from the start, and those that they allowed since."""

    def __init__(self, trusted: Sequence[Path]) -> None:
        self._trusted = Folders.of(trusted)

    @property
    def folders(self) -> Folders:
        """The folders whose code may run."""
        return self._trusted

    async def require(self, call: Call, source: Source, what: str, material: str = "") -> Folders:
        """The folders from which code may run in this call, once the user has agreed to run `source`'s. `what`: what
        would be done, as in "Verify the kernels of"; `material`: what else would be compiled. Raises `Problem`
        where they did not, or cannot be asked."""
        if self._trusted.root_of(source.path) is not None:
            return self._trusted
        if not call.can_elicit:
            raise Problem(NO_WAY_TO_ASK)
        allowed = await call.folders()
        folder = allowed.root_of(source.path)
        # An answer counts for the very texts that the question was about.
        asked = blake2b("\0".join((what, str(source.path), source.text, material)).encode("utf-8", "replace"))
        answer = await call.ask(f"consent-{asked.hexdigest()[:24]}", _question(what, source, folder))
        if not isinstance(answer, types.ElicitResult) or answer.action != "accept":
            raise Problem(DECLINED)
        chosen = (answer.content or {}).get("allow", ONCE)
        if chosen not in (ONCE, SESSION):
            raise Problem(DECLINED)
        if chosen == SESSION:
            self._trusted = Folders.of((*self._trusted.roots, folder or source.path.parent))
        return allowed

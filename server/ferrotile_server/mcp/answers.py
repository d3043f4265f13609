"""What a tool gives back, and how it says that it cannot."""

from __future__ import annotations

from collections.abc import Mapping

import mcp_types as types
from ferrotile_runner.report import Json
from msgspec import Struct


class Problem(Exception):
    """The call cannot be done; the message says why and what to do, for a person and for a model."""


class InputNeeded(Exception):
    """The client has to answer these first, and to call again (protocols from 2026-07-28 on)."""

    def __init__(self, requests: Mapping[str, types.InputRequest]) -> None:
        super().__init__(", ".join(requests))
        self.requests = dict(requests)


class Answer(Struct, frozen=True):
    """A result in words, and the same as data in the form of the tool's output schema."""

    text: str
    data: Mapping[str, Json]


def succeeded(answer: Answer) -> types.CallToolResult:
    """The result of a call that was done, whatever it found."""
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)], structured_content=dict(answer.data)
    )


def failed(problem: Problem) -> types.CallToolResult:
    """The result of a call that could not be done."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=str(problem))], is_error=True)

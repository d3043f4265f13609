"""What a tool is: its description for the client, and the function that a call of it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, TypeVar

import mcp_types as types
import msgspec
from ferrotile_runner.report import Json
from msgspec import Meta, Struct

from ferrotile_server.mcp.answers import Answer, Problem
from ferrotile_server.mcp.call import Call
from ferrotile_server.mcp.consent import Consent
from ferrotile_server.mcp.folders import LONGEST_PATH

A = TypeVar("A", bound=Struct)

PathText = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=LONGEST_PATH,
        description="A Python file, absolute or relative to a folder that the client works in.",
    ),
]
KernelName = Annotated[
    str, Meta(min_length=1, max_length=200, description="The name of one kernel of the file. Without it: all of them.")
]


class Tool(Struct, frozen=True):
    """`start` runs a call with the arguments that the client sent. It raises `Problem`, and `InputNeeded` where the
    client has to answer first."""

    definition: types.Tool
    start: Callable[[Call, Consent, Mapping[str, object]], Awaitable[Answer]]


def tool(
    name: str,
    title: str,
    description: str,
    arguments: type[A],
    output: Mapping[str, Json],
    run: Callable[[Call, Consent, A], Awaitable[Answer]],
    *,
    executes: bool = False,
) -> Tool:
    """A tool whose arguments are the fields of a struct. `executes`: it runs the user's code."""

    async def start(call: Call, consent: Consent, given: Mapping[str, object]) -> Answer:
        return await run(call, consent, parse(arguments, given))

    definition = types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema=input_schema(arguments),
        output_schema=dict(output),
        annotations=types.ToolAnnotations(
            title=title,
            read_only_hint=not executes,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )
    return Tool(definition, start)


def input_schema(arguments: type[Struct]) -> dict[str, object]:
    """The JSON Schema of a struct's fields."""
    _, components = msgspec.json.schema_components((arguments,))
    schema = dict(components[arguments.__name__])
    schema.pop("title", None)
    schema.pop("description", None)
    return schema


def parse(arguments: type[A], given: Mapping[str, object]) -> A:
    """The arguments as a struct. Raises `Problem`."""
    try:
        return msgspec.convert(given, arguments)
    except msgspec.ValidationError as error:
        takes = ", ".join(arguments.__struct_fields__) or "no arguments"
        raise Problem(f"The arguments do not fit: {error}. The tool takes: {takes}.") from None

"""The tools, one file each, in the order in which they are listed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ferrotile_server.mcp.tool import Tool
from ferrotile_server.mcp.tools.check import TOOL as CHECK
from ferrotile_server.mcp.tools.explain import TOOL as EXPLAIN
from ferrotile_server.mcp.tools.run import TOOL as RUN
from ferrotile_server.mcp.tools.signature import TOOL as SIGNATURE
from ferrotile_server.mcp.tools.translate import TOOL as TRANSLATE
from ferrotile_server.mcp.tools.verify import TOOL as VERIFY

TOOLS: Mapping[str, Tool] = MappingProxyType(
    {tool.definition.name: tool for tool in (CHECK, SIGNATURE, TRANSLATE, VERIFY, RUN, EXPLAIN)}
)

"""docs/agents.md says what is so."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from ferrotile_server.cli.arguments import parse
from ferrotile_server.mcp import prompts, resources
from ferrotile_server.mcp.tools import TOOLS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def entries() -> list[dict[str, object]]:
    """The server as each client's configuration names it."""
    found = []
    for made in (*map(json.loads, blocks("json")), *map(tomllib.loads, blocks("toml"))):
        (servers,) = made.values()
        found.append(servers["ferrotile"])
    return found


def test_every_configuration_starts_the_server() -> None:
    assert len(entries()) == 3
    for entry in entries():
        assert entry["command"] == "ferrotile"
        arguments = entry["args"]
        assert isinstance(arguments, list) and parse(arguments).command == "mcp"
    for line in re.findall(r"-- ferrotile (.*)", TEXT):
        assert parse(line.split()).command == "mcp"


def test_every_tool_is_in_the_table_with_what_it_runs() -> None:
    table = dict(re.findall(r"^\| `(\w+)` \|.*\| (yes|no) \|$", TEXT, re.MULTILINE))
    hints = {name: tool.definition.annotations for name, tool in TOOLS.items()}
    assert table == {n: "no" if h is not None and h.read_only_hint else "yes" for n, h in hints.items()}


def test_resources_and_prompts_are_there() -> None:
    for uri in re.findall(r"ferrotile://[\w./-]+\w", TEXT):
        assert resources.text_of(uri) is not None, uri
    assert f"`{prompts.PORT.name}`" in TEXT


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)h][^)]*)\)", TEXT))
def test_links_lead_somewhere(target: str) -> None:
    path, _, anchor = target.partition("#")
    page = (ROOT / "docs" / path).read_text(encoding="utf-8") if path.endswith(".md") else ""
    assert (ROOT / "docs" / path).exists()
    if anchor:
        heads = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}

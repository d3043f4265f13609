"""The workflow and the hooks that projects copy use commands and options that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from ferrotile_server.cli.arguments import VERSION, parse

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = (ROOT / "docs/ci/ferrotile.yml").read_text(encoding="utf-8")
HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"run: (ferrotile [^>|\n]*)", WORKFLOW)


def test_the_workflow_has_all_three_steps() -> None:
    assert [command.split()[1] for command in COMMANDS] == ["check", "check", "export"]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_workflow(command: str) -> None:
    words = shlex.split(command.replace("$KERNELS", "kernels").replace("$CRATE", "crate"))
    assert parse(words[1:]).command == words[1]


def test_the_workflow_installs_this_version() -> None:
    assert f"pip install ferrotile=={VERSION}" in WORKFLOW and f"rev: v{VERSION}" in PAGE


def test_hooks() -> None:
    entries = dict(zip(re.findall(r"- id: (\S+)", HOOKS), re.findall(r"entry: (.+)", HOOKS), strict=True))
    assert parse([*entries["ferrotile-check"].split()[1:], "a.py", "b.py"]).paths == ("a.py", "b.py")
    (given,) = re.findall(r"args: \[(.*)\]", PAGE)
    arguments = parse([*entries["ferrotile-export"].split()[1:], *given.split(", ")])
    assert arguments.check and arguments.paths == ("kernels",) and arguments.output == "crates/kernels"
    assert set(entries) == set(re.findall(r"- id: (\S+)", PAGE))

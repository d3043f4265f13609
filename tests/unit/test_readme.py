"""The README shows what ferrotile really does, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ferrotile_server.cli.arguments import parse
from ferrotile_server.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ("README.md", "CONTRIBUTING.md", "docs/guide.md", "docs/architecture.md", "examples/README.md")


def block(mark: str) -> str:
    """The code block under `<!-- mark -->`."""
    found = re.search(rf"<!-- {re.escape(mark)} -->\n```\w+\n(.*?)```", README, re.DOTALL)
    assert found is not None
    return found.group(1)


def test_example_is_the_one_in_the_repository() -> None:
    source = (ROOT / "examples" / "vector_add.py").read_text(encoding="utf-8")
    assert block("python: vector_add") in source


def test_rust_is_what_ferrotile_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", str(ROOT / "examples" / "vector_add.py")]) == 0
    assert block("rust: examples/vector_add.py") == capsys.readouterr().out


def test_commands_exist() -> None:
    section = README.split("## Commands", 1)[1].split("## ", 1)[0]
    cells = "\n".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))
    names = re.findall(r"`(?:ferrotile )?([a-z]+)", cells)
    assert len(names) >= 9
    for name in names:
        with pytest.raises(SystemExit) as caught:
            parse([name, "--help"])
        assert caught.value.code == 0, name


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert ((ROOT / page).parent / target).exists(), target


def test_architecture_names_real_places() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for target in re.findall(r"`((?:translation|gpu_runner|server|docs)/[\w/.]+)`", text):
        assert (ROOT / target).exists(), target

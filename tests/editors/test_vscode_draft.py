"""Drafts in a real VS Code: a test extension offers a scripted model through the Language Model API, the ladder is
real."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .code_server import SCRIPTS, CodeServer, Workspace, build, chromium, install, names, real_interpreter
from .installing import can_verify

sys.path.append(str(Path(__file__).parents[1] / "unit"))

from draft_support import REFUSED, RIGHT

pytestmark = [pytest.mark.editor, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    browser = chromium()
    if not can_verify():
        pytest.skip("NOT RUN: ferrotile-host is not built (run `ferrotile setup`)")
    install()
    build()
    server = CodeServer(tmp_path_factory.mktemp("code"), browser)
    try:
        yield server
    finally:
        server.close()


def test_a_draft_by_the_users_own_model(tmp_path: Path, code: CodeServer) -> None:
    workspace = Workspace(
        {"tiles.py": REFUSED, "right.txt": RIGHT},
        real_interpreter(tmp_path),
        settings={"chat.disableAIFeatures": False},
        extensions=(SCRIPTS / "scripted_model",),
    )
    assert names(code.run("draft", workspace, 400)) == ["offered", "never", "proved", "refused", "end"]

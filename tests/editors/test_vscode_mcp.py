"""What the VS Code extension offers to agent modes, with `mcp.ts` alone and a `vscode` of our own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .code_server import (
    EXTENSION,
    SCRIPTS,
    CodeServer,
    Workspace,
    build,
    chromium,
    install,
    names,
    real_interpreter,
)
from .installing import not_run, unless_refused

ESBUILD = EXTENSION / "node_modules" / ".bin" / "esbuild"

pytestmark = [pytest.mark.editor, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """mcp.ts and what it imports, built."""
    unless_refused()
    if shutil.which("node") is None or not ESBUILD.exists():
        not_run("node, and `npm ci` in vscode-client, are needed")
    built = tmp_path_factory.mktemp("mcp") / "mcp.cjs"
    options = ["--bundle", "--platform=node", "--format=cjs", "--external:vscode", "--log-level=error"]
    subprocess.run([ESBUILD, EXTENSION / "src" / "mcp.ts", *options, f"--outfile={built}"], check=True, timeout=60)
    return built


def offered(
    module: Path,
    *folders: str,
    trusted: bool = True,
    scheme: str = "file",
    old: bool = False,
    python: str = sys.executable,
) -> dict[str, object]:
    case = json.dumps({"trusted": trusted, "scheme": scheme, "folders": folders, "old": old})
    command = ["node", SCRIPTS / "mcp.cjs", module, python, case]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    answer = json.loads(run.stdout)
    assert isinstance(answer, dict)
    return answer


def test_a_trusted_workspace_may_run_its_kernels(module: Path) -> None:
    answer = offered(module, "/a", "/b")
    assert answer["ids"] == ["ferrotile"] and answer["times"] == 3 and answer["said"] == []
    (definition,) = answer["definitions"]  # type: ignore[misc]
    assert definition["command"] == sys.executable and definition["version"] == "1.2.3"
    assert definition["args"] == [
        *("-P", "-m", "ferrotile_server.cli.main", "mcp", "--trust", "/a", "--trust", "/b", "/a", "/b"),
    ]
    assert definition["cwd"] == "the extension's folder"


def test_what_it_starts_is_a_server(module: Path, tmp_path: Path) -> None:
    (definition,) = offered(module, str(tmp_path))["definitions"]  # type: ignore[misc]
    done = subprocess.run(
        [definition["command"], *definition["args"]], input="", capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_an_untrusted_workspace_is_not_trusted(module: Path) -> None:
    (definition,) = offered(module, "/a", trusted=False)["definitions"]  # type: ignore[misc]
    assert definition["args"] == ["-P", "-m", "ferrotile_server.cli.main", "mcp", "/a"]


def test_nothing_is_offered_where_there_is_nothing_to_read(module: Path) -> None:
    assert offered(module)["definitions"] == []
    assert offered(module, "/a", scheme="vscode-vfs")["definitions"] == []
    assert offered(module, "/a", python="/no/python")["definitions"] == []


def test_an_older_vs_code_is_left_alone(module: Path) -> None:
    assert offered(module, "/a", old=True)["ids"] == []


REFUSED = """import cuda.tile as ct


# ferrotile: x: i32[N], y: u32[N], TILE=256, grid=(N/TILE,)
@ct.kernel
def mixed(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), shape=(TILE,)) + ct.load(y, (i,), shape=(TILE,)))
"""


@pytest.mark.timeout(600)
def test_agent_mode_of_a_real_vs_code_has_the_tools(tmp_path: Path) -> None:
    browser = chromium()
    install()
    build()
    folder = tmp_path / "code"
    folder.mkdir()
    server = CodeServer(folder, browser)
    try:
        settings = {"chat.disableAIFeatures": False, "chat.mcp.access": "all"}
        workspace = Workspace({"kernels.py": REFUSED}, real_interpreter(tmp_path), settings=settings)
        assert names(server.run("mcp", workspace, 240)) == ["offered", "called", "end"]
    finally:
        server.close()

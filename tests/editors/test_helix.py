"""A real Helix in a terminal, with this server and the configuration of docs/editors.md, word by word.

What is looked at is what a person sees: marks beside the lines, hints in them, pop-ups, menus, the line at the
bottom."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .debian_release import unpacked
from .installing import CACHE, DOCUMENT, Home, can_verify, not_run, snippet, unless_refused
from .terminal import Terminal

VERSION = "25.01"
RELEASE = "trixie"
"""The release of Debian that has this version."""
RECORDED = Path(__file__).parents[1] / "lsp" / "capabilities" / "helix.json"
"""What this Helix says of itself, and what the server is tested with."""
HINTS = "editor.lsp.display-inlay-hints = true"
MARK = "●"
ESCAPE = "\x1b"
VERDICT_S = 300.0
"""For a verdict: the first of a machine compiles cuTile Rust, and others may be compiling."""

pytestmark = [pytest.mark.editor, pytest.mark.timeout(700)]


class Installed:
    """Helix in a folder, run with the C library of its own release where that of this machine is older."""

    def __init__(self, folder: Path) -> None:
        self.runtime = folder / "usr" / "lib" / "hx" / "runtime"
        program = folder / "usr" / "lib" / "hx" / "hx"
        self.command: list[str | Path] = [program]
        if self._version() is None:
            loader = next((folder / "usr" / "lib").rglob("ld-linux-*.so.*"))
            self.command = [loader, "--library-path", loader.parent, program]
        version = self._version()
        if version is None or f" {VERSION}" not in version:
            not_run(f"the Helix of {folder} does not run here, or is none of {VERSION}: {version}")

    def _version(self) -> str | None:
        made = subprocess.run([*self.command, "--version"], capture_output=True, text=True)
        return made.stdout if made.returncode == 0 else None


@pytest.fixture(scope="module")
def helix() -> Installed:
    unless_refused()
    return Installed(unpacked(RELEASE, CACHE / f"helix-{RELEASE}", "hx", "libc6", "libgcc-s1"))


class Session:
    """One Helix, its home and its log."""

    def __init__(self, terminal: Terminal, home: Home, log: Path) -> None:
        self.terminal, self.home, self._log = terminal, home, log

    def type(self, *keys: str) -> None:
        """One after another, since keys that come together after an escape are one key to a terminal."""
        for key in keys:
            self.terminal.keys(key)
            self.terminal.settle()

    def command(self, line: str) -> None:
        self.type(f":{line}", "\r")

    def open(self, name: str) -> None:
        self.command(f"open {self.home.kernels / name}")
        self.terminal.until(name, lambda: f" {name} " in self.terminal.lines[-2])

    def line_of(self, text: str) -> str:
        """The first line of the buffer that holds a text, without its number."""
        return next((m[1] for line in self.terminal.lines if text in line and (m := _LINE.match(line))), "")

    def marked(self) -> list[str]:
        """The lines with a diagnostic."""
        return [m[1].strip() for line in self.terminal.lines if line.startswith(MARK) and (m := _LINE.match(line))]

    def at(self, line: str, text: str) -> None:
        """Put the cursor on a text of a line that begins so."""
        source = next(s for s in self.terminal.lines if (m := _LINE.match(s)) and m[1].strip().startswith(line))
        number = int(source.lstrip(f"{MARK} ").split(" ", 1)[0])
        self.command(str(number))
        self.type("gh", f"/{text}", "\r")

    def menu(self) -> list[str]:
        """The titles of the code actions here; the menu is open then."""
        self.type(" a")
        known = re.compile(rf"(?:{'|'.join(_TITLES)})[^\n]*?(?=  |$)", re.MULTILINE)
        return self.terminal.until("a menu", lambda: known.findall(self.terminal.text))

    def choose(self, title: str) -> None:
        """A code action."""
        titles = self.menu()
        self.type("\t" * titles.index(title), "\r")

    @property
    def log(self) -> list[str]:
        return self._log.read_text(encoding="utf-8").splitlines()

    def sent(self, method: str) -> list[dict[str, object]]:
        """The parameters of what Helix told the server, or asked it."""
        messages = [json.loads(line.partition("ferrotile -> ")[2] or "null") for line in self.log]
        return [m["params"] for m in messages if m is not None and m.get("method") == method]

    def processes(self) -> list[str]:
        """What runs with this home, Helix itself among it."""
        mark = f"HOME={self.home.folder}\0".encode()
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (place / "environ").read_bytes() + b"\0":
                    found.append((place / "cmdline").read_text(encoding="utf-8").replace("\0", " "))
            except OSError:  # it has ended
                continue
        return found


_LINE = re.compile(rf"[{MARK} ] *\d+  (.*)")
_TITLES = ("Translate ", "Preview ", "Verify ", "Run ", "Add ", "Cancel ")


@contextmanager
def session(helix: Installed, folder: Path, configuration: str, first: str) -> Iterator[Session]:
    """A Helix that shows a file; afterwards it is quit, and nothing is left of it but a log without complaints."""
    home, log = Home(folder), folder / "helix.log"
    (home.kernels / "pyproject.toml").touch()  # what Helix takes for the root of a workspace
    place = home.folder / ".config" / "helix"
    place.mkdir(parents=True)
    (place / "languages.toml").write_text(configuration, encoding="utf-8")
    assert HINTS in DOCUMENT.read_text(encoding="utf-8")
    (place / "config.toml").write_text(HINTS, encoding="utf-8")
    environment = home.environment(HELIX_RUNTIME=str(helix.runtime))
    health = subprocess.run([*helix.command, "--health", "python"], env=environment, capture_output=True, text=True)
    assert f"ferrotile: {home.folder}/bin/ferrotile" in re.sub(r"\x1b\[[\d;]*m", "", health.stdout)
    with Terminal([*helix.command, "-v", "--log", log, home.kernels / first], environment, home.kernels) as terminal:
        made = Session(terminal, home, log)
        yield made
        assert any("ferrotile_server" in line for line in made.processes())
        made.command("quit-all!")
        assert terminal.ended() == 0
        end = time.monotonic() + 10
        while (left := made.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        assert left == []
    wrong = [line for line in made.log if re.search(r"\[(?:WARN|ERROR)\]", line)]
    assert not [line for line in wrong if "helix_lsp" in line or "language server" in line.lower()]


def test_as_the_page_says(helix: Installed, tmp_path: Path) -> None:
    with session(helix, tmp_path, snippet("helix"), "refused.py") as s:
        screen = s.terminal
        refused = ("source = even if", "ct.store(c, ", "ct.store(y, ")
        screen.until("three marks", lambda: len(s.marked()) == 3)
        assert all(line.startswith(start) for line, start in zip(s.marked(), refused, strict=True))
        for code, text in (("FT302", "chosen at run time"), ("FT203", "i32 and u32"), ("FT210", "no `sigmoid`")):
            s.type("]d")
            screen.shows(f"({code})", text)
        s.type("c", "ct.exp", ESCAPE)  # `]d` has selected what the last one is about
        screen.until("two marks", lambda: len(s.marked()) == 2)
        assert s.line_of("ct.exp(t)").strip() == "ct.store(y, index=(i,), tile=ct.exp(t))  # cuda.tile has no sigmoid"

        s.open("softmax.py")
        screen.until("a mark", lambda: len(s.marked()) == 1)
        s.at("def softmax", "softmax")
        s.type(" k")
        screen.shows("fn softmax<const TN: i32>(", "x: f32[M, N], y: f32[M, N], TN=1024", "not verified yet")
        assert "```" not in screen.text
        s.type(ESCAPE)
        titles = s.menu()
        assert {"Translate to Rust (softmax.rs)", "Preview Rust of `softmax`"} <= set(titles)
        assert not any("Verify" in t for t in titles), "Verify is offered where it would be refused"
        s.type(ESCAPE)

        s.choose("Add signature directive")
        screen.until("a directive", lambda: s.line_of("# ferrotile: x: f32[M, N], y: f32[M, N]"))
        # Not before an edit: Helix may ask for hints before it tells of the file, and does not ask again.
        screen.shows(" t: f32[1, TN] = ct.load(x", " e: f32[1, TN] = ct.exp(t")
        s.type("%", r"s\be\b", "\r", "c", "größe", ESCAPE, ",")  # two changes in one line, each moving the other
        screen.until("marks that stay", lambda: s.marked() == [s.line_of("ct.store(y").strip()])
        s.at("ct.store(y", "keepdims")
        s.choose("Add `allow_tma=False`")
        screen.until("no mark", lambda: not s.marked())
        assert s.line_of("ct.store(y").strip() == (
            "ct.store(y, index=(row, 0), tile=größe / ct.sum(größe, axis=1, keepdims=True), allow_tma=False)"
        )

        s.at("def softmax", "softmax")
        s.choose("Preview Rust of `softmax`")
        screen.shows("The Rust is in ")
        preview = Path(screen.text.partition("The Rust is in ")[2].split()[0])
        assert "fn softmax" in preview.read_text(encoding="utf-8")
        for _ in range(2):
            s.choose("Translate to Rust (softmax.rs)")
            screen.shows("Wrote ")
            written = (s.home.kernels / "softmax.rs").read_text(encoding="utf-8")
            assert written.startswith("// Generated by ferrotile") and written.count("fn softmax<") == 1
        s.command("lsp-workspace-command ferrotile.server.verifyWorkspace")
        screen.shows("This workspace is not trusted")

        (said,) = s.sent("initialize")
        assert said["capabilities"] == json.loads(RECORDED.read_text(encoding="utf-8"))
        assert any('"positionEncoding":"utf-8"' in line for line in s.log)


def test_verify_where_it_is_trusted(helix: Installed, tmp_path: Path) -> None:
    if not can_verify():
        not_run("ferrotile-host is not built: Verify was not looked at (run `ferrotile setup`)")
    configuration = snippet("helix").replace("workspaceTrusted = false", "workspaceTrusted = true")
    with session(helix, tmp_path, configuration, "softmax.py") as s:
        screen = s.terminal
        screen.until("a mark", lambda: len(s.marked()) == 1)
        s.at("def softmax", "softmax")
        s.choose("Verify `softmax`")
        screen.shows("`softmax` verified: proved, simulated, assembled, type-checked", seconds=VERDICT_S)
        assert s.marked()[0].startswith("def softmax(")
        s.type(" k")
        screen.shows("fn softmax<", "softmax: proved")
        s.type(ESCAPE, "]p", "o", "row = row", ESCAPE)
        s.at("def softmax", "softmax")
        screen.shows("`softmax` changed since it was verified")
        s.type("u")
        s.at("def softmax", "softmax")
        screen.shows("`softmax` verified: proved, simulated, assembled, type-checked")
        s.command("lsp-workspace-command ferrotile.server.verifyWorkspace")
        s.open("double.py")
        screen.until("a failed verdict", s.marked, VERDICT_S)
        s.type("]d")
        screen.shows("no data here")
        assert os.fspath(s.home.kernels) in str(s.sent("initialize")[0]["workspaceFolders"])

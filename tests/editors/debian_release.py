"""Packages of another release of Debian, unpacked into a folder of their own: nothing of the machine changes, and no
root is needed. Where the archive is, and whose signature counts, the machine's own configuration of apt says."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .installing import not_run

SOURCES = Path("/etc/apt")
_ONE_LINE = re.compile(r"^deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s", re.MULTILINE)
_SIGNED = re.compile(r"signed-by=(\S+)")


def unpacked(suite: str, folder: Path, *packages: str) -> Path:
    """`folder`, holding what the packages would put below `/`; skips where they cannot be had."""
    if folder.exists():
        return folder
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            not_run(f"{packages[0]} of Debian {suite} cannot be had: there is no {program}")
    system = platform.freedesktop_os_release()
    source = None if system.get("ID") != "debian" else next(_sources(system.get("VERSION_CODENAME", "")), None)
    if source is None:
        not_run(f"{packages[0]} of Debian {suite} cannot be had: apt knows no archive of Debian's")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        work = Path(name)
        options = _private(work, f"Types: deb\nSuites: {suite}\nComponents: main\n{source}\n")
        for command in (["update"], ["download", *packages]):
            made = subprocess.run(["apt-get", "-qq", *options, *command], cwd=work, capture_output=True, text=True)
            if made.returncode != 0:
                reason = [line for line in made.stderr.splitlines() if line.startswith("E:")][:1]
                not_run(f"{packages[0]} of Debian {suite} cannot be had: {reason or made.stderr[-200:]}")
        (work / "root").mkdir()
        for package in sorted(work.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, work / "root"], check=True)
        (work / "root").rename(folder)
    return folder


def _private(work: Path, sources: str) -> list[str]:
    """Options with which apt reads these sources alone, and keeps what it learns in a folder."""
    for made in ("parts", "lists/partial", "cache/archives/partial"):
        (work / made).mkdir(parents=True)
    (work / "parts" / "wanted.sources").write_text(sources, encoding="utf-8")
    (work / "status").touch()
    places = {
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": work / "parts",
        "Dir::Etc::Preferences": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::State::Lists": work / "lists",
        "Dir::State::Status": work / "status",
        "Dir::Cache": work / "cache",
        "Acquire::Languages": "none",
        "APT::Sandbox::User": "root",
    }
    return [word for name, value in places.items() for word in ("-o", f"{name}={value}")]


def _sources(release: str) -> Iterator[str]:
    """`URIs` and `Signed-By`, as deb822 has them, of each archive that the machine's own release comes from."""
    for path in sorted(SOURCES.glob("sources.list.d/*.sources")):
        text = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
        for stanza in re.split(r"\n\s*\n", text):
            fields = {m[1].lower(): m[0] for m in re.finditer(r"^([\w-]+):.*(?:\n[ \t].*)*", stanza, re.MULTILINE)}
            if release in fields.get("suites", "").split()[1:] and "uris" in fields:
                yield "\n".join(fields[name] for name in ("uris", "signed-by") if name in fields)
    for path in (SOURCES / "sources.list", *sorted(SOURCES.glob("sources.list.d/*.list"))):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for line in _ONE_LINE.finditer(text):
            if line["suite"] == release:
                key = _SIGNED.search(line["options"] or "")
                yield f"URIs: {line['uri']}" + (f"\nSigned-By: {key[1]}" if key else "")

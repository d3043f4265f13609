"""Files are read below the user's folders and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ferrotile_server.mcp.folders import Folders, path_of_uri

from .support import ERAS, KERNEL, call, run, session, words

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.py").write_text(KERNEL)
    inside = tmp_path / "project"
    inside.mkdir()
    (inside / "good.py").write_text(KERNEL)
    (inside / "link.py").symlink_to(tmp_path / "secret.py")
    (inside / "out").symlink_to(tmp_path)
    (inside / "loop.py").symlink_to(inside / "loop.py")
    (inside / "latin.py").write_bytes(b"# caf\xe9\n")
    (inside / "large.py").write_bytes(b"#" * 5_000_001)
    os.mkfifo(inside / "pipe.py")
    return inside


BAD = {
    "../secret.py": "outside",
    "out/secret.py": "outside",
    "link.py": "outside",
    "/etc/passwd": "outside",
    "file:///etc/passwd": "outside",
    "file://elsewhere/good.py": "not a file of this machine",
    "nothing.py": "no such file",
    "loop.py": "",
    "pipe.py": "not a file",
    "latin.py": "not UTF-8",
    "large.py": "larger than",
    ".": "a folder",
    "go\0od.py": "not a path",
    "x" * 300: "",
}


@pytest.mark.parametrize("era", ERAS)
def test_bad_paths_are_errors_in_words(folder: Path, era: str) -> None:
    async def scenario() -> None:
        async with session(folder, era=era) as client:
            for path, reason in BAD.items():
                result = await call(client, "translate", path=path)
                assert result.is_error and result.structured_content is None, path
                assert reason in words(result), (path, words(result))
                assert "import" not in words(result)

    run(scenario)


def test_good_paths(folder: Path) -> None:
    async def scenario() -> None:
        async with session(folder) as client:
            for path in ("good.py", "./good.py", str(folder / "good.py"), (folder / "good.py").as_uri()):
                result = await call(client, "check", path=path)
                assert result.structured_content["kernels"][0]["file"] == "good.py"

    run(scenario)


def test_a_folder_does_not_lead_out_of_itself(folder: Path) -> None:
    async def scenario() -> None:
        async with session(folder) as client:
            result = await call(client, "check", path=".")
            assert {k["file"] for k in result.structured_content["kernels"]} == {"good.py"}

    run(scenario)


@pytest.mark.parametrize("era", ERAS)
def test_the_folders_of_the_client_count(folder: Path, era: str) -> None:
    async def scenario() -> None:
        async with session(folder, era=era, roots=(folder,)) as client:
            assert not (await call(client, "check", path="good.py")).is_error
            assert "outside" in words(await call(client, "check", path=str(folder.parent / "secret.py")))

    run(scenario)


@pytest.mark.parametrize("era", ERAS)
def test_a_client_without_folders_gives_none(folder: Path, era: str) -> None:
    async def scenario() -> None:
        async with session(folder, era=era, roots=()) as client:
            assert (await call(client, "check", path=str(folder / "good.py"))).is_error

    run(scenario)


def test_uris() -> None:
    assert path_of_uri("file:///a/b%20c") == Path("/a/b c")
    assert path_of_uri("https://example.org/a") is None


def test_the_innermost_folder_names_a_file(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    folders = Folders.of((tmp_path, inner, tmp_path / "absent"))
    assert folders.roots == (tmp_path.resolve(), inner.resolve())
    assert folders.root_of(inner.resolve() / "x.py") == inner.resolve()
    assert folders.root_of(tmp_path.resolve().parent) is None

"""What `ferrotile COMMAND PATH...` reads, and what it says about the rest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ferrotile_server.cli.paths import LARGEST_FILE, PathError, decode, read_sources, split_node

KERNEL = "import cuda.tile as ct\n@ct.kernel\ndef k(x):\n    pass\n"


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("a.py", ("a.py", None)),
        ("a/b.py::k", ("a/b.py", "k")),
        ("a::b.py::k", ("a::b.py", "k")),
        ("a.py::", ("a.py::", None)),
        ("::k", ("::k", None)),
    ],
)
def test_node_form(argument: str, expected: tuple[str, str | None]) -> None:
    assert split_node(argument) == expected


def test_folder_is_walked_in_order_without_foreign_code(tmp_path: Path) -> None:
    for name in (
        "b.py",
        "a.py",
        "sub/c.py",
        ".venv/d.py",
        "node_modules/e.py",
        "site-packages/f.py",
        "notes.txt",
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(KERNEL)
    (tmp_path / "plain.py").write_text("print('no kernels here')\n")
    sources, errors = read_sources([str(tmp_path)])
    assert [s.path.relative_to(tmp_path).as_posix() for s in sources] == ["a.py", "b.py", "sub/c.py"]
    assert errors == ()


def test_each_file_once(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(KERNEL)
    sources, _ = read_sources([str(file), str(tmp_path), str(file)])
    assert len(sources) == 1


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PathError, match=r"gone\.py: no such file"):
        read_sources([str(tmp_path / "gone.py")])


def test_kernel_of_a_folder_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(PathError, match="is a folder"):
        read_sources([f"{tmp_path}::k"])


def test_not_utf8_says_where() -> None:
    with pytest.raises(PathError, match=r"x\.py: not UTF-8 \(byte 0xe9 at offset 2\)"):
        decode("x.py", b"# \xe9")


def test_too_large_says_how_large() -> None:
    with pytest.raises(PathError, match=r"x\.py: 5\.0 MB is more than the 5 MB"):
        decode("x.py", b" " * (LARGEST_FILE + 1))


def test_byte_order_mark_is_not_text() -> None:
    assert decode("x.py", b"\xef\xbb\xbfx = 1\r\n") == "x = 1\r\n"


def test_unreadable_file_in_a_folder_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(KERNEL.encode() + b"# \xff\n")
    (tmp_path / "b.py").write_text(KERNEL)
    sources, errors = read_sources([str(tmp_path)])
    assert [s.path.name for s in sources] == ["b.py"]
    assert len(errors) == 1
    assert "a.py: not UTF-8" in str(errors[0])


@pytest.mark.timeout(20)
def test_a_pipe_in_a_folder_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")  # opened, it would be waited for without end
    (tmp_path / "b.py").write_text(KERNEL)
    sources, errors = read_sources([str(tmp_path)])
    assert [s.path.name for s in sources] == ["b.py"] and errors == ()

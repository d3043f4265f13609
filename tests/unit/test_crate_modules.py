"""The text of exported crates: host functions, shared device functions, names, documentation."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from crate_support import HEAD, python_file
from ferrotile.crate.launch_module import launch_module
from ferrotile.crate.names import Names, camel, snake
from ferrotile.crate.project import Crate, contents_of, crate_files

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.py") if p.stem != "refused")


def _crate(*texts: tuple[str, str]) -> Crate:
    return crate_files(contents_of("kernels", [python_file(text, stem) for stem, text in texts]))


def _text(crate: Crate, path: str) -> str:
    text = crate.files[path]
    assert isinstance(text, str)
    return text


@pytest.fixture(scope="module")
def examples() -> Crate:
    return _crate(*((p.stem, p.read_text()) for p in EXAMPLES))


@pytest.mark.parametrize(
    ("python", "rust"), [("TILE_M", "tile_m"), ("blockSize", "block_size"), ("_k", "k"), ("x2", "x2"), ("2d", "n2d")]
)
def test_names_in_snake_case(python: str, rust: str) -> None:
    assert snake(python) == rust


def test_names_are_taken_once() -> None:
    names = Names(("x",))
    taken = [names.take("x"), names.take("X"), names.take("match"), names.take("M", "rows"), names.take("m", "rows")]
    assert taken == ["x_2", "x_3", "match_2", "m", "rows"]
    assert camel("softmax_2") == "Softmax2"


def test_a_module_and_three_functions_for_each_kernel(examples: Crate) -> None:
    for path in EXAMPLES:
        text = _text(examples, f"src/{path.stem}.rs")
        assert re.findall(r"^pub (?:unsafe )?fn (\w+_into|\w+_op)\b", text, re.MULTILINE) == [
            f"{path.stem}_into",
            f"{path.stem}_op",
        ]
        assert f"[{path.stem}.py:" in text and f"pub mod {path.stem};" in _text(examples, "src/lib.rs")
    assert examples.refused == ()


def test_an_array_that_is_read_and_written_is_given(examples: Crate) -> None:
    # AdamW updates its arrays in place: nothing can be made for it.
    assert "pub fn adamw(" not in _text(examples, "src/adamw.rs")
    assert "pub fn softmax(x: &Tensor<f32>, config: SoftmaxConfig) -> Result<Tensor<f32>, Error> {" in _text(
        examples, "src/softmax.rs"
    )


def test_rank_4_is_written_through_an_input_with_sole_use(examples: Crate) -> None:
    text = _text(examples, "src/attention.rs")
    assert "out: &'a mut Tensor<f16>" in text and "let out = Written::new(out);" in text
    assert "let blocks = launch.grid([tiles(s, 128), h, b])?;" in text


def test_device_functions_of_several_modules_stand_once(examples: Crate) -> None:
    shared = _text(examples, "src/device.rs")
    names = re.findall(r"pub (?:unsafe )?fn (\w+)", shared)
    assert names == sorted(set(names)) and names
    for path in EXAMPLES:
        text = _text(examples, f"src/{path.stem}.rs")
        kernels = text.split("\n}\n")[0]
        for name in names:
            assert f"fn {name}<" not in kernels
            imported = re.search(r"use crate::device::helpers::(.*?);", kernels, re.DOTALL)
            called = re.search(rf"\b{name}\(", kernels) is not None
            assert called == (imported is not None and re.search(rf"\b{name}\b", imported[1]) is not None)


COPY = """
# ferrotile: x: {dtype}[N], y: {dtype}[N], T={tile}, grid=(N/T,)
@ct.kernel
def copy(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(T,)))
"""


def test_files_of_one_name_get_modules_of_their_own() -> None:
    first = HEAD + COPY.format(dtype="f32", tile=64)
    crate = crate_files(contents_of("kernels", [python_file(first, "copy"), python_file(first, "copy")]))
    assert [m.name for m in crate.modules] == ["copy", "copy_2"]


def test_what_is_used_of_the_launch_module_is_there() -> None:
    text = launch_module({"same", "tiles"})
    assert "fn same(" in text and "fn tiles(" in text
    assert not any(word in text for word in ("Written", "Merged", "Float", "fn multiple", "fn distinct"))


def test_a_refused_kernel_costs_no_other() -> None:
    bad = (
        HEAD
        + COPY.format(dtype="f32", tile=64)
        + COPY.format(dtype="f32", tile=64).replace("copy", "bad").replace("ct.load(x", "ct.no_such(x")
    )
    crate = _crate(("two", bad))
    assert [k.planned.entry.name for m in crate.modules for k in m.kernels] == ["copy"]


def test_the_page_about_a_kernels_journey_says_what_is_made() -> None:
    page = (ROOT / "docs" / "journey.md").read_text()
    made = "".join(
        _text(_crate(("softmax", (ROOT / "examples" / "softmax.py").read_text())), path)
        for path in ("src/softmax.rs", "src/launch.rs")
    )
    unindented = re.sub(r"(?m)^    ", "", made)
    blocks = re.findall(r"```rust\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        assert block in made or block in unindented
    assert "is {value}, but must be {wanted}" in made


@pytest.mark.skipif(shutil.which("rustfmt") is None, reason="rustfmt is not installed")
def test_all_files_are_as_rustfmt_has_them(examples: Crate, tmp_path: Path) -> None:
    for path, text in examples.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(text.encode() if isinstance(text, str) else text)
    roots = [tmp_path / p for p in ("src/lib.rs", "tests/kernels/main.rs", "examples/launch.rs")]
    done = subprocess.run(
        ["rustfmt", "--check", "--edition", "2021", *map(str, roots)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout

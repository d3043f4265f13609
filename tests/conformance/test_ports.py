"""`verify --rust`: ports of `ports/kernels.py` as people write them. Wrong ones are rejected at the right lines of both
files, which are read off the sources: the statement that is wrong, and the one that it was to be. Right ones in other
styles than ours pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Origin
from ferrotile_runner.candidate import CandidateError, accepted, candidate_kernel
from ferrotile_runner.candidate_comment import pythons_of
from ferrotile_runner.report import Difference, KernelReport, Rung
from ferrotile_runner.session import InputOptions, Session
from ferrotile_runner.toolchain import locate
from ferrotile_runner.verify import Work, verify_files
from msgspec import Struct

PORTS = Path(__file__).parent / "ports"
PYTHON = (PORTS / "kernels.py").read_text()
RUNGS = tuple(rung.value for rung in Rung if rung is not Rung.MATCHED)

pytestmark = pytest.mark.compilers


class Right(Struct, frozen=True):
    """`proved`: else simulated alone."""

    file: str
    proved: bool


RIGHT = (
    Right("saxpy_pointers", True),
    Right("softmax_masked", True),
    Right("matmul_mapped", True),
    Right("matmul_checked", True),
    Right("transpose_permuted", False),
    Right("momentum_tokens", True),
    Right("row_max_loop", True),
    Right("keep_first_inverted", True),
    Right("add_bias_generic", True),
    Right("divide_rows_other_blocks", False),
    Right("alternate_branches", False),
)


STORES = {
    "alternate_exchanged": ("ct.store(out, index=(i,)", "out.store(t * half)"),
    "transpose_untransposed": ("ct.store(y, index=(j, i)", "y.store(x.partition(shape![S, S])"),
    "row_max_no_carry": ("ct.store(out, index=(i,)", "out.store(best)"),
}
"""Where both sides of a wrong port write the array that a simulation finds to differ."""


class Wrong(Struct, frozen=True):
    """The proof blames `rust`, and `python`; None: the Rust has nothing there."""

    file: str
    python: str
    rust: str | None


WRONG = (
    Wrong("matmul_swapped_index", "ct.load(b, index=(k, j)", "pb.load([j, k])"),
    Wrong("matmul_half_sum", "ct.store(c, index=(i, j)", "c.store(acc)"),
    Wrong("keep_first_no_mask", "ct.where(place < count, t, 0.0)", "x.load_like(y)"),
    Wrong("momentum_unordered", "ct.store(v, index=(i,)", "v.store("),
    Wrong("momentum_missing_store", "ct.store(v, index=(i,)", None),
    Wrong("divide_rows_approximate", "t / s", "true_div(x.load_like(y), s)"),
    Wrong("row_max_wrong_axis", "ct.max(t, axis=1)", "reduce_max(tiles.load([program_id(0), j]), 0)"),
    Wrong("row_max_off_by_one", "for j in range(ct.cdiv(x.shape[1], TN))", "for j in 1i32..num_tiles(&tiles, 1)"),
    Wrong("row_max_no_carry", "ct.maximum(high", "max_tile(start, tile)"),
    Wrong("softmax_zero_padding", "ct.load(x, index=(row, 0)", "x.load_like(y)"),
    Wrong("transpose_untransposed", "ct.store(y, index=(j, i)", "y.store(x.partition(shape![S, S])"),
    Wrong("alternate_exchanged", "even if step % 2 == 0 else odd", None),
    Wrong("saxpy_two_roundings", "ct.store(out, index=(i,)", "out.store(scaled + y.load_like(out))"),
)


def kernels() -> dict[str, KernelTranslation]:
    return {kernel.name: kernel for kernel in translate_document(Document(PYTHON)).kernels}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    toolchain = locate()
    if toolchain.missing:
        pytest.skip(f"needs {', '.join(toolchain.missing)}: run `ferrotile setup`")
    with Session(toolchain, InputOptions(seconds=60)) as found:
        yield found


@pytest.fixture(scope="module")
def reports(session: Session) -> dict[str, KernelReport]:
    """Of all ports, by file: one run of `cargo` checks them all."""
    own = kernels()
    files = sorted(PORTS.glob("*/*.rs"))
    made: list[KernelTranslation] = []
    for file in files:
        text = file.read_text()
        (named,) = pythons_of(text)
        assert named.file == "kernels.py" and named.kernel is not None
        made.append(candidate_kernel(own[named.kernel], text, session, mapping=named.mapping, grid=named.grid))
    found = verify_files((Work(Document(PYTHON), made),), RUNGS, session)
    return dict(zip((file.stem for file in files), found, strict=True))


def test_every_port_is_listed() -> None:
    assert {f.stem for f in PORTS.glob("right/*.rs")} == {one.file for one in RIGHT}
    assert {f.stem for f in PORTS.glob("wrong/*.rs")} == {one.file for one in WRONG}


@pytest.mark.parametrize("right", RIGHT, ids=lambda right: right.file)
def test_right_ports_pass(right: Right, reports: Mapping[str, KernelReport]) -> None:
    report = reports[right.file]
    status = {rung: result.status for rung, result in report.rungs.items()}
    assert report.origin is Origin.HAND
    assert (status["type-checked"], status["assembled"], status["simulated"]) == ("passed",) * 3, report.rungs
    assert (status["proved"] == "passed") is right.proved, report.rungs["proved"]
    assert accepted(report)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.file)
def test_wrong_ports_are_rejected(wrong: Wrong, reports: Mapping[str, KernelReport]) -> None:
    report = reports[wrong.file]
    assert report.rungs["type-checked"].status == report.rungs["assembled"].status == "passed", report.rungs
    assert not accepted(report)
    assert report.rungs["simulated"].status == "failed", report.rungs["simulated"]
    proved = report.rungs["proved"]
    assert proved.status == "failed" and proved.difference is not None
    assert_at(proved.difference, wrong, (PORTS / "wrong" / f"{wrong.file}.rs").read_text())


def assert_at(difference: Difference, wrong: Wrong, rust: str) -> None:
    """Both places are on the lines that hold the statements, and show them."""
    assert difference.python is not None
    assert wrong.python in PYTHON.split("\n")[difference.python.line - 1]
    assert difference.python.text.startswith(wrong.python)
    if wrong.rust is None:
        assert difference.rust is None
        return
    assert difference.rust is not None
    assert wrong.rust in rust.split("\n")[difference.rust.line - 1]
    assert difference.rust.text.startswith(wrong.rust)


@pytest.mark.parametrize("file", STORES)
def test_a_simulation_that_differs_shows_where_the_array_is_written(
    file: str, reports: Mapping[str, KernelReport]
) -> None:
    difference = reports[file].rungs["simulated"].difference
    assert difference is not None and difference.expected and difference.actual
    assert_at(difference, Wrong(file, *STORES[file]), (PORTS / "wrong" / f"{file}.rs").read_text())


REFUSED = (
    ("out: &mut Tensor<f32, { [B] }>", "out: &mut Tensor<f16, { [B] }>", 8, "`f32` in the Python, `f16` in the Rust"),
    ("a: f32", "a: i32", 11, "`f32` in the Python, `i32` in the Rust"),
    ("a: f32", "a: f32, n: i32", 11, "`--map 'x.shape[0]=n'`"),
    ("x: &Tensor<f32, { [-1] }>", "x: &Tensor<f32, { [512] }>", 9, "`--assume 'N = 512'`"),
    ("x: &Tensor<f32, { [-1] }>", "x: &Tensor<f32, { [-1, -1] }>", 9, "1 axes in the Python, 2 in the Rust"),
    ("<const B: i32>", "<const B: i32, const C: i32>", 7, None),
    ("out.store(", "std::process::exit(1); out.store(", 14, "`std::` leaves the kernel's module"),
    ("out.store(", 'let s = include_str!("/etc/passwd"); out.store(', 14, "macro `include_str!`"),
    ("#[cutile::entry()]", '#[cutile::entry(dump_mlir_dir = "/tmp")]', 6, "writes files"),
    ("use cutile::core::*;", "use cutile::core::*; mod more;", 4, "`mod x;` reads another file"),
)  # fmt: skip
"""In `wrong/saxpy_two_roundings.rs`: what becomes what, and the line and words of the refusal (None: none at all)."""


@pytest.mark.parametrize("old,new,line,words", REFUSED)
def test_what_cannot_be_compared_is_refused_at_its_line(
    session: Session, old: str, new: str, line: int, words: str | None
) -> None:
    text = (PORTS / "wrong" / "saxpy_two_roundings.rs").read_text()
    assert old in text
    kernel = kernels()["saxpy"]
    if words is None:  # all constants of the Python that are left have one value
        candidate_kernel(kernel, text.replace(old, new), session)
        return
    with pytest.raises(CandidateError) as found:
        candidate_kernel(kernel, text.replace(old, new), session)
    assert found.value.line == line
    assert words in found.value.message


def test_compilers_see_only_the_kernels_module(session: Session) -> None:
    text = (PORTS / "right" / "softmax_masked.rs").read_text() + "\n#![feature(x)]\n".replace("#!", "// #!")
    made = candidate_kernel(kernels()["row_softmax"], text, session)
    assert made.rust is not None
    lines, seen = text.split("\n"), made.rust.split("\n")
    assert "fn main" in text and "fn main" not in made.rust
    start = lines.index("#[cutile::module]")
    end = lines.index("}", start)
    assert seen[start : end + 1] == lines[start : end + 1]
    assert made.rust.count("use cutile::prelude::*;") == 1


def test_one_of_several_entries_must_be_named(session: Session) -> None:
    text = (PORTS / "wrong" / "saxpy_two_roundings.rs").read_text()
    two = text + text.replace("mod blas1", "mod other")
    kernel = kernels()["saxpy"]
    with pytest.raises(CandidateError, match=r"`blas1::saxpy` \(line 7\), `other::saxpy` \(line"):
        candidate_kernel(kernel, two, session)
    made = candidate_kernel(kernel, two, session, entry="other::saxpy")
    assert made.entry is not None and made.entry.module == "other"
    with pytest.raises(CandidateError, match="there is no entry `missing`"):
        candidate_kernel(kernel, two, session, entry="missing")

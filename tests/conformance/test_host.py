"""Both compilers on one kernel: Rust text and Python source to Tile IR, to text, to machine code."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from ferrotile.program.dtypes import F32
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature, Source
from ferrotile_runner.disassemble import DisassemblyError, disassemble
from ferrotile_runner.doctor import Status, doctor
from ferrotile_runner.host import Atom, HostClient, HostError, Specialization
from ferrotile_runner.process import Ending, ProcessError
from ferrotile_runner.python_worker import PythonCompileError, PythonCompiler
from ferrotile_runner.toolchain import Toolchain, locate
from ferrotile_runner.typecheck import type_check

pytestmark = pytest.mark.compilers

RUST = """// Scales a vector.
#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn scale<const TILE: i32>(
        x: &Tensor<f32, { [-1] }>,
        y: &mut Tensor<f32, { [TILE] }>,
        factor: f32,
    ) {
        let tile = x.partition(shape![TILE]).load([program_id(0)]);
        let factors: Tile<f32, { [TILE] }> = factor.broadcast(shape![TILE]);
        y.store(tile * factors);
    }
}
"""

PYTHON = """import cuda.tile as ct


@ct.kernel
def scale(x, y, factor, TILE: ct.Constant[int]):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,))
    ct.store(y, index=(ct.bid(0),), tile=tile * factor)
"""

SIGNATURE = Signature(
    "scale",
    (
        ArrayArgument("x", F32, ("N",), Source.DIRECTIVE),
        ArrayArgument("y", F32, ("N",), Source.DIRECTIVE),
        ScalarArgument("factor", F32, Source.DIRECTIVE),
        ConstantArgument("TILE", 128, Source.DIRECTIVE),
    ),
)
STRIDES = {"x": [1], "y": [1]}


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    found = locate()
    if found.missing:
        pytest.skip(f"missing: {', '.join(found.missing)}")
    return found


@pytest.fixture(scope="module")
def host(toolchain: Toolchain) -> Iterator[HostClient]:
    client = HostClient(toolchain)
    yield client
    client.close()


@pytest.fixture(scope="module")
def python(toolchain: Toolchain) -> Iterator[PythonCompiler]:
    compiler = PythonCompiler()
    yield compiler
    compiler.close()


def test_rust_compiles_with_its_launch_check(host: HostClient, toolchain: Toolchain) -> None:
    compiled = host.compile(RUST, "kernels", "scale", ["128"], STRIDES, "sm_90")
    assert compiled.bytecode_version == "13.3"
    assert compiled.check_counts.in_place == 0
    (check,) = compiled.launch_checks
    assert check.predicate == "x.shape[0] - 128*grid[0] + 128 > 0"
    assert check.terms == ((1, Atom("shape", 0, 0)), (-128, Atom("grid", 0)))
    assert "entry @scale_entry" in disassemble(toolchain, compiled.bytecode)


def test_locations_are_those_of_the_text(host: HostClient, toolchain: Toolchain) -> None:
    compiled = host.compile(RUST, None, "scale", ["128"], STRIDES, "sm_90")
    text = disassemble(toolchain, compiled.bytecode, locations=True)
    assert '"kernel.rs":14:' in text


@pytest.mark.parametrize("version", ["13.2", "13.3", "13.4"])
def test_versions_are_honoured(host: HostClient, version: str) -> None:
    target = "sm_100"
    compiled = host.compile(RUST, None, "scale", ["128"], STRIDES, target, version)
    assert compiled.bytecode[8:10] == bytes([13, int(version.split(".")[1])])


def test_specialisation_reaches_the_entry(host: HostClient, toolchain: Toolchain) -> None:
    divisors = {"x": Specialization((16,), (1,), 16)}
    compiled = host.compile(RUST, None, "scale", ["128"], STRIDES, "sm_90", specialization=divisors)
    assert "div_by<16" in disassemble(toolchain, compiled.bytecode)


def test_errors_have_a_place(host: HostClient) -> None:
    with pytest.raises(HostError, match="undefined") as raised:
        host.compile(RUST.replace("tile * factors", "tile * nothing"), None, "scale", ["128"], STRIDES, "sm_90")
    assert (raised.value.line, raised.value.column) == (14, 23)
    assert "__cutile_node_id" not in raised.value.message


def test_syntax_errors_have_a_place(host: HostClient) -> None:
    with pytest.raises(HostError) as raised:
        host.compile(RUST.replace("y.store(", "y.store)("), None, "scale", ["128"], STRIDES, "sm_90")
    assert raised.value.line == 14


def test_panics_are_errors_and_the_process_lives(host: HostClient) -> None:
    host.version()
    with pytest.raises(HostError, match="panicked"):
        host.compile(RUST, None, "scale", ["128"], {}, "sm_90")
    assert host.version()["cutile"] == "0.5.0"


def test_time_limits_hold(toolchain: Toolchain) -> None:
    client = HostClient(toolchain)
    client.version()
    with pytest.raises(ProcessError) as raised:
        client.compile(RUST, None, "scale", ["128"], STRIDES, "sm_90", seconds=0.001)
    assert raised.value.ending is Ending.TIMEOUT
    assert client.compile(RUST, None, "scale", ["128"], STRIDES, "sm_90").bytecode
    client.close()


def test_cancel_is_honoured(host: HostClient) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(ProcessError) as raised:
        host.compile(RUST, None, "scale", ["128"], STRIDES, "sm_90", cancel=cancel)
    assert raised.value.ending is Ending.CANCELLED


def test_both_compilers_give_the_same_operations(
    host: HostClient, python: PythonCompiler, toolchain: Toolchain
) -> None:
    rust = disassemble(toolchain, host.compile(RUST, None, "scale", ["128"], STRIDES, "sm_90").bytecode)
    original = disassemble(toolchain, python.compile(PYTHON, "scale", SIGNATURE).data)
    assert "entry @scale(" in original
    for operation in ("mulf", "load_view_tko", "store_view_tko", "make_partition_view"):
        assert (operation in rust) and (operation in original), operation


def test_both_bytecodes_assemble(host: HostClient, python: PythonCompiler) -> None:
    rust = host.compile(RUST, None, "scale", ["128"], STRIDES, "sm_90").bytecode
    original = python.compile(PYTHON, "scale", SIGNATURE).data
    for bytecode in (rust, original):
        assert host.assemble(bytecode, "sm_90").startswith(b"\x7fELF")
    assert python.cubin(PYTHON, "scale", SIGNATURE, "sm_90").data.startswith(b"\x7fELF")


def test_the_assembler_refuses(host: HostClient, toolchain: Toolchain) -> None:
    with pytest.raises(HostError, match="tileiras"):
        host.assemble(b"junk", "sm_90")
    with pytest.raises(DisassemblyError):
        disassemble(toolchain, b"junk")


def test_python_specialisation_reaches_the_entry(python: PythonCompiler, toolchain: Toolchain) -> None:
    plain = disassemble(toolchain, python.compile(PYTHON, "scale", SIGNATURE).data)
    divisors = {name: Specialization((16,), (1,), 16) for name in ("x", "y")}
    divided = python.compile(PYTHON, "scale", SIGNATURE, specialization=divisors)
    assert "div_by<16" not in plain
    assert "div_by<16" in disassemble(toolchain, divided.data)


def test_python_errors_have_a_place(python: PythonCompiler) -> None:
    with pytest.raises(PythonCompileError) as raised:
        python.compile(PYTHON.replace("tile * factor", "tile * nothing"), "scale", SIGNATURE)
    assert raised.value.line == 7
    with pytest.raises(PythonCompileError, match="ZeroDivisionError") as raised:
        python.compile(PYTHON + "1 / 0\n", "scale", SIGNATURE)
    assert raised.value.line == 8
    with pytest.raises(PythonCompileError, match="SyntaxError") as raised:
        python.compile("def f(:\n", "scale", SIGNATURE)
    assert raised.value.line == 1
    with pytest.raises(PythonCompileError, match="not a cuTile kernel"):
        python.compile(PYTHON, "absent", SIGNATURE)


def test_prints_do_not_break_the_protocol(python: PythonCompiler) -> None:
    noisy = PYTHON + "print('hello')\nimport os\nos.system('echo hello')\n"
    assert python.compile(noisy, "scale", SIGNATURE).data


def test_rustc_judges_several_texts_at_once(toolchain: Toolchain) -> None:
    wrong = RUST.replace("tile * factors", "tile * 1i32")
    good, bad = type_check(toolchain, [RUST, wrong])
    assert good == ()
    assert {(error.code, error.line) for error in bad} <= {("E0308", 14), ("E0277", 14)}
    assert bad


def test_an_early_error_does_not_hide_the_others(toolchain: Toolchain) -> None:
    unclosed = RUST.replace("y.store(tile * factors);", "y.store(tile;")
    unresolved = RUST.replace("tile * factors", "tile * nothing")
    mistyped = RUST.replace("tile * factors", "tile * 1i32")
    results = type_check(toolchain, [unclosed, RUST, mistyped, unresolved])
    assert [bool(errors) for errors in results] == [True, False, True, True]
    assert results[3][0].code == "E0425"


def test_doctor_is_content(toolchain: Toolchain) -> None:
    assert all(check.status is not Status.FAILED for check in doctor(toolchain))

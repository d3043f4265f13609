"""Every claim of the guide to the target, against the real `cutile`: what it recommends compiles, its silent traps
compile and their Tile IR shows the fault, its loud ones do not compile. One run of `cargo` for all."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile_runner.disassemble import disassemble
from ferrotile_runner.host import HostError
from ferrotile_runner.process import ProcessError
from ferrotile_runner.report import RungStatus
from ferrotile_runner.session import Session
from ferrotile_runner.verify import Work, verify_files
from ferrotile_server.guide import target_guide
from ferrotile_server.guide.constructs import CONSTRUCTS
from ferrotile_server.guide.snippet import ENTRY, STRIDES, module_text
from ferrotile_server.guide.text import kernels
from ferrotile_server.guide.traps import LOUD, SILENT

pytestmark = pytest.mark.compilers

TARGET = "sm_90"

RANK_4 = """#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn snippet(z: &mut Tensor<f32, { [2, 2, 2, 2] }>) {
        let zero: Tile<f32, { [2, 2, 2, 2] }> = constant(0.0, shape![2, 2, 2, 2]);
        z.store(zero);
    }
}
"""


def bytecode(session: Session, text: str, strides: dict[str, tuple[int, ...]] | None = None) -> bytes:
    return session.host().compile(text, None, ENTRY, (), strides or STRIDES, TARGET).bytecode


def tile_ir(session: Session, statements: str) -> str:
    return disassemble(session.toolchain, bytecode(session, module_text(statements)))


def refusal(session: Session, text: str) -> str:
    """Why a text does not become machine code; empty where it does."""
    errors = session.rustc_errors(text)
    if errors:
        return errors[0].message
    try:
        session.host().assemble(bytecode(session, text), TARGET)
    except (HostError, ProcessError) as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def checked(session: Session) -> Session:
    """The session, with the types of all texts checked."""
    texts = [module_text(c.rust) for c in CONSTRUCTS]
    texts += [module_text(part) for t in (*SILENT, *LOUD) for part in (t.wrong, t.instead)]
    session.check_types([*texts, RANK_4])
    return session


def test_what_the_guide_recommends_compiles(checked: Session) -> None:
    right = [*(c.rust for c in CONSTRUCTS), *(t.instead for t in (*SILENT, *LOUD))]
    refused = {text: why for text in right if (why := refusal(checked, module_text(text)))}
    assert refused == {}


def test_what_the_guide_calls_loud_does_not_compile(checked: Session) -> None:
    assert [t.wrong for t in LOUD if not refusal(checked, module_text(t.wrong))] == []
    assert refusal(checked, RANK_4)


def same_as(old: str, new: str) -> Callable[[Session, str, str], bool]:
    """The trap's Tile IR is that of other statements, which say something else."""

    def shows(session: Session, wrong: str, ir: str) -> bool:
        assert old in wrong
        return tile_ir(session, wrong.replace(old, new)) == ir

    return shows


def has(pattern: str) -> Callable[[Session, str, str], bool]:
    return lambda session, wrong, ir: re.search(pattern, ir, re.DOTALL) is not None


def one_token(session: Session, wrong: str, ir: str) -> bool:
    """The load before the store, the store and the load after it have the same token of the view's making."""
    return len(set(re.findall(r"(?:load|store)_view_tko [^\n]*? token = (%\w+)", ir)[-3:])) == 1


SIGNS: tuple[Callable[[Session, str, str], bool], ...] = (
    same_as("0..=n", "0..n"),
    has(r"scan %\w+ dim=0 [^\n]*tile<16x32xf32>"),
    has(r"scan %\w+ dim=0 [^\n]*identities=\[0\.0"),
    has(r"constant <i32: 0> : tile<16x32xi32>"),
    has(r"cmpf not_equal ordered"),
    lambda session, wrong, ir: "maxf" in ir and "propagate_nan" not in ir,
    has(r"divi %\w+, %\w+ signed : tile<16x32xi32>"),
    has(r"divi %\w+, %\w+ signed : tile<i32>"),
    same_as("break 'o", "break"),
    has(r"shape = \[16, (%\w+)\].*addi \1, "),
    has(r"constant <bf16: 1\.875"),
    has(r"divf [^\n]*rounding<approx> flush_to_zero"),
    one_token,
    has(r"atomic_rmw_tko acq_rel device %\w+, max, "),
)
"""How the Tile IR of each silent trap shows what happens."""


@pytest.mark.parametrize("number", range(len(SILENT)))
def test_what_the_guide_calls_silent_compiles_to_something_else(checked: Session, number: int) -> None:
    assert len(SIGNS) == len(SILENT)
    trap = SILENT[number]
    assert not refusal(checked, module_text(trap.wrong))
    wrong, right = tile_ir(checked, trap.wrong), tile_ir(checked, trap.instead)
    assert SIGNS[number](checked, trap.wrong, wrong), trap.happens
    assert wrong != right


def test_its_worked_kernels_are_proved(session: Session) -> None:
    document = Document(kernels())
    translated = translate_document(document)
    work = Work(document, translated.kernels, module=translated.module)
    reports = list(verify_files((work,), ("type-checked", "assembled", "proved"), session))
    assert len(reports) == 4
    for report in reports:
        assert {r.status for r in report.rungs.values()} == {RungStatus.PASSED}, (report.name, report.rungs)


def test_python_names_are_those_of_cutile_python() -> None:
    tile = pytest.importorskip("cuda.tile")
    named = {name for c in CONSTRUCTS for name in re.findall(r"ct\.(\w+)", c.python)}
    assert {name for name in named if not hasattr(tile, name)} == set()


def test_all_of_it_is_in_the_text() -> None:
    guide = target_guide()
    assert "{" + "kernels}" not in guide and len(guide) < 32_000
    for part in (*(c.rust for c in CONSTRUCTS), *(t.wrong for t in (*SILENT, *LOUD)), *(t.instead for t in SILENT)):
        assert part in guide

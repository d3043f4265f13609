"""`verify`, `run` and `demo` with a ladder of cardboard: tables, details, JSON and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from ferrotile.diagnostics.model import Diagnostic, Severity
from ferrotile.program.dtypes import F32
from ferrotile.signatures.model import ArrayArgument, GridFactor, Signature, Source
from ferrotile.syntax.document import Document
from ferrotile.syntax.span import Span
from ferrotile.translation import KernelTranslation, Options, SourceMap, UnsafeCount
from ferrotile_runner.report import KernelReport, Rung, RungResult, RungStatus, kernel_report
from ferrotile_runner.session import Session
from ferrotile_runner.verify import Work
from ferrotile_server.application import Application, EmptyTranslation
from ferrotile_server.cli import demo, verify
from ferrotile_server.cli.main import main

SIGNATURE = Signature("good", (ArrayArgument("x", F32, ("N",), Source.DIRECTIVE),), ((GridFactor("N", 1024),),))


def _kernel(document: Document, name: str, refused: bool) -> KernelTranslation:
    start = document.text.index(name)
    span = Span(start, start + len(name))
    error = Diagnostic("FT210", Severity.ERROR, "cuda.tile has no 'sigmoid'", span)
    return KernelTranslation(
        name=name,
        dialect="cutile",
        span=span,
        name_span=span,
        signature=None if refused else SIGNATURE,
        program=None,
        rust=None if refused else f"fn {name}() {{}}",
        entry=None,
        outputs=(),
        unsafe=UnsafeCount(1, 2),
        source_map=SourceMap(),
        diagnostics=(error,) if refused else (),
    )


def _translate(document: Document, options: Options) -> EmptyTranslation:
    names = [line.split()[1] for line in document.text.splitlines() if line.startswith("def ")]
    return EmptyTranslation(tuple(_kernel(document, name, name.startswith("no_")) for name in names))


@dataclass(frozen=True, slots=True)
class Ladder:
    """Stands for `verify_files`: the same results for every kernel."""

    results: dict[Rung, RungResult]

    def __call__(
        self,
        work: Sequence[Work],
        rungs: tuple[str, ...],
        session: Session,
        progress: Callable[[str], None],
        *,
        target: str,
    ) -> Iterator[KernelReport]:
        given = {rung: result for rung, result in self.results.items() if rung.value in rungs}
        for one in work:
            for kernel in one.kernels:
                yield kernel_report(one.document, kernel, given, file=one.file)


PASSED = RungResult(RungStatus.PASSED, "", 4.2)
GOOD = {
    Rung.TRANSLATED: PASSED,
    Rung.ASSEMBLED: RungResult(RungStatus.PASSED, "", 2345.0),
    Rung.PROVED: PASSED,
    Rung.SIMULATED: RungResult(RungStatus.SKIPPED, "no grid"),
}
WRONG = GOOD | {Rung.PROVED: RungResult(RungStatus.FAILED, "first difference:\naddf and subf")}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "norm.py"
    path.write_text("import cuda.tile as ct\n@ct.kernel\ndef good (x):\n    pass\n")
    return path


def use(monkeypatch: pytest.MonkeyPatch, results: dict[Rung, RungResult]) -> None:
    core = Application(translator=_translate)
    monkeypatch.setattr(verify, "verify_files", Ladder(results))
    monkeypatch.setattr(verify, "application", lambda arguments: core)
    monkeypatch.setattr(demo, "application", lambda arguments: core)


def test_table(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    use(monkeypatch, GOOD)
    assert main(["verify", str(file)]) == 0
    out = capsys.readouterr().out
    head = next(line for line in out.splitlines() if "kernel" in line)
    row = next(line for line in out.splitlines() if line.startswith("good"))
    assert head.split() == ["kernel", "signature", "proved/assumed", "translated", "assembled", "proved"]
    assert "x: f32[N], grid=(N/1024,)" in row
    assert "1/2" in row
    assert "passed 2.3 s" in row
    assert "skipped simulated: no grid (all kernels)" in out
    assert "\x1b" not in out


def test_failure_is_shown_as_one(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, WRONG)
    assert main(["verify", str(file)]) == 1
    out = capsys.readouterr().out
    assert "FAILED" in out
    assert f"{file}::good proved failed\n  first difference:\n  addf and subf" in out


def test_rungs_are_chosen(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    use(monkeypatch, WRONG)
    assert main(["verify", str(file), "--rungs", "assembled"]) == 0
    assert "proved failed" not in capsys.readouterr().out


def test_json(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    use(monkeypatch, WRONG)
    assert main(["verify", str(file), "--format", "json"]) == 1
    kernel = json.loads(capsys.readouterr().out)["kernels"][0]
    assert (kernel["file"], kernel["name"], kernel["line"]) == (str(file), "good", 3)
    assert kernel["rungs"]["proved"]["status"] == "failed"
    assert kernel["rungs"]["simulated"]["status"] == "skipped"


def test_a_missing_tool_is_a_broken_environment(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, GOOD | {Rung.PROVED: RungResult(RungStatus.SKIPPED, "no cuda-tile", broken=True)})
    assert main(["verify", str(file)]) == 2
    captured = capsys.readouterr()
    assert "skipped proved: no cuda-tile (all kernels)" in captured.out
    assert "tools are missing" in captured.err


def test_inputs_that_do_not_fit_are_wrong_use_and_lose_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = RungResult(RungStatus.SKIPPED, "inputs: y is missing: an array of f32[N]", broken=True)
    use(monkeypatch, GOOD | {Rung.SIMULATED: refused})
    (file.parent / "in.npz").write_bytes(b"")
    assert main(["verify", f"{file}::good", "--inputs", str(file.parent / "in.npz")]) == 2
    shown = capsys.readouterr()
    assert "passed 2.3 s" in shown.out
    assert shown.err.splitlines() == ["ferrotile: inputs: y is missing: an array of f32[N]"]


def test_inputs_belong_to_one_kernel_and_are_there(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, GOOD)
    assert main(["verify", f"{file}::good", "--inputs", str(file.parent / "none.npz")]) == 2
    assert "none.npz: no such file" in capsys.readouterr().err
    file.with_name("other.py").write_text(file.read_text())
    assert main(["verify", str(file.parent), "--inputs", str(file)]) == 2
    assert "--inputs is for one kernel: name it as FILE::KERNEL" in capsys.readouterr().err


def test_unknown_kernel_is_wrong_use(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, GOOD)
    assert main(["verify", f"{file}::gone"]) == 2
    assert "it has good" in capsys.readouterr().err


def test_run_is_the_simulated_rung(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, GOOD | {Rung.SIMULATED: RungResult(RungStatus.FAILED, "y[3]: 1.0 and 2.0")})
    assert main(["run", str(file)]) == 1
    out = capsys.readouterr().out
    assert "y[3]: 1.0 and 2.0" in out
    assert "assembled" not in out


def test_demo(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    use(monkeypatch, GOOD)
    (file.parent / "refused.py").write_text("import cuda.tile as ct\n@ct.kernel\ndef no_sigmoid (x):\n    pass\n")
    assert main(["demo", str(file.parent)]) == 0
    out = capsys.readouterr().out
    assert "no_sigmoid  FT210  3     cuda.tile has no 'sigmoid'" in out
    assert "1 kernel verified, 0 with a failed rung" in out


def test_demo_fails_when_a_bad_kernel_is_accepted(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, GOOD)
    file.rename(file.with_name("refused.py"))
    assert main(["demo", str(file.parent)]) == 1
    assert "should be refused" in capsys.readouterr().out

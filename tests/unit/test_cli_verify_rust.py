"""`verify --rust` with a ladder of cardboard: what is passed on, what is printed, exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import jsonschema
import pytest
from ferrotile.translation import KernelTranslation, Origin
from ferrotile_runner.candidate import CandidateError
from ferrotile_runner.report import Difference, KernelReport, Rung, RungResult, RungStatus, kernel_report
from ferrotile_runner.verify import Work
from ferrotile_server.application import Application
from ferrotile_server.cli import verify_rust
from ferrotile_server.cli.main import main
from msgspec.structs import replace
from test_cli_verify import GOOD, _translate

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs/schema/report.json").read_text(encoding="utf-8"))
NOT_OURS = RungResult(RungStatus.SKIPPED, "the Rust is not ferrotile's: written by hand\nB is TILE, by its place")
PASSED = RungResult(RungStatus.PASSED, "", 4.2)
FAILED = RungResult(RungStatus.FAILED, "the indices are exchanged")
UNORDERED = RungResult(
    RungStatus.FAILED, "no order", difference=Difference(None, None, "x: nothing orders the load before the store")
)
ALL = GOOD | {Rung.TRANSLATED: NOT_OURS, Rung.TYPE_CHECKED: PASSED, Rung.SIMULATED: PASSED}
PORT = "// ferrotile: norm.py::good\n// ferrotile: map a=alpha\n// ferrotile: grid N/4\nmod k {}\n"

Given = dict[str, object]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    python, rust = tmp_path / "norm.py", tmp_path / "port.rs"
    python.write_text("import cuda.tile as ct\n@ct.kernel\ndef good (x):\n    pass\n")
    rust.write_text(PORT)
    return f"{python}::good", str(rust)


def use(
    monkeypatch: pytest.MonkeyPatch, results: Mapping[Rung, RungResult], error: CandidateError | None = None
) -> list[Given]:
    """What `candidate_kernel` is given."""
    given: list[Given] = []

    def candidate(kernel: KernelTranslation, rust: str, session: object, **options: object) -> KernelTranslation:
        given.append({"rust": rust, **options})
        if error is not None:
            raise error
        return replace(kernel, origin=Origin.HAND, rust=rust)

    def ladder(work: tuple[Work, ...], *_: object, **__: object) -> Iterator[KernelReport]:
        for one in work:
            for kernel in one.kernels:
                yield kernel_report(one.document, kernel, results, file=one.file)

    monkeypatch.setattr(verify_rust, "candidate_kernel", candidate)
    monkeypatch.setattr(verify_rust, "verify_files", ladder)
    monkeypatch.setattr(verify_rust, "application", lambda arguments: Application(translator=_translate))
    return given


def test_a_port_that_passes(
    files: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = use(monkeypatch, ALL)
    assert main(["verify", files[0], "--rust", files[1]]) == 0
    out = capsys.readouterr().out
    assert out.endswith("is not ferrotile's own; it is proved to do what the Python does\n  B is TILE, by its place\n")
    assert "skipped translated" not in out
    assert given == [
        {"rust": PORT, "entry": None, "mapping": {"a": "alpha"}, "assume": (), "grid": "N/4", "origin": Origin.HAND}
    ]


def test_what_is_given_counts_more_than_comments(files: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    given = use(monkeypatch, ALL)
    options = ["--map", "a=b,x.shape[0]=n", "--map", "x.shape[0]=m", "--assume", "N = 8", "--grid", "N/8"]
    assert main(["verify", files[0], "--rust", f"{files[1]}", *options]) == 0
    assert given[0] | {"rust": ""} == {
        "rust": "",
        "entry": None,
        "mapping": {"a": "b", "x.shape[0]": "n,m"},
        "assume": ("N = 8",),
        "grid": "N/8",
        "origin": Origin.HAND,
    }
    assert main(["verify", files[0], "--rust", f"{files[1]}::second"]) == 0
    assert given[1] | {"rust": ""} == {
        "rust": "",
        "entry": "second",
        "mapping": {},
        "assume": (),
        "grid": "",
        "origin": Origin.HAND,
    }


@pytest.mark.parametrize(
    ("changed", "code", "words"),
    [
        ({Rung.PROVED: FAILED}, 0, "it is not proved, and made the Python's arrays in every launch that was tried"),
        ({Rung.PROVED: UNORDERED}, 1, "not shown to be the same as the Python"),
        ({Rung.PROVED: FAILED, Rung.SIMULATED: FAILED}, 1, "not shown to be the same as the Python"),
        ({Rung.SIMULATED: FAILED}, 1, "not shown to be the same as the Python"),
        ({Rung.TYPE_CHECKED: FAILED}, 1, "not shown to be the same as the Python"),
        ({Rung.PROVED: NOT_OURS, Rung.SIMULATED: NOT_OURS}, 1, "no rung that compares it with the Python was reached"),
    ],
)
def test_what_lets_a_port_pass(
    files: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changed: Mapping[Rung, RungResult],
    code: int,
    words: str,
) -> None:
    use(monkeypatch, ALL | dict(changed))
    assert main(["verify", files[0], "--rust", files[1]]) == code
    (said,) = [line for line in capsys.readouterr().out.splitlines() if "not ferrotile's own" in line]
    assert said.endswith(words)


def test_json_names_the_origin(
    files: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, ALL)
    assert main(["verify", files[0], "--rust", files[1], "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, SCHEMA)
    assert report["kernels"][0]["origin"] == "hand"


def test_a_refusal_is_at_its_line(
    files: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, ALL, CandidateError("`n` cannot be told", 4))
    assert main(["verify", files[0], "--rust", files[1]]) == 1
    assert f"ferrotile: {files[1]}:4: `n` cannot be told" in capsys.readouterr().err
    assert main(["verify", files[0], "--rust", files[1], "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, SCHEMA)
    (refused,) = report["diagnostics"]
    assert (refused["file"], refused["code"], refused["line"]) == (files[1], "FT508", 4)


def test_wrong_use(files: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    use(monkeypatch, ALL)
    python = files[0].partition("::")[0]
    Path(python).write_text(Path(python).read_text() + "@ct.kernel\ndef other (x):\n    pass\n")
    assert main(["verify", python, "--rust", files[1]]) == 2
    assert "--rust is for one kernel: name it as FILE.py::KERNEL" in capsys.readouterr().err
    assert main(["verify", files[0], "--map", "a=b"]) == 2
    assert "are for --rust" in capsys.readouterr().err
    assert main(["verify", files[0], "--rust", "missing.rs"]) == 2
    assert "missing.rs: no such file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["verify", files[0], "--rust", files[1], "--map", "a"])
    assert "'a' is not PYTHON=RUST" in capsys.readouterr().err

"""`ferrotile coverage`: rows, numbers, formats, what is kept, and kernels that take their process down."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import jsonschema
import pytest
import referencing
from ferrotile.translation import Options
from ferrotile_runner.coverage import measure as measuring
from ferrotile_runner.coverage.commit import commit_of
from ferrotile_runner.coverage.kernel_worker import Text
from ferrotile_runner.coverage.measure import Settings, measure
from ferrotile_runner.coverage.parallel import spread
from ferrotile_runner.coverage.rows import EntryRow, KernelRow, untranslated
from ferrotile_runner.coverage.store import Store, tool_digest
from ferrotile_runner.coverage.summary import summarise
from ferrotile_runner.coverage.types import check_types
from ferrotile_runner.process import Ending, ProcessError
from ferrotile_runner.report import Json, RungStatus
from ferrotile_runner.rungs.subject import ToolMissing
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import Toolchain
from ferrotile_runner.workers import kernels
from ferrotile_server.cli.coverage_refused import measured_at, refused_kernels, refused_rows
from ferrotile_server.cli.main import main

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "docs" / "schema"
NOTHING = Toolchain(None, None, None, None, None, None, None, None, False)

GOOD = """import cuda.tile as ct

# ferrotile: x: f32[N], y: f32[N], T=128, grid=(N/128,)
@ct.kernel
def good(x, y, T: ct.Constant[int]):
    ct.store(y, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(T,)))
"""
BAD = """

# ferrotile: x: f32[N], T=128, grid=(N/128,)
@ct.kernel
def bad(x, T: ct.Constant[int]):
    ct.store(x, index=(ct.bid(0),), tile=ct.nonsense(x))
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Store("now")


@pytest.fixture
def file(tmp_path: Path, store: Store) -> Path:
    path = tmp_path / "mixed.py"
    path.write_text(GOOD + BAD)
    return path


def validator() -> jsonschema.Draft202012Validator:
    schemas = {name: json.loads((SCHEMAS / name).read_text()) for name in ("coverage.json", "report.json")}
    resources = ((name, referencing.Resource.from_contents(schema)) for name, schema in schemas.items())
    registry: referencing.Registry[Mapping[str, object]] = referencing.Registry().with_resources(resources)
    return jsonschema.Draft202012Validator(schemas["coverage.json"], registry=registry)


def entry(
    name: str,
    *,
    unsafe: tuple[int, int] = (0, 0),
    forms: tuple[str, ...] = (),
    ms: float = 1.0,
    codes: tuple[str, ...] = (),
    **statuses: str,
) -> EntryRow:
    """A report with the given statuses (`translated`, `proved`); other rungs are skipped."""
    row = untranslated("f.py", name, 1, RungStatus.SKIPPED, "")
    rungs: dict[str, Json] = {
        rung: {"status": statuses.get(rung, "skipped"), "detail": "why", "ms": ms if rung == "translated" else 0.0}
        for rung in ("translated", "type-checked", "assembled", "proved", "simulated", "matched")
    }
    errors: list[Json] = [
        {"code": code, "severity": "error", "line": 1, "column": 1, "message": "wrong"} for code in codes
    ]
    report = {
        **row.report,
        "rungs": rungs,
        "unsafe": {"proved": unsafe[0], "assumed": unsafe[1]},
        "outputs": [{"name": "y", "form": form, "reason": ""} for form in forms],
        "diagnostics": errors,
    }
    return EntryRow(report, "fn" if statuses["translated"] == "passed" else None)


def kernel(name: str, *entries: EntryRow) -> KernelRow:
    return KernelRow("f.py", name, 7, 0, entries)


ROWS = (
    kernel("a", entry("a", translated="passed", proved="passed", forms=("owned", "owned"), ms=4.0)),
    kernel(
        "b",
        entry("b", translated="passed", proved="passed", unsafe=(2, 0), forms=("full",)),
        entry("b", translated="passed", proved="failed", unsafe=(0, 1), forms=("owned",)),
    ),
    kernel("c", entry("c", translated="passed"), entry("c", translated="failed", codes=("FT203", "FT203", "FT301"))),
    kernel("d", entry("d", translated="failed", codes=("FT203",), ms=10.0)),
    kernel("e", untranslated("f.py", "e", 9, RungStatus.TIMEOUT, "no answer after 60 s")),
)


def test_a_kernel_counts_once_with_the_worst_of_its_signatures() -> None:
    found = summarise(ROWS, ("proved",), files=1)
    assert (found.kernels, found.entries, found.partly) == (5, 7, 1)
    assert found.rungs["translated"] == {"passed": 2, "failed": 2, "skipped": 0, "timeout": 1, "crashed": 0}
    assert found.rungs["proved"] == {"passed": 1, "failed": 1, "skipped": 1, "timeout": 0, "crashed": 0}
    assert set(found.rungs) == {"translated", "proved"}


def test_refusals_count_kernels_not_errors() -> None:
    found = summarise(ROWS, (), files=1).refusals
    assert [(r.code, r.kernels) for r in found] == [("FT203", ("f.py::c:7", "f.py::d:7")), ("FT301", ("f.py::c:7",))]


def test_unsafe_is_counted_over_translated_kernels() -> None:
    found = summarise(ROWS, (), files=1).unsafe
    assert (found.kernels, found.none, found.none_assumed, found.proved, found.assumed) == (3, 2, 2, 2, 1)


def test_forms_and_times() -> None:
    found = summarise(ROWS, (), files=1)
    assert found.forms == {"owned": 3, "full": 1}
    assert found.median_ms == 2.0, "of 4, 2, 2, 10 and 0"
    assert found.slowest[0] == ("f.py::d", 10.0)


def test_text(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", str(file)]) == 1, "a kernel is refused"
    out = capsys.readouterr().out
    assert "2 kernels in 1 file, 2 signatures" in out
    assert "translated  1       50.0 %  1" in out
    assert f"{file.name}::bad:11" in out
    assert "FT210" in out


def test_json_fits_the_schema(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", str(file), "--format", "json", "--unsafe", "both"]) == 1
    made = json.loads(capsys.readouterr().out)
    validator().validate(made)
    assert made["summary"]["unsafe_never"]["kernels"] == 1
    assert [k["name"] for k in made["kernels"]] == ["good", "bad"]
    assert made["options"]["rungs"] == ["translated"]


def test_the_schema_is_strict(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["coverage", str(file), "--format", "json"])
    made = json.loads(capsys.readouterr().out)
    made["kernels"][0]["rungs"]["proved"]["status"] = "perhaps"
    with pytest.raises(jsonschema.ValidationError):
        validator().validate(made)


def test_markdown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", str(file), "--format", "markdown"]) == 1
    out = capsys.readouterr().out
    assert "| translated | 1 | 50.0 % | 1 | 0 | 0 | 0 |" in out
    assert "## Refused" in out


def test_a_kernel_alone_is_wrong_use(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", f"{file}::good"]) == 2
    assert "name the file alone" in capsys.readouterr().err


def test_without_tools_the_environment_is_broken(store: Store) -> None:
    settings = Settings(Options(), ("assembled", "proved"), seconds=60)
    (row,) = measure([Text("f.py", GOOD)], settings, NOTHING, store=store).rows
    assert row.entries[0].status("translated") is RungStatus.PASSED


def test_syntax_errors_are_problems_and_hide_no_kernel(store: Store) -> None:
    found = measure([Text("f.py", GOOD + "\ndef broken(:\n")], Settings(Options()), NOTHING, store=store)
    assert [row.name for row in found.rows] == ["good"]
    ((name, message),) = found.problems
    assert name == "f.py" and "FT001" in message


# A worker that does as the kernel's name says.
TROUBLE = """
import json, os, signal, sys, time
sys.path[:0] = sys.argv[1:]
from ferrotile_runner.workers import kernels
class Worker(kernels.Worker):
    def _entries(self, document, index, options, path):
        name = self._kernels(document)["kernels"][index]["name"]
        if name == "hangs": time.sleep(600)
        if name == "dies": os.kill(os.getpid(), signal.SIGKILL)
        if name == "raises": raise RecursionError("too deep")
        return super()._entries(document, index, options, path)
worker = Worker()
for line in sys.stdin:
    print(json.dumps(kernels.reply(worker, json.loads(line))), flush=True)
"""


def test_a_crash_or_a_hang_is_one_row(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trouble.py").write_text(TROUBLE)
    monkeypatch.setattr(kernels, "__file__", str(tmp_path / "trouble.py"))
    names = ("first", "hangs", "second", "dies", "third", "raises", "last")
    text = GOOD.split("# ferrotile")[0] + "".join(
        "# ferrotile" + GOOD.split("# ferrotile")[1].replace("good", name) + "\n" for name in names
    )
    found = measure([Text("f.py", text)], Settings(Options(), seconds=2), NOTHING, store=store)
    assert {row.name: row.status("translated").value for row in found.rows} == {
        "first": "passed",
        "hangs": "timeout",
        "second": "passed",
        "dies": "crashed",
        "third": "passed",
        "raises": "crashed",
        "last": "passed",
    }
    details = {row.name: row.entries[0].detail("translated") for row in found.rows}
    assert "no answer after 2 s" in details["hangs"]
    assert "SIGKILL" in details["dies"]
    assert "RecursionError: too deep" in details["raises"]


class Counter:
    """Stands for the workers, and counts what is asked of them."""

    def __init__(self) -> None:
        self.translated: list[int] = []


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter]:
    made = Counter()
    original = measuring.KernelWorker.translate

    def translate(self: measuring.KernelWorker, text: Text, index: int) -> tuple[EntryRow, ...]:
        made.translated.append(index)
        return original(self, text, index)

    monkeypatch.setattr(measuring.KernelWorker, "translate", translate)
    yield made


def test_results_are_kept_by_content(store: Store, counter: Counter) -> None:
    settings = Settings(Options())
    first = measure([Text("f.py", GOOD + BAD)], settings, NOTHING, store=store)
    assert counter.translated == [0, 1]
    again = measure([Text("moved.py", GOOD + BAD)], settings, NOTHING, store=store)
    assert counter.translated == [0, 1], "nothing is done again"
    assert [row.node for row in again.rows] == ["moved.py::good", "moved.py::bad"]
    assert [e.report["file"] for row in again.rows for e in row.entries] == ["moved.py", "moved.py"]
    assert [r.status("translated") for r in first.rows] == [r.status("translated") for r in again.rows]
    measure([Text("f.py", GOOD + BAD)], Settings(Options(unsafe="never")), NOTHING, store=store)
    assert counter.translated == [0, 1, 0, 1], "other options"
    measure([Text("f.py", GOOD + BAD + "\n")], settings, NOTHING, store=store)
    assert counter.translated == [0, 1] * 3, "other text"
    measure([Text("f.py", GOOD + BAD)], Settings(Options(), fresh=True), NOTHING, store=store)
    assert counter.translated == [0, 1] * 4, "asked to"


def test_a_result_is_final_unless_a_process_or_a_tool_was_lost() -> None:
    row = entry("a", translated="passed")
    assert row.with_result("proved", RungStatus.FAILED, "").tried == {"proved"}
    for status in (RungStatus.CRASHED, RungStatus.TIMEOUT):
        assert row.with_result("proved", status, "").tried == frozenset()
    lacking = row.with_result("proved", RungStatus.SKIPPED, "no cuda-tile", broken=True)
    assert lacking.tried == frozenset() and lacking.broken == {"proved"}


def test_other_compilers_are_other_results() -> None:
    assert tool_digest(NOTHING) != tool_digest(Toolchain(None, None, None, None, None, None, None, None, True))


def test_a_store_without_a_folder_forgets(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store("now", tmp_path / "file" / "below")
    store.put(("a",), {"x": 1})
    assert store.get(("a",)) is None
    assert "results are not kept" in store.unusable


def test_a_damaged_record_is_as_none(tmp_path: Path) -> None:
    store = Store("now", tmp_path)
    store.put(("a",), {"x": 1})
    assert store.get(("a",)) == {"x": 1}
    assert Store("then", tmp_path).get(("a",)) is None
    (written,) = tmp_path.rglob("*.json")
    written.write_text('{"x":')
    assert store.get(("a",)) is None


def test_results_of_old_versions_go(tmp_path: Path) -> None:
    for generation, days in (("old", 15), ("young", 13)):
        Store(generation, tmp_path).put(("a",), {"x": 1})
        used = time.time() - days * 24 * 3600
        os.utime(tmp_path / generation, (used, used))
    Store("now", tmp_path)
    assert [folder.name for folder in tmp_path.iterdir()] == ["young"]


class Fragile(Session):
    """A `cargo` that says nothing at all once one of the texts is `poison`."""

    def check_types(self, texts: object, cancel: threading.Event | None = None) -> None:
        assert isinstance(texts, list | tuple)
        if "poison" in texts:
            raise ProcessError(Ending.CRASHED, "cargo ended with status 101")
        for text in texts:
            self.know_types(text, ())


def test_a_text_that_takes_the_compiler_down_is_found() -> None:
    texts = ["a", "b", "poison", "c", "d"]
    found = check_types(Fragile(NOTHING), texts, threading.Event())
    assert found.pop("poison") == (RungStatus.CRASHED, "cargo ended with status 101")
    assert found == dict.fromkeys("abcd", ())


def test_without_cargo_no_text_is_to_blame() -> None:
    with pytest.raises(ToolMissing):
        check_types(Session(NOTHING), ["a"], threading.Event())


class Hand:
    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


def test_work_is_spread_and_each_item_done_once() -> None:
    done: list[int] = []
    lock = threading.Lock()

    def do(_hand: Hand, item: int) -> None:
        with lock:
            done.append(item)

    spread([Hand(), Hand()], range(100), do, threading.Event())
    assert sorted(done) == list(range(100))


def test_a_fault_ends_the_spread() -> None:
    def do(_hand: Hand, item: int) -> None:
        raise ValueError(str(item))

    cancel = threading.Event()
    with pytest.raises(ValueError, match="0"):
        spread([Hand()], range(3), do, cancel)
    assert cancel.is_set()


def test_every_refused_kernel_is_named_by_reason(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", str(file), "--refused", "--format", "markdown"]) == 1
    head, *table = capsys.readouterr().out.splitlines()
    assert head.startswith("1 of 2 kernels are refused; ferrotile ")
    (row,) = [line for line in table if "::" in line]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[0].startswith("FT210 ") and cells[1] == "1" and cells[3:5] == ["1 of 1", "known"]
    line = next(number for number, text in enumerate((GOOD + BAD).splitlines(), start=1) if "ct.nonsense" in text)
    assert cells[2] == f"{file}::bad:{line}"


def test_refused_kernels_stand_in_groups_the_largest_first() -> None:
    found = refused_kernels(ROWS)
    named = [(r.code, r.place.split(":")[2], r.refused, r.entries) for r in found]
    assert named == [("FT203", "c", 1, 2), ("FT203", "d", 1, 1)]
    assert [row[:2] for row in refused_rows(found)] == [("FT203 Types do not combine", "2"), ("", "")]


def test_the_commit_is_read_without_git(tmp_path: Path) -> None:
    commit, other = "0123456789" * 4, "abcdef0123" * 4
    git = tmp_path / "kernels" / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    file = tmp_path / "kernels" / "a" / "b.py"
    assert commit_of(file) is None
    (git / "HEAD").write_text(f"{commit}\n")
    assert commit_of(file) == (tmp_path / "kernels", commit)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text(f"# pack-refs with: peeled\n{other} refs/heads/main\n")
    assert commit_of(file) == (tmp_path / "kernels", other)
    (git / "refs" / "heads" / "main").write_text(f"{commit}\n")
    assert commit_of(file) == (tmp_path / "kernels", commit)
    worktree = tmp_path / "tree"
    (git / "worktrees" / "tree").mkdir(parents=True)
    (git / "worktrees" / "tree" / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "worktrees" / "tree" / "commondir").write_text("../..\n")
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {git / 'worktrees' / 'tree'}\n")
    assert commit_of(worktree / "b.py") == (worktree, commit)
    assert measured_at([str(tmp_path / "kernels")]) == ("kernels at 012345678901",)

"""The application core, with the real translator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Event

from ferrotile.syntax.document import Document
from ferrotile.translation import KernelTranslation, Options
from ferrotile_runner.report import KernelReport, Rung, RungResult, RungStatus, kernel_report
from ferrotile_server.application import MARK, Analysis, Application, Progress

KERNEL = """
# ferrotile: x: f32[N], y: f32[N], T=256, grid=(N/T,)
@ct.kernel
def {name}(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(T,)) * SCALE)
"""
HEAD = "import cuda.tile as ct\n\nSCALE = 2.0\n"
TEXT = HEAD + "".join(KERNEL.format(name=name) for name in ("one", "two", "three"))


def analysed(text: str) -> tuple[Application, Analysis]:
    application = Application()
    return application, application.check_document(Document(text))


def test_a_filter_of_several_kernels_renders_those_alone() -> None:
    application, analysis = analysed(TEXT)
    assert analysis.kernel_names == ("one", "two", "three")
    text = application.rust_file(analysis, "k", ("one", "three"))
    assert text is not None
    assert text.startswith(MARK)
    assert [name for name in analysis.kernel_names if f"fn {name}(" in text or f"fn {name}<" in text] == [
        "one",
        "three",
    ]
    every = application.rust_file(analysis, "k")
    assert every is not None
    assert all(f"fn {name}" in every for name in analysis.kernel_names)
    assert application.rust_file(analysis, "k", ("four",)) is None


def test_a_digest_rests_on_the_kernel_and_on_what_it_may_use() -> None:
    _, before = analysed(TEXT)
    _, moved = analysed("# a comment above\n" + TEXT)
    _, helper = analysed(TEXT.replace("SCALE = 2.0", "SCALE = 3.0"))
    _, other = analysed(TEXT + KERNEL.format(name="four"))
    _, own = analysed(TEXT.replace("* SCALE", "+ SCALE", 1))
    assert moved.digest("one") == before.digest("one")
    assert other.digest("one") == before.digest("one")
    assert helper.digest("one") != before.digest("one")
    assert own.digest("one") != before.digest("one")
    assert own.digest("two") == before.digest("two")
    elsewhere = Analysis(before.document, before.translation, Options(target="sm_100"))
    assert elsewhere.digest("one") != before.digest("one"), "a verdict is for one target"


def test_verify_hands_all_named_kernels_to_one_climb_and_gives_reports_one_by_one() -> None:
    climbs: list[list[str]] = []
    given: list[str] = []

    def verifier(
        analysis: Analysis,
        kernels: Sequence[KernelTranslation],
        rungs: Sequence[str],
        progress: Progress,
        cancel: Event,
    ) -> Iterator[KernelReport]:
        climbs.append([k.name for k in kernels])
        for kernel in kernels:
            given.append(kernel.name)
            yield kernel_report(analysis.document, kernel, {Rung.PROVED: RungResult(RungStatus.PASSED)})

    application = Application(verifier=verifier)
    analysis = application.check_document(Document(TEXT))
    reports = application.verify(analysis, ("one", "three"))
    assert next(reports).name == "one"
    assert (climbs, given) == ([["one", "three"]], ["one"])
    assert [r.name for r in reports] == ["three"]
    verdict = application.record(
        "file:///k.py",
        analysis,
        "one",
        [kernel_report(analysis.document, analysis.named("one")[0], {Rung.PROVED: RungResult(RungStatus.PASSED)})],
    )
    assert verdict.line == "proved"
    edited = application.check_document(Document(TEXT.replace("* SCALE", "+ SCALE", 1)))
    assert application.verdict("file:///k.py", analysis, "one") == (verdict, True)
    assert application.verdict("file:///k.py", edited, "one") == (verdict, False)

"""One row a kernel: its report under each signature, as plain JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ferrotile_runner import json_values as read
from ferrotile_runner.report import Json, Rung, RungStatus

WORST = (RungStatus.CRASHED, RungStatus.TIMEOUT, RungStatus.FAILED, RungStatus.SKIPPED, RungStatus.PASSED)
"""What a kernel with several signatures reached: the worst of its entries."""


class EntryRow(Struct, frozen=True):
    """A kernel under one signature. `report` is an element of `kernels` in `docs/schema/report.json`; `rust` is None
    where it was refused; `tried` are the rungs whose results are final, and `broken` those that this machine lacks a
    tool for."""

    report: Mapping[str, Json]
    rust: str | None
    tried: frozenset[str] = frozenset()
    broken: frozenset[str] = frozenset()

    def status(self, rung: str) -> RungStatus:
        result = read.mapping(read.mapping(self.report["rungs"])[rung])
        return RungStatus(read.text(result["status"]))

    def detail(self, rung: str) -> str:
        return read.text(read.mapping(read.mapping(self.report["rungs"])[rung])["detail"])

    def ms(self, rung: str) -> float:
        return read.number(read.mapping(read.mapping(self.report["rungs"])[rung])["ms"])

    @property
    def diagnostics(self) -> tuple[Mapping[str, object], ...]:
        return tuple(map(read.mapping, read.items(self.report["diagnostics"])))

    def with_report(self, rung: str, other: Mapping[str, object], broken: bool = False) -> EntryRow:
        """This row and what another report of the kernel says about `rung`."""
        known = self.diagnostics
        new = [d for d in map(read.mapping, read.items(other["diagnostics"])) if d not in known]
        result = read.mapping(read.mapping(other["rungs"])[rung])
        return self._with(rung, result, new, broken)

    def with_result(
        self, rung: str, status: RungStatus, detail: str, ms: float = 0.0, broken: bool = False
    ) -> EntryRow:
        """This row and a result that was made here, since no worker could."""
        return self._with(rung, {"status": status.value, "detail": detail, "ms": round(ms, 3)}, [], broken)

    def _with(
        self, rung: str, result: Mapping[str, object], new: Iterable[Mapping[str, object]], broken: bool
    ) -> EntryRow:
        rungs = {**read.mapping(self.report["rungs"]), rung: result}
        report = {**self.report, "rungs": rungs, "diagnostics": [*self.diagnostics, *new]}
        status = RungStatus(read.text(result["status"]))
        # What a crash, a lack of time or of a tool prevented is tried again in the next run.
        final = not broken and status not in (RungStatus.CRASHED, RungStatus.TIMEOUT)
        return replace(
            self,
            report=as_json(report),
            tried=self.tried | {rung} if final else self.tried,
            broken=self.broken | {rung} if broken else self.broken,
        )


class KernelRow(Struct, frozen=True):
    """`index` counts the kernels of the file. There is at least one entry."""

    file: str
    name: str
    line: int
    index: int
    entries: tuple[EntryRow, ...]

    @property
    def node(self) -> str:
        """`FILE::KERNEL`."""
        return f"{self.file}::{self.name}"

    @property
    def translated(self) -> tuple[EntryRow, ...]:
        """The entries that have Rust."""
        return tuple(e for e in self.entries if e.status(Rung.TRANSLATED) is RungStatus.PASSED)

    def status(self, rung: str) -> RungStatus:
        """Of all entries; above `translated`, of those that are translated."""
        counted = self.entries if rung == Rung.TRANSLATED else self.translated
        found = {e.status(rung) for e in counted} or {RungStatus.SKIPPED}
        return next(status for status in WORST if status in found)


def as_json(value: object) -> dict[str, Json]:
    """A decoded JSON object with its type."""

    def typed(part: object) -> Json:
        match part:
            case None | bool() | int() | float() | str():
                return part
            case dict():
                return {str(k): typed(v) for k, v in part.items()}
            case list() | tuple():
                return [typed(v) for v in part]
            case _:
                raise ValueError(f"not JSON: {part!r}")

    return {key: typed(part) for key, part in read.mapping(value).items()}


def untranslated(file: str, name: str, line: int, status: RungStatus, detail: str) -> EntryRow:
    """The row of a kernel whose translation crashed or took too long."""
    skipped: dict[str, Json] = {"status": "skipped", "detail": "not translated", "ms": 0.0}
    rungs: dict[str, Json] = {rung.value: skipped for rung in Rung}
    rungs[Rung.MATCHED.value] = {**skipped, "time_ratio": None}
    rungs[Rung.TRANSLATED.value] = {"status": status.value, "detail": detail, "ms": 0.0}
    report: dict[str, Json] = {
        "file": file,
        "name": name,
        "line": line,
        "dialect": "cutile",
        "signature": "",
        "entry": None,
        "origin": "rules",
        "unsafe": {"proved": 0, "assumed": 0},
        "outputs": [],
        "rungs": rungs,
        "diagnostics": [],
    }
    return EntryRow(report, None)

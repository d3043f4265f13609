"""Client of `ferrotile-host`: cuTile Rust text to Tile IR bytecode, bytecode to cubin."""

from __future__ import annotations

import base64
import threading
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ferrotile_runner import json_values as read
from ferrotile_runner.compile_error import CompileError
from ferrotile_runner.process import Command, Ending, JsonProcess, ProcessError, RpcError
from ferrotile_runner.toolchain import Toolchain

BYTECODE_VERSION = "13.3"
"""The newest version that both compilers write and that needs no 13.4 feature."""

READ_SECONDS = 10.0
COMPILE_SECONDS = 60.0
ASSEMBLE_SECONDS = 300.0


class HostError(CompileError):
    """cuTile Rust or the assembler refused the kernel; the place is in the kernel's text."""


class CheckCounts(Struct, frozen=True):
    """Bounds checks: proven away, moved before a loop, left where they are."""

    discharged: int
    hoisted: int
    in_place: int


class Atom(Struct, frozen=True):
    """A quantity of a launch. `kind`: `shape` or `view` (extent of an axis of a parameter), `tiles`
    (`ceil(shape/tile)`), `grid` (blocks along `axis`); `parameter` counts the entry's parameters from 0."""

    kind: str
    axis: int
    parameter: int | None = None
    tile: int | None = None


class LaunchCheck(Struct, frozen=True):
    """What must hold at launch for the kernel to be safe: `sum(coefficient * atom) + constant relation 0`,
    where relation is `==`, `!=`, `>`, or `divides` (the sum is a multiple of `divisor`). `predicate` says the
    same for people."""

    predicate: str
    cause: str
    relation: str
    terms: tuple[tuple[int, Atom], ...]
    constant: int
    divisor: int | None


class Specialization(Struct, frozen=True):
    """What one tensor is assumed to be divisible by: extents and strides in elements (one an axis), pointer
    in bytes."""

    shape_div: tuple[int, ...]
    stride_div: tuple[int, ...]
    ptr_div: int = 1


class CompiledRust(Struct, frozen=True):
    """Tile IR bytecode of one entry, named `{entry}_entry` in it, for `target`; `ms` is the compiler's time. `needs`
    is what this target has and the one first asked for lacks."""

    bytecode: bytes
    bytecode_version: str
    check_counts: CheckCounts
    launch_checks: tuple[LaunchCheck, ...]
    ms: float
    target: str
    needs: str | None = None


def _launch_check(value: object) -> LaunchCheck:
    check = read.mapping(value)
    term = read.mapping(check["term"])
    terms: list[tuple[int, Atom]] = []
    for entry in map(read.mapping, read.items(term["atoms"])):
        atom = read.mapping(entry["atom"])
        parameter, tile = read.integer_or_none(atom.get("parameter")), read.integer_or_none(atom.get("tile"))
        axis = read.integer(atom.get("axis", 0))
        terms.append((read.integer(entry["coefficient"]), Atom(read.text(atom["kind"]), axis, parameter, tile)))
    return LaunchCheck(
        predicate=read.text(check["predicate"]),
        cause=read.text(check["cause"]),
        relation=read.text(check["relation"]),
        terms=tuple(terms),
        constant=read.integer(term["constant"]),
        divisor=read.integer_or_none(check["divisor"]),
    )


def _host_error(error: RpcError) -> HostError:
    line, column = error.data.get("line"), error.data.get("column")
    return HostError(error.message, read.integer_or_none(line), read.integer_or_none(column))


class HostClient:
    """A running `ferrotile-host`. Methods raise `HostError` for a refused kernel and `ProcessError` for a
    crash, a time-out or a cancel; the next call then starts a new process. Safe to share between threads."""

    def __init__(self, toolchain: Toolchain) -> None:
        if toolchain.host is None:
            raise ProcessError(Ending.MISSING, "ferrotile-host is not built; run `ferrotile setup`")
        self._process = JsonProcess(Command((str(toolchain.host),), toolchain.environment))

    def version(self) -> Mapping[str, object]:
        """`{host, cutile, bytecode_versions}`."""
        return self._process.call("version", {}, 10.0)

    def entries(
        self, text: str, *, seconds: float = READ_SECONDS, cancel: threading.Event | None = None
    ) -> Mapping[str, object]:
        """What the kernels of a Rust file are, and what of them is refused; nothing is compiled.
        `candidate_file.rust_file` reads the answer."""
        try:
            return self._process.call("entries", {"text": text}, seconds, cancel)
        except RpcError as error:
            raise _host_error(error) from None

    def compile(
        self,
        text: str,
        module: str | None,
        entry: str,
        generics: Sequence[str],
        strides: Mapping[str, Sequence[int]],
        target: str,
        bytecode_version: str = BYTECODE_VERSION,
        *,
        specialization: Mapping[str, Specialization] | None = None,
        seconds: float = COMPILE_SECONDS,
        cancel: threading.Event | None = None,
    ) -> CompiledRust:
        """Compiles `entry` of the kernel `text` (`#[cutile::module] mod ... { }`). `module` may be None when
        the text has one module. `generics` are the const arguments in order, as Rust text. `strides` has
        every tensor parameter at full rank: 1 for unit stride, -1 for a run-time word. `target` is like
        `sm_90`."""
        divisors = {
            name: {"shape_div": list(s.shape_div), "stride_div": list(s.stride_div), "ptr_div": s.ptr_div}
            for name, s in (specialization or {}).items()
        }
        params = {
            "text": text,
            "module": module,
            "entry": entry,
            "generics": list(generics),
            "strides": {name: list(values) for name, values in strides.items()},
            "specialization": divisors,
            "target": target,
            "bytecode_version": bytecode_version,
        }
        try:
            result = self._process.call("compile", params, seconds, cancel)
        except RpcError as error:
            raise _host_error(error) from None
        counts = read.mapping(result["check_counts"])
        return CompiledRust(
            bytecode=read.binary(result["bytecode"]),
            bytecode_version=read.text(result["bytecode_version"]),
            check_counts=CheckCounts(*(read.integer(counts[name]) for name in ("discharged", "hoisted", "in_place"))),
            launch_checks=tuple(map(_launch_check, read.items(result["launch_checks"]))),
            ms=read.number(result["ms"]),
            target=target,
        )

    def assemble(
        self,
        bytecode: bytes,
        target: str,
        *,
        seconds: float = ASSEMBLE_SECONDS,
        cancel: threading.Event | None = None,
    ) -> bytes:
        """The cubin of Tile IR `bytecode`, from either compiler, for `target` (`sm_90`)."""
        params = {"bytecode": base64.b64encode(bytecode).decode(), "target": target}
        try:
            result = self._process.call("assemble", params, seconds, cancel)
        except RpcError as error:
            raise _host_error(error) from None
        return read.binary(result["cubin"])

    def close(self) -> None:
        self._process.close()

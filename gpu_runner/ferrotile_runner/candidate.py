"""Rust that ferrotile did not write, as a translation of a Python kernel: ready for the ladder, which decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ferrotile.diagnostics.model import Severity
from ferrotile.translation import KernelTranslation, Origin, SourceMap, UnsafeCount

from ferrotile_runner.candidate_error import CandidateError, NoEntry
from ferrotile_runner.candidate_file import MOST_BYTES, chosen, rust_file, seen_by_compilers
from ferrotile_runner.candidate_launch import launch_of
from ferrotile_runner.candidate_match import match
from ferrotile_runner.host import HostError
from ferrotile_runner.process import Ending, ProcessError
from ferrotile_runner.report import KernelReport, Rung, RungStatus
from ferrotile_runner.rungs.subject import RungSkipped
from ferrotile_runner.session import Session
from ferrotile_runner.tileir.refinement import UNORDERED

__all__ = ["CandidateError", "NoEntry", "accepted", "candidate_kernel"]

NOTHING: Mapping[str, str] = MappingProxyType({})


def candidate_kernel(
    kernel: KernelTranslation,
    rust: str,
    session: Session,
    *,
    entry: str | int | None = None,
    mapping: Mapping[str, str] = NOTHING,
    origin: Origin = Origin.HAND,
    assume: Sequence[str] = (),
    grid: str = "",
) -> KernelTranslation:
    """`rust`, a file's text, in place of the translation of `kernel`, which may be one that the rules refuse, as long
    as its signature is known. Reads the text, compiles nothing. Raises CandidateError.

    `entry`: `name` or `module::name`, needed where there are several, or the line above it. `mapping`: what of the
    Python each parameter or generic of the Rust is, where that cannot be told: an argument's name, `x.shape[0]`,
    `x.stride[0]` or a number -> the Rust's name, several between commas. `assume`: facts about every launch, to which
    the claim is narrowed: `N = 1024`, `cdiv(N, 256) = 1`. `grid`: of the Rust's launch, in the words of a directive,
    where it is neither that of an output's tiles nor the Python's."""
    if kernel.signature is None:
        raise CandidateError(
            f"the signature of `{kernel.name}` is not known: add a `# ferrotile:` directive to the Python"
        )
    if len(rust.encode()) > MOST_BYTES:
        raise CandidateError(f"the Rust is longer than {MOST_BYTES // 1024} KiB, which no file of kernels is")
    try:
        file = rust_file(session.host().entries(rust))
    except HostError as error:
        raise CandidateError(error.message, error.line) from error
    except RungSkipped as error:
        raise CandidateError(str(error)) from error
    except ProcessError as error:
        if error.ending is Ending.CRASHED:
            raise CandidateError("the Rust cannot be read: the reader ends abnormally on it") from error
        raise CandidateError(str(error)) from error
    module, found = chosen(file, entry)
    if module.refused:
        first = module.refused[0]
        more = f" (and {len(module.refused) - 1} more)" if len(module.refused) > 1 else ""
        raise CandidateError(f"no compiler is given this: {first.words}{more}", first.line)
    outputs = frozenset(o.name for o in kernel.outputs) or None
    matching = match(found, kernel.signature, outputs, mapping)
    own = () if kernel.entry is None else kernel.entry.hypotheses
    launch = launch_of(module, found, matching, kernel.signature, own, assume, grid)
    return KernelTranslation(
        name=kernel.name,
        dialect=kernel.dialect,
        span=kernel.span,
        name_span=kernel.name_span,
        signature=kernel.signature,
        program=kernel.program,
        rust=seen_by_compilers(rust, file, module),
        entry=launch.entry,
        outputs=(),
        unsafe=UnsafeCount(0, module.unsafe_blocks),
        source_map=SourceMap(),
        diagnostics=tuple(d for d in kernel.diagnostics if d.severity is not Severity.ERROR),
        readings=kernel.readings,
        origin=origin,
        inferred=(*matching.words, *launch.words),
    )


def accepted(report: KernelReport) -> bool:
    """Whether the ladder lets Rust of another origin pass: both compilers take it, it is proved, or at least simulated
    or matched with no difference, and nothing but a proof was tried in vain. A proof that fails while simulations agree
    tells of Rust that is written otherwise than any rule of the prover knows; but where it misses an order of accesses
    no simulation makes up for that."""
    proof = report.rungs.get(Rung.PROVED)
    if proof is not None and proof.difference is not None and UNORDERED in proof.difference.words:
        return False
    status = {rung: report.rungs[rung.value].status for rung in Rung if rung.value in report.rungs}
    tried = {rung for rung, found in status.items() if found not in (RungStatus.PASSED, RungStatus.SKIPPED)}
    same = (Rung.PROVED, Rung.SIMULATED, Rung.MATCHED)
    return tried <= {Rung.PROVED} and any(status.get(rung) == RungStatus.PASSED for rung in same)

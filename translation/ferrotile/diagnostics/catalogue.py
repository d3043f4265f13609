"""Every diagnostic of ferrotile: one row a code. `docs/diagnostics/FT###.md` holds the page of each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from ferrotile.diagnostics.model import Diagnostic, Fix, Severity
from ferrotile.syntax.span import Span

_E, _W, _I, _H = Severity.ERROR, Severity.WARNING, Severity.INFORMATION, Severity.HINT


class Entry(Struct, frozen=True):
    """`action` is what the author does next; `page` is the documentation page, relative to the repository."""

    code: str
    severity: Severity
    title: str
    action: str

    @property
    def page(self) -> str:
        return f"docs/diagnostics/{self.code}.md"


_ROWS = (
    # The file
    Entry(
        "FT001",
        _E,
        "Python syntax error",
        "Correct the syntax; the other items of the file are still translated.",
    ),
    Entry("FT002", _E, "File not UTF-8 or too large", "Save the file as UTF-8, or split it below 8 MiB."),
    # Signatures
    Entry("FT101", _W, "Element type unknown", "Name the dtype in a `# ferrotile:` directive above the kernel."),
    Entry(
        "FT102",
        _W,
        "Rank unknown",
        "Give the array's extents in a `# ferrotile:` directive above the kernel.",
    ),
    Entry("FT103", _W, "Constant's value unknown", "Give the constant a value in a `# ferrotile:` directive."),
    Entry(
        "FT104",
        _E,
        "Directive not understood",
        "Write it as `# ferrotile: x: f16[M, K], TM=128, grid=(M/TM)`.",
    ),
    Entry("FT105", _E, "Directive contradicts the code", "Make the directive and the code agree."),
    Entry("FT106", _H, "Grid unknown", "Give `grid=(...)` in a directive, so that more stores are proved owned."),
    Entry(
        "FT107",
        _I,
        "More launch configurations than translated",
        "Nothing to do; a directive chooses the signature that you want to see.",
    ),
    # Python that cuTile rejects
    Entry(
        "FT201",
        _E,
        "Syntax that cuTile does not support",
        "Rewrite the statement with what tile code allows.",
    ),
    Entry("FT202", _E, "Undefined name", "Define or import the name, or correct its spelling."),
    Entry("FT203", _E, "Types do not combine", "Convert one operand with `.astype(...)`."),
    Entry("FT204", _E, "Shapes do not fit", "Use power-of-two tile shapes that broadcast together."),
    Entry(
        "FT205",
        _E,
        "Call not supported in a kernel",
        "Call a `cuda.tile` operation or a plain helper function.",
    ),
    Entry("FT206", _E, "Implicit cast would lose values", "Convert explicitly with `.astype(...)`."),
    Entry("FT207", _E, "Type depends on the path taken", "Give the variable one type on every path."),
    Entry("FT208", _E, "Literal out of range", "Use a literal that the element type can hold."),
    Entry("FT209", _E, "Condition is not a scalar", "Use `ct.where`, or reduce the tile to one value first."),
    Entry("FT210", _E, "Unknown cuda.tile operation", "Correct the name, or check the version of `cuda-tile`."),
    Entry("FT211", _E, "Static assertion failed", "Change the constant, or the assertion."),
    Entry("FT220", _E, "Refused by cuTile Python's assembler", "Write it as the page shows."),
    # No Rust form
    Entry("FT301", _E, "No translation yet", "Rewrite with supported operations; the coverage table lists them."),
    Entry("FT302", _E, "No exact form in cutile 0.5", "Rewrite the operation as the page shows."),
    Entry("FT303", _E, "Output ownership not provable", "Store at block-id indices, or allow `unsafe`."),
    Entry("FT304", _E, "Memory order across control flow", "Move the load or the store out of the branch."),
    Entry("FT305", _E, "Tile rank too high for the target", "Reshape to a tile of lower rank."),
    Entry("FT306", _E, "Data-dependent access", "Use `ct.gather`/`ct.scatter`, or indices made of block ids."),
    # Notes
    Entry("FT401", _W, "Blocks may race", "Make each block write its own tile, or use an atomic operation."),
    Entry(
        "FT402",
        _I,
        "Order tokens inserted",
        "Nothing to do: loads and stores of this array keep their order.",
    ),
    Entry(
        "FT403",
        _H,
        "Multiply-add is contracted",
        "Nothing to do: it is what cuTile Python's compiler does, too.",
    ),
    Entry("FT404", _H, "Faster without TMA", "Consider `allow_tma=False` on this load or store."),
    Entry("FT405", _I, "Hint left out", "Nothing to do: hints never change results. Set it in `CompileOptions`."),
    Entry("FT407", _H, "Dependent launch left out", "Nothing to do: the kernel starts after those before it."),
    Entry(
        "FT408",
        _W,
        "Combined in another order",
        "Use `ct.sum`, `ct.max` and the like, or a function of one operation, where bits must be equal.",
    ),
    # Verification
    Entry("FT501", _E, "rustc rejects the translation", "Report it: ferrotile should not have emitted this."),
    Entry("FT502", _E, "cuTile Rust's compiler rejects the translation", "Report it with the kernel."),
    Entry("FT503", _E, "The assembler rejects the kernel", "Try smaller tiles or another target."),
    Entry("FT504", _E, "Not proved equal", "Look at the first difference; do not rely on this translation yet."),
    Entry("FT505", _E, "Simulation differs", "Do not use this translation; report it with the shown inputs."),
    Entry(
        "FT506",
        _I,
        "A rung was skipped",
        "Run `ferrotile setup`, or `ferrotile doctor` to see what is missing.",
    ),
    Entry("FT507", _E, "Runs differ on the GPU", "Do not use this translation; report it with the shown launch."),
    Entry(
        "FT508",
        _E,
        "Other Rust cannot be verified",
        "Change the Rust as the message says, or give with `--map`, `--assume` or `::entry` what it cannot tell.",
    ),
    # ferrotile
    Entry("FT900", _E, "Internal error", "Report it with the kernel; the rest of the file is not affected."),
)

CATALOGUE: Mapping[str, Entry] = MappingProxyType({row.code: row for row in _ROWS})


def diagnostic(
    code: str,
    message: str,
    span: Span,
    *,
    related: tuple[tuple[Span, str], ...] = (),
    fix: Fix | None = None,
) -> Diagnostic:
    """A diagnostic with its code's severity. Raises KeyError for a code that the catalogue does not have."""
    return Diagnostic(code, CATALOGUE[code].severity, message, span, related, fix)

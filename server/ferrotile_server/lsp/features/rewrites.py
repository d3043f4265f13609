"""Edits of a kernel's head that help it along: its signature as a directive, a constant's value, a constant's type."""

from __future__ import annotations

import ast

from ferrotile.diagnostics.model import Fix, Severity
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature
from ferrotile.syntax.module import FunctionSource, Module, parameters_of
from ferrotile.syntax.span import Span
from ferrotile.translation import KernelTranslation
from lsprotocol import types
from msgspec import Struct

from ferrotile_server.lsp.context import Snapshot
from ferrotile_server.lsp.features import signature_text

KIND = "refactor.rewrite.ferrotile.signature"
TILE = "cuda.tile"


class Rewrite(Struct, frozen=True):
    """An edit, and the kind of code action that it is."""

    fix: Fix
    kind: str = KIND


def rewrites(snapshot: Snapshot, start: int, end: int) -> list[Rewrite]:
    """Those for the kernels that a byte range touches: in the head those of the signature."""
    module = snapshot.analysis.translation.module
    if module is None:
        return []
    found: list[Rewrite] = []
    done: set[str] = set()
    for kernel in snapshot.analysis.at(start, end):
        function = snapshot.analysis.function_of(kernel)
        if kernel.name in done or function is None or kernel.signature is None:
            continue
        done.add(kernel.name)
        found += _constants_wanted(module, kernel, function, start, end)
        if start < module.span_of(function.node.body[0]).start:
            found += _directives(snapshot, module, kernel, function, kernel.signature, start, end)
    return found


def _directives(
    snapshot: Snapshot,
    module: Module,
    kernel: KernelTranslation,
    function: FunctionSource,
    signature: Signature,
    start: int,
    end: int,
) -> list[Rewrite]:
    """What is known without a directive, as one; for a constant under the cursor its value alone, too."""
    missing = _unstated(signature)
    if not missing:
        return []
    found = []
    for argument in parameters_of(function.node):
        place = module.span_of(argument)
        constant = signature_text.is_constant(signature, argument.arg)
        if constant and argument.arg in missing and len(missing) > 1 and place.start <= start and end <= place.end:
            title = f"Set {missing[argument.arg]} in a `# ferrotile:` directive"
            found.append(_above(snapshot, kernel, title, [missing[argument.arg]]))
    return [*found, _above(snapshot, kernel, "Add signature directive", list(missing.values()))]


def _unstated(signature: Signature) -> dict[str, str]:
    """Entries for what no directive says yet. Left out: what a directive would make less general (an element type that
    may be any), or less known (a scalar that is an extent of an array)."""
    stated = signature_text.stated(signature)
    kept = {
        a.name
        for a in signature.arguments
        if not (isinstance(a, ArrayArgument) and a.dtype.variable)
        and not (isinstance(a, ScalarArgument) and a.extent is not None)
        and not (isinstance(a, ConstantArgument) and a.value is None)
    }
    names = list(signature_text.rows(signature))
    told = dict(zip(names, signature_text.entries(signature), strict=True))
    return {n: text for n, text in told.items() if n not in stated and (n in kept or n == "grid")}


def _above(snapshot: Snapshot, kernel: KernelTranslation, title: str, parts: list[str]) -> Rewrite:
    """Directive lines directly above the first decorator."""
    document = snapshot.file.document
    at = kernel.span.start
    indent = document.data[document.lines.line_start(document.lines.line_of(at)) : at].decode("utf-8", "replace")
    indent = indent if not indent.strip() else ""
    lines = [f"# ferrotile: {line}\n{indent}" for line in signature_text.lines(parts)]
    return Rewrite(Fix(title, Span(at, at), "".join(lines)))


def _constants_wanted(
    module: Module, kernel: KernelTranslation, function: FunctionSource, start: int, end: int
) -> list[Rewrite]:
    """Parameters without a type that an error says have to be constants."""
    errors = [
        d
        for d in kernel.diagnostics
        if d.severity is Severity.ERROR
        and "must be a constant" in d.message
        and d.span.start <= end
        and start <= d.span.end
    ]
    alias = next((name for name, target in module.imports.items() if target == TILE), None)
    if not errors or alias is None or kernel.signature is None:
        return []
    scalars = {a.name for a in kernel.signature.arguments if isinstance(a, ScalarArgument)}
    used = {
        node.id
        for node in ast.walk(function.node)
        if isinstance(node, ast.Name)
        and node.id in scalars
        and any(d.span.start <= module.span_of(node).start < d.span.end for d in errors)
    }
    found = []
    for argument in parameters_of(function.node):
        if argument.arg in used and argument.annotation is None:
            place = module.span_of(argument)
            title = f"Make `{argument.arg}` a constant"
            fix = Fix(title, Span(place.end, place.end), f": {alias}.Constant[int]")
            found.append(Rewrite(fix, types.CodeActionKind.QuickFix))
    return found

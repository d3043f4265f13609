"""A Python file to cuTile Rust: every kernel on its own, so that one failure never costs the others."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.advice import advice
from ferrotile.cache import Cache
from ferrotile.choices import read_choices
from ferrotile.comments import Comments, comments_of
from ferrotile.dependencies import Dependencies
from ferrotile.diagnostics.model import Diagnostic, Severity
from ferrotile.frontends.cutile.discover import KERNEL, find_kernels
from ferrotile.frontends.cutile.lint import Finding
from ferrotile.frontends.cutile.lower import Lowered, lower_kernel
from ferrotile.generic import generalise, has_scalar_variable, variables
from ferrotile.passes.hints import entry_hints
from ferrotile.passes.pipeline import run_passes
from ferrotile.program.ir import Program
from ferrotile.rust.emit import Emitted, Parts, Unsupported, emit, render_file
from ferrotile.rust.entry_hints import notes as hint_notes
from ferrotile.signatures.infer import infer_signatures
from ferrotile.signatures.launch import Launches, collect_launches
from ferrotile.signatures.model import Signature
from ferrotile.signatures.workspace import Workspace
from ferrotile.syntax.document import Document
from ferrotile.syntax.linking import link
from ferrotile.syntax.module import FunctionSource, Module, parse_module
from ferrotile.syntax.span import NOWHERE, Span
from ferrotile.translation import KernelTranslation, Options, SourceMap, UnsafeCount

DIALECT = "cutile"

_OF_SIGNATURES = ("FT203", "FT204", "FT206", "FT207", "FT208")
"""Errors that a wrong assumption about types and constants can cause."""


class DocumentTranslation(Struct, frozen=True, eq=False):
    """What a file translates to. `parts` runs parallel to `kernels`. `module` is the file with what it imports from
    its workspace; `consulted` are the other modules that were asked for, with the digest of each (None: not there)."""

    kernels: tuple[KernelTranslation, ...]
    diagnostics: tuple[Diagnostic, ...]
    parts: tuple[Parts | None, ...] = ()
    module: Module | None = None
    consulted: tuple[tuple[str, bytes | None], ...] = ()

    def render_file(self, stem: str, kernels: Sequence[str] = ()) -> str:
        """The named kernels (none named: all) that are translated, in one module, shared helpers once; kernels of one
        name keep their first signature."""
        pairs = zip(self.kernels, self.parts, strict=True)
        return render_file(stem, (p for k, p in pairs if p is not None and (not kernels or k.name in kernels)))


def translate_document(
    document: Document,
    options: Options | None = None,
    cache: Cache | None = None,
    only: int | None = None,
    workspace: Workspace | None = None,
    name: str = "",
) -> DocumentTranslation:
    """Every kernel of the document, one translation a signature; with `only`, the kernel with this number in the order
    of `find_kernels`. `workspace` has the other files: launches of the kernels are looked for there, and helpers that
    are imported from there are inlined; the document is its module `name`. Total: what goes wrong is a diagnostic."""
    options = options or Options()
    cache = Cache() if cache is None else cache
    try:
        module = parse_module(document, cache.parsed)
        sources = find_kernels(module)
        dependencies = Dependencies(module, sources, cache.words)
        consulted: tuple[tuple[str, bytes | None], ...] = ()
        users: tuple[str, ...] = ()
        if workspace is not None and sources:
            sites = _launches(module, dependencies, cache, workspace, name)
            linked = link(module, workspace, name, KERNEL)
            module, users = linked.module, sites.users
            digests = {**dict(sites.consulted), **dict(linked.consulted)}
            consulted = tuple(sorted({**digests, **{u: workspace.digest(u) for u in users}}.items()))
    except Exception:
        return DocumentTranslation((), (_internal(NOWHERE),))
    kernels: list[KernelTranslation] = []
    parts: list[Parts | None] = []
    around = (options, users, consulted)
    steady = cache.steady
    steady.begin(dependencies, around, cache.round)
    for source in sources if only is None else sources[only : only + 1]:
        results = steady.get(source)
        if results is None:
            content, places = dependencies.of(source)
            key = (*around, *content)
            found = cache.get(key, places)
            if found is None:
                launches = partial(_launches, module, dependencies, cache, workspace, name)
                results = _kernel(document, module, source, options, launches)
                entry = cache.put(key, places, results)
            else:
                entry, results = found
            steady.put(source, places, entry, results)
        kernels.extend(results[0])
        parts.extend(results[1])
    cache.end_round()
    found_in_file = tuple(_module_diagnostics(module))
    return DocumentTranslation(tuple(kernels), found_in_file, tuple(parts), module, consulted)


def _launches(
    module: Module, dependencies: Dependencies, cache: Cache, workspace: Workspace | None, name: str
) -> Launches:
    key = (dependencies.host, name, workspace is None)
    found = cache.launches(key)
    if found is None or (workspace is not None and not found.holds(workspace, name)):
        found = collect_launches(module, workspace, name)
        cache.put_launches(key, found)
    return found


def _module_diagnostics(module: Module) -> Sequence[Diagnostic]:
    return module.diagnostics


def _internal(span: Span) -> Diagnostic:
    text = traceback.format_exc(limit=-3).strip().replace("\n", " | ")
    return Diagnostic("FT900", Severity.ERROR, f"Internal error: {text}", span)


def _kernel(
    document: Document,
    module: Module,
    source: FunctionSource,
    options: Options,
    launches: Callable[[], Launches],
) -> tuple[tuple[KernelTranslation, ...], tuple[Parts | None, ...]]:
    empty = KernelTranslation(
        source.name,
        DIALECT,
        source.span,
        source.name_span,
        None,
        None,
        None,
        None,
        (),
        UnsafeCount(),
        SourceMap(),
        (),
    )
    try:
        lowering = _Lowering(module, source)
        options, told = _with_choices(module, source, options)
        result = infer_signatures(module, source, launches(), lowering.valid)
        signatures = result.signatures
    except Exception:
        return (replace(empty, diagnostics=(_internal(source.name_span),)),), (None,)
    if not signatures:
        return (replace(empty, diagnostics=tuple(result.diagnostics)),), (None,)
    kernels, parts = [], []
    for signature in signatures:
        start = replace(empty, signature=signature, diagnostics=(*result.diagnostics, *told))
        kernel, text = _one(document, lowering, signature, options, start)
        kernels.append(kernel)
        parts.append(None if text is None else text.parts)
    return tuple(kernels), tuple(parts)


def _with_choices(module: Module, source: FunctionSource, options: Options) -> tuple[Options, tuple[Diagnostic, ...]]:
    """The options with what a tuner chose for this kernel, and what in the comment is not understood."""
    binding = module.binding_of(source)
    places = dict.fromkeys(span.start for span in (source.span, source.span if binding is None else binding.span))
    comments = [comment for start in places for comment in module.document.comments_above(start)]
    kept, told = read_choices(comments, options.target)
    return replace(options, choices=kept.joined(options.choices)), told


class _Lowering:
    """The front end on one kernel: each signature once, and what holds for all of them once."""

    def __init__(self, module: Module, source: FunctionSource) -> None:
        self.module, self.source = module, source
        self._syntax: dict[int, list[Finding]] = {}
        self._done: list[tuple[Signature, Lowered]] = []

    def of(self, signature: Signature) -> Lowered:
        """The kernel program; may raise `DTypeVariableError`."""
        found = next((lowered for known, lowered in self._done if known is signature), None)
        if found is None:
            found = lower_kernel(self.module, self.source, signature, self._syntax)
            self._done.append((signature, found))
        return found

    def valid(self, signature: Signature) -> bool:
        """Whether the kernel has no error that other assumptions may mend."""
        return not any(d.code in _OF_SIGNATURES for d in self.of(signature).diagnostics)


def _one(
    document: Document,
    lowering: _Lowering,
    signature: Signature,
    options: Options,
    start: KernelTranslation,
) -> tuple[KernelTranslation, Emitted | None]:
    """The kernel for one signature: generic where it can be, else for the types given."""
    source, before = lowering.source, start
    try:
        lowered = lowering.of(signature)
        told = (*start.diagnostics, *lowered.diagnostics)
        start = replace(start, program=lowered.program, diagnostics=told, readings=lowered.readings)
        if lowered.program is None or any(d.severity is Severity.ERROR for d in lowered.diagnostics):
            return start, None
        comments = comments_of(document, lowering.module, source, lowered.program)
        generic = _generic(lowering, lowered, signature, options, comments, before)
        kernel, text = generic or translate_program(lowered.program, signature, options, comments, start)
        if text is not None:
            hints = advice(document, lowered.program, options)
            kernel = replace(kernel, diagnostics=(*kernel.diagnostics, *hints))
        return kernel, text
    except Exception:
        return replace(start, diagnostics=(*start.diagnostics, _internal(source.name_span))), None


def _generic(
    lowering: _Lowering,
    concrete: Lowered,
    signature: Signature,
    options: Options,
    comments: Comments,
    start: KernelTranslation,
) -> tuple[KernelTranslation, Emitted] | None:
    """The kernel with type parameters for arrays of unknown element type, where it is the same for all of them;
    `concrete` is its program for the types that are assumed."""
    if concrete.specific:
        return None

    named: frozenset[int] = frozenset()

    def instance(candidate: Signature) -> tuple[str, tuple[KernelTranslation, Emitted]] | None:
        nonlocal named
        lowered = lowering.of(candidate)
        program = lowered.program
        if program is None or has_scalar_variable(program):
            return None
        told = (*start.diagnostics, *lowered.diagnostics)
        one = replace(start, signature=candidate, program=program, diagnostics=told, readings=lowered.readings)
        kernel, text = translate_program(program, candidate, options, comments, one, named)
        if text is None:
            return None
        # Lines of equal texts break alike: the next instance starts with what this one found.
        named = text.named
        return text.text, (kernel, text)

    try:
        found = generalise(signature, instance, concrete.meetings)
    except Exception:
        # What fails only with a variable has its concrete form already.
        return None
    if found is None:
        return None
    _, (kernel, text) = found
    arrays = variables(signature)
    known = {a.span for a in signature.arguments if a.name in arrays}
    kept = tuple(d for d in kernel.diagnostics if d.code != "FT101" or d.span not in known)
    return replace(kernel, diagnostics=kept), text


def translate_program(
    program: Program,
    signature: Signature,
    options: Options,
    comments: Comments,
    start: KernelTranslation,
    named: frozenset[int] = frozenset(),
) -> tuple[KernelTranslation, Emitted | None]:
    """Passes and emission of one kernel, added to `start`; `named` as for `emit`."""
    try:
        own = (*program.hints, *entry_hints(program, options.target))
        program = replace(program, hints=options.choices.hints(own, options.target))
        plan = run_passes(program, signature, options)
        start = replace(start, diagnostics=(*start.diagnostics, *hint_notes(program.hints), *plan.diagnostics))
        if plan.refused:
            return start, None
        text = emit(plan, comments, named)
    except Unsupported as refusal:
        span = refusal.span if refusal.span != NOWHERE else program.name_span
        found = Diagnostic(refusal.code, Severity.ERROR, refusal.message, span)
        return replace(start, diagnostics=(*start.diagnostics, found)), None
    return (
        replace(
            start,
            rust=text.text,
            entry=text.entry,
            outputs=text.outputs,
            unsafe=text.unsafe,
            source_map=text.source_map,
        ),
        text,
    )

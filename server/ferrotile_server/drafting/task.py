"""The task of a draft out of an analysed file: the kernel with what it uses, its signature, why it is refused."""

from __future__ import annotations

from hashlib import blake2b

from ferrotile.diagnostics.catalogue import CATALOGUE
from ferrotile.diagnostics.model import Diagnostic, Severity
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import Module, parse_module
from ferrotile.syntax.positions import Encoding, LineTable
from ferrotile.translation import KernelTranslation
from ferrotile_runner.report import signature_text
from ferrotile_runner.rungs.subject import subject_of
from ferrotile_runner.slice import slice_source

from ferrotile_server.application import Analysis, Application
from ferrotile_server.drafting.draftable import mistakes
from ferrotile_server.drafting.examples import Example, nearest
from ferrotile_server.drafting.prompt import Task

LONGEST_SOURCE = 60_000
"""Characters of a kernel with all it uses, beyond which no model is asked."""


class NotDraftable(Exception):
    """A kernel of which no draft is made; the message says why, and what to do."""


def kernel_of(analysis: Analysis, name: str) -> KernelTranslation:
    """The entry of a kernel that a draft is of: refused, of known signature. Raises `NotDraftable`."""
    entries = analysis.named(name)
    if not entries:
        raise NotDraftable(f"there is no kernel `{name}`")
    refused = [k for k in entries if k.rust is None]
    if not refused:
        raise NotDraftable(f"`{name}` is translated by rules, which need no model: use `ferrotile translate`")
    known = [k for k in refused if k.signature is not None]
    if not known:
        raise NotDraftable(
            f"the signature of `{name}` is not known, so no Rust could be checked: mend what `ferrotile check` says, "
            "or write a `# ferrotile:` directive above the kernel"
        )
    sound = [k for k in known if not mistakes(k)]
    if not sound:
        codes = ", ".join(dict.fromkeys(code for k in known for code in mistakes(k)))
        raise NotDraftable(f"`{name}` has a mistake of its own, {codes}: mend that first, no Rust can equal it")
    return sound[0]


def task_of(analysis: Analysis, kernel: KernelTranslation, file: str, application: Application) -> Task:
    """What a model is told of a kernel; `file`: the name of its file, without folders. Raises `NotDraftable`."""
    source = source_of(analysis.document, analysis.translation.module, kernel)
    if len(source) > LONGEST_SOURCE:
        raise NotDraftable(f"`{kernel.name}` with all it uses has {len(source)} characters: too many for a draft")
    return Task(
        node=f"{file}::{kernel.name}",
        digest=digest_of(analysis, kernel),
        signature=signature_text(kernel.signature),
        source=source,
        refusals=refusals_of(analysis.document, kernel),
        guide=guide(),
        example=nearest(source, lambda text: _examples(application, text)),
        forbids_unsafe=analysis.options.unsafe == "never",
    )


def digest_of(analysis: Analysis, kernel: KernelTranslation) -> str:
    """Of all that a draft is made from: the kernel, what it uses, its signature, the target."""
    source = source_of(analysis.document, analysis.translation.module, kernel)
    state = blake2b(digest_size=16)
    for part in (source, signature_text(kernel.signature), analysis.options.target):
        state.update(part.encode("utf-8", "replace") + b"\0")
    return state.hexdigest()


def guide() -> str:
    """What cutile 0.5 can say, and its traps."""
    from ferrotile_server.guide import target_guide  # long, and needed for a draft alone

    return target_guide()


def source_of(document: Document, module: Module | None, kernel: KernelTranslation) -> str:
    """The kernel, the helpers and constants that it reaches, and its imports."""
    subject = subject_of(document, kernel, "", module)
    if subject.function is None:
        return document.slice(kernel.span)
    return slice_source(subject.module, subject.function).text


def refusals_of(document: Document, kernel: KernelTranslation) -> tuple[str, ...]:
    """Each error with its line and carets under what is meant."""
    table = LineTable(document.data)
    errors = dict.fromkeys(d for d in kernel.diagnostics if d.severity is Severity.ERROR)
    return tuple(_refusal(document, table, found) for found in errors)


def _refusal(document: Document, table: LineTable, found: Diagnostic) -> str:
    line, column = table.position(found.span.start, Encoding.UTF32)
    end = min(found.span.end, table.line_end(line))
    text = document.data[table.line_start(line) : table.line_end(line)].decode("utf-8", "replace").rstrip("\r\n")
    length = len(document.data[found.span.start : end].decode("utf-8", "replace").rstrip("\r\n"))
    title = CATALOGUE[found.code].title
    carets = " " * column + "^" * max(length, 1)
    return f"{found.code} ({title}): {found.message}\n\n      {text}\n      {carets}\n"


def _examples(application: Application, text: str) -> tuple[Example, ...]:
    """The translated kernels of an example's file."""
    document = Document(text)
    analysis = application.alike().check_document(document)
    module = analysis.translation.module or parse_module(document)
    return tuple(
        Example(k.name, signature_text(k.signature), source_of(document, module, k), k.rust)
        for k in analysis.translation.kernels
        if k.rust is not None
    )

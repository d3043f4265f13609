"""`textDocument/codeAction`: translate and preview where a kernel is, its signature as a directive, and the fixes of
diagnostics. What would write a file is resolved when it is chosen.

There is no `source.fixAll`: every fix writes down something that ferrotile had to assume, and that is for the author to
say."""

from __future__ import annotations

from ferrotile.diagnostics.model import Diagnostic, Fix
from lsprotocol import types

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.features import commands
from ferrotile_server.lsp.features.draft_offer import may_draft
from ferrotile_server.lsp.features.edits import edit_of
from ferrotile_server.lsp.features.rewrites import rewrites
from ferrotile_server.lsp.features.rust_file import CannotWrite, edit_for
from ferrotile_server.lsp.protocol import InvalidParams

TRANSLATE_KIND = "refactor.rewrite.ferrotile"
ALL_KIND = "source.translateAll.ferrotile"


def register(context: Context) -> None:
    """Offer code actions, the costly ones resolved lazily."""

    async def actions(params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
        snapshot = await context.snapshot(params.text_document.uri)
        if snapshot is None:
            return []
        start, end = snapshot.offset_of(params.range.start), snapshot.offset_of(params.range.end)
        found = [
            *_fixes(snapshot, params, start, end),
            *_translations(context, snapshot, start, end),
            *_rewrites(snapshot, start, end),
            *_drafts(context, snapshot, start, end),
        ]
        only = params.context.only
        if only:
            found = [a for a in found if any(_within(a.kind, kind) for kind in only)]
        if context.client.literal_actions:
            return list(found)
        return [a.command for a in found if a.command is not None]

    async def resolve(action: types.CodeAction) -> types.CodeAction:
        data = action.data
        if not isinstance(data, dict):
            return action
        uri, kernels = data.get("uri"), data.get("kernels")
        if not isinstance(uri, str) or not isinstance(kernels, list) or not all(isinstance(k, str) for k in kernels):
            raise InvalidParams("This is not a code action of ferrotile.")
        snapshot = await context.snapshot(uri)
        gone = [k for k in kernels if snapshot is None or not snapshot.analysis.named(k)]
        if snapshot is None or gone:
            raise InvalidParams(f"`{gone[0]}` is no longer there." if gone else "The document is not open.")
        try:
            action.edit = edit_for(context, snapshot, tuple(kernels))
        except CannotWrite as error:
            raise InvalidParams(str(error)) from None
        return action

    kinds = [types.CodeActionKind.QuickFix, TRANSLATE_KIND, ALL_KIND]
    options = types.CodeActionOptions(code_action_kinds=kinds, resolve_provider=True)
    context.server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)(actions)
    context.server.feature(types.CODE_ACTION_RESOLVE)(resolve)


def _within(kind: str | None, asked: str) -> bool:
    return kind is not None and (asked == "" or kind == asked or kind.startswith(asked + "."))


def _fixes(snapshot: Snapshot, params: types.CodeActionParams, start: int, end: int) -> list[types.CodeAction]:
    """Each fix once, with all the diagnostics that it mends."""
    mended: dict[Fix, list[Diagnostic]] = {}
    for diagnostic in snapshot.diagnostics:
        if diagnostic.fix is not None and diagnostic.span.start <= end and start <= diagnostic.span.end:
            mended.setdefault(diagnostic.fix, []).append(diagnostic)
    return [
        types.CodeAction(
            title=fix.title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[s for d in found for s in _shown(snapshot, d, params)] or None,
            is_preferred=True,
            edit=_edit(snapshot, fix),
        )
        for fix, found in mended.items()
    ]


def _shown(snapshot: Snapshot, diagnostic: Diagnostic, params: types.CodeActionParams) -> list[types.Diagnostic]:
    place = _corners(snapshot.range_of(diagnostic.span))
    return [d for d in params.context.diagnostics if d.code == diagnostic.code and _corners(d.range) == place]


def _corners(place: types.Range) -> tuple[int, int, int, int]:
    """A range as numbers: in the server, LSP's own values are equal to themselves alone."""
    return place.start.line, place.start.character, place.end.line, place.end.character


def _edit(snapshot: Snapshot, fix: Fix) -> types.WorkspaceEdit:
    return edit_of(snapshot, [types.TextEdit(snapshot.range_of(fix.span), fix.text)])


def _rewrites(snapshot: Snapshot, start: int, end: int) -> list[types.CodeAction]:
    """Edits of the Python that no diagnostic asks for, or not as the only way out."""
    return [
        types.CodeAction(title=one.fix.title, kind=one.kind, edit=_edit(snapshot, one.fix))
        for one in rewrites(snapshot, start, end)
    ]


def _translations(context: Context, snapshot: Snapshot, start: int, end: int) -> list[types.CodeAction]:
    """For the kernels that the selection touches; and for all of the file, wherever the cursor is."""
    every = [n for n in snapshot.kernel_names if any(k.rust is not None for k in snapshot.analysis.named(n))]
    writes = snapshot.file.cell is None  # beside a notebook's cell there is no file
    touched = {k.name for k in snapshot.analysis.at(start, end)}
    names = [n for n in every if n in touched]
    target = f"{snapshot.file.stem}.rs"
    found: list[types.CodeAction] = []
    if names and writes:
        which = f" `{names[0]}`" if len(names) == 1 < len(every) else f" {len(names)} kernels" if names != every else ""
        found.append(_write(context, snapshot, names, f"Translate to Rust{which and ':'}{which} ({target})"))
    for name in names:
        preview = commands.preview(context.client, snapshot.file.uri, name)
        found.append(types.CodeAction(title=f"Preview Rust of `{name}`", kind=TRANSLATE_KIND, command=preview))
        if not context.client.refreshes_lenses and context.trusted:
            uri = snapshot.file.uri
            if context.is_running(uri, name):
                stop = commands.cancel(uri, name)
                found.append(types.CodeAction(title=f"Cancel `{name}`", kind=TRANSLATE_KIND, command=stop))
                continue
            verify, run = commands.verify(context.client, uri, name), commands.run(uri, name)
            found.append(types.CodeAction(title=f"Verify `{name}`", kind=TRANSLATE_KIND, command=verify))
            found.append(types.CodeAction(title=f"Run `{name}`", kind=TRANSLATE_KIND, command=run))
    if every and writes:
        found.append(_write(context, snapshot, every, f"Translate all kernels to Rust ({target})", ALL_KIND))
    return found


def _drafts(context: Context, snapshot: Snapshot, start: int, end: int) -> list[types.CodeAction]:
    """For refused kernels whose signature is known, where there is a model to ask and its Rust may be compiled."""
    uri, touched = snapshot.file.uri, dict.fromkeys(k.name for k in snapshot.analysis.at(start, end))
    return [
        types.CodeAction(
            title=f"Draft `{name}` with AI",
            kind=TRANSLATE_KIND,
            command=commands.draft(context.client, uri, name),
        )
        for name in touched
        if may_draft(context, snapshot, name) and not context.is_running(uri, name)
    ]


def _write(
    context: Context, snapshot: Snapshot, names: list[str], title: str, kind: str = TRANSLATE_KIND
) -> types.CodeAction:
    action = types.CodeAction(title=title, kind=kind)
    if context.client.resolves_edits and context.client.creates_files:
        action.data = {"uri": snapshot.file.uri, "kernels": names}
        action.command = commands.show(snapshot.file.uri)
    else:
        action.command = commands.translate(snapshot.file.uri, names[0] if len(names) == 1 else None)
    return action

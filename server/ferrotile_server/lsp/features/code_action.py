"""`textDocument/codeAction`: translate and preview where a kernel is, and the fixes of diagnostics."""

from __future__ import annotations

from ferrotile.diagnostics.model import Diagnostic
from lsprotocol import types

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.features import commands
from ferrotile_server.lsp.features.rust_file import CannotWrite, edit_for
from ferrotile_server.lsp.protocol import InvalidParams

TRANSLATE_KIND = "refactor.rewrite.ferrotile"


def register(context: Context) -> None:
    """Offer code actions, the costly ones resolved lazily."""

    async def actions(params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
        snapshot = await context.snapshot(params.text_document.uri)
        if snapshot is None:
            return []
        found = [*_fixes(snapshot, params), *_translations(context, snapshot, params)]
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
        uri, kernel = data.get("uri"), data.get("kernel")
        if not (isinstance(uri, str) and isinstance(kernel, str)):
            raise InvalidParams("This is not a code action of ferrotile.")
        snapshot = await context.snapshot(uri)
        if snapshot is None or not snapshot.analysis.named(kernel):
            raise InvalidParams(f"`{kernel}` is no longer there.")
        try:
            action.edit = edit_for(context, snapshot)
        except CannotWrite as error:
            raise InvalidParams(str(error)) from None
        return action

    kinds = [types.CodeActionKind.QuickFix, TRANSLATE_KIND]
    options = types.CodeActionOptions(code_action_kinds=kinds, resolve_provider=True)
    context.server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)(actions)
    context.server.feature(types.CODE_ACTION_RESOLVE)(resolve)


def _within(kind: str | None, asked: str) -> bool:
    return kind is not None and (kind == asked or kind.startswith(asked + "."))


def _fixes(snapshot: Snapshot, params: types.CodeActionParams) -> list[types.CodeAction]:
    start, end = snapshot.offset_of(params.range.start), snapshot.offset_of(params.range.end)
    found: list[types.CodeAction] = []
    for diagnostic in snapshot.analysis.diagnostics:
        fix = diagnostic.fix
        if fix is None or not (diagnostic.span.start <= end and start <= diagnostic.span.end):
            continue
        edit = types.TextEdit(snapshot.range_of(fix.span), fix.text)
        found.append(
            types.CodeAction(
                title=fix.title,
                kind=types.CodeActionKind.QuickFix,
                diagnostics=_shown(snapshot, diagnostic, params),
                is_preferred=True,
                edit=_edit(snapshot, edit),
            )
        )
    return found


def _shown(snapshot: Snapshot, diagnostic: Diagnostic, params: types.CodeActionParams) -> list[types.Diagnostic] | None:
    place = snapshot.range_of(diagnostic.span)
    return [d for d in params.context.diagnostics if d.code == diagnostic.code and d.range == place] or None


def _edit(snapshot: Snapshot, edit: types.TextEdit) -> types.WorkspaceEdit:
    uri = snapshot.file.uri
    if not snapshot.client.document_changes:
        return types.WorkspaceEdit(changes={uri: [edit]})
    document = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=snapshot.file.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, [edit])])


def _translations(context: Context, snapshot: Snapshot, params: types.CodeActionParams) -> list[types.CodeAction]:
    start, end = snapshot.offset_of(params.range.start), snapshot.offset_of(params.range.end)
    names = dict.fromkeys(k.name for k in snapshot.analysis.at(start, end) if k.rust is not None)
    uri = snapshot.file.uri
    found: list[types.CodeAction] = []
    for name in names:
        write = types.CodeAction(title=f"Translate to Rust ({snapshot.file.stem}.rs)", kind=TRANSLATE_KIND)
        if context.client.resolves_edits and context.client.creates_files:
            write.data = {"uri": uri, "kernel": name}
        else:
            write.command = commands.translate(uri)
        preview = commands.preview(context.client, uri, name)
        found += [
            write,
            types.CodeAction(title=f"Preview Rust of `{name}`", kind=TRANSLATE_KIND, command=preview),
        ]
    return found

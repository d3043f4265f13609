"""What one editor session has agreed on: capabilities, encoding, settings and trust."""

from __future__ import annotations

from collections.abc import Mapping

from ferrotile.syntax.positions import Encoding
from ferrotile.translation import Options
from lsprotocol import types
from msgspec import Struct, field
from msgspec.structs import replace

SECTION = "ferrotile"


class Client(Struct, frozen=True):
    """What the editor can do, as far as it matters here."""

    name: str = ""
    encoding: Encoding = Encoding.UTF16
    pulls_diagnostics: bool = False
    refreshes_diagnostics: bool = False
    refreshes_lenses: bool = False
    refreshes_content: bool = False
    related_information: bool = False
    code_description: bool = False
    shows_lenses: bool = False
    markdown: bool = False
    literal_actions: bool = False
    resolves_edits: bool = False
    document_changes: bool = False
    creates_files: bool = False
    progress: bool = False
    shows_documents: bool = False
    text_document_content: bool = False
    registers_definition: bool = False
    definition_links: bool = False
    implementation_links: bool = False
    configuration: bool = False
    watches_files: bool = False
    icons: bool = False
    commands: frozenset[str] = frozenset()
    """Commands of the editor's own client that lenses and actions may name
    (`initializationOptions.clientCommands`)."""


class Settings(Struct, frozen=True):
    """The user's settings; anything malformed falls back to its default."""

    options: Options = field(default_factory=Options)
    rungs: tuple[str, ...] = ()
    inlay_hints: bool = True


_CHOICES: Mapping[str, frozenset[str]] = {
    "unsafe": frozenset({"proved", "never"}),
    "checks": frozenset({"free", "keep"}),
}


def settings_from(value: object, known_rungs: tuple[str, ...]) -> Settings:
    """Read settings; total."""
    given = value if isinstance(value, dict) else {}
    options = Options()
    target = given.get("target")
    if isinstance(target, str) and target.startswith("sm_") and target[3:].isalnum():
        options = replace(options, target=target)
    if given.get("unsafe") in _CHOICES["unsafe"]:
        options = replace(options, unsafe=given["unsafe"])
    if given.get("checks") in _CHOICES["checks"]:
        options = replace(options, checks=given["checks"])
    rungs = given.get("rungs")
    chosen = tuple(r for r in known_rungs if r in rungs) if isinstance(rungs, list) else ()
    return Settings(options, chosen, given.get("inlayHints") is not False)


def client_from(params: types.InitializeParams, options: object) -> Client:
    """Read the editor's capabilities; whatever it does not say, it cannot do."""
    all_ = params.capabilities
    text = all_.text_document or types.TextDocumentClientCapabilities()
    work = all_.workspace or types.WorkspaceClientCapabilities()
    window = all_.window or types.WindowClientCapabilities()
    publish = text.publish_diagnostics
    action = text.code_action
    edits = work.workspace_edit
    own = options if isinstance(options, dict) else {}
    commands = own.get("clientCommands")
    hover = text.hover.content_format if text.hover else None
    operations = edits.resource_operations if edits else None
    return Client(
        name=params.client_info.name if params.client_info else "",
        encoding=_encoding(all_.general.position_encodings if all_.general else None),
        pulls_diagnostics=text.diagnostic is not None,
        refreshes_diagnostics=bool(work.diagnostics and work.diagnostics.refresh_support),
        refreshes_lenses=bool(work.code_lens and work.code_lens.refresh_support),
        refreshes_content=work.text_document_content is not None,
        related_information=bool(
            (publish and publish.related_information) or (text.diagnostic and text.diagnostic.related_information)
        ),
        code_description=bool(
            (publish and publish.code_description_support)
            or (text.diagnostic and text.diagnostic.code_description_support)
        ),
        shows_lenses=text.code_lens is not None,
        markdown=hover is None or types.MarkupKind.Markdown in hover,
        literal_actions=bool(action and action.code_action_literal_support),
        resolves_edits=bool(
            action and action.data_support and action.resolve_support and "edit" in action.resolve_support.properties
        ),
        document_changes=bool(edits and edits.document_changes),
        creates_files=bool(operations and types.ResourceOperationKind.Create in operations),
        progress=bool(window.work_done_progress),
        shows_documents=bool(window.show_document and window.show_document.support),
        text_document_content=work.text_document_content is not None,
        registers_definition=bool(text.definition and text.definition.dynamic_registration),
        definition_links=bool(text.definition and text.definition.link_support),
        implementation_links=bool(text.implementation and text.implementation.link_support),
        configuration=bool(work.configuration),
        watches_files=bool(work.did_change_watched_files and work.did_change_watched_files.dynamic_registration),
        icons=own.get("icons") is True,
        commands=frozenset(c for c in commands if isinstance(c, str)) if isinstance(commands, list) else frozenset(),
    )


def _encoding(offered: object) -> Encoding:
    """The editor's first choice among those that exist; UTF-16 without one. pygls chooses the same way."""
    if isinstance(offered, list | tuple):
        for choice in offered:
            value = getattr(choice, "value", choice)
            for encoding in Encoding:
                if encoding.value == value:
                    return encoding
    return Encoding.UTF16

"""What one editor session has agreed on: capabilities, encoding, settings and trust."""

from __future__ import annotations

from ferrotile.syntax.positions import Encoding
from ferrotile.translation import Options
from lsprotocol import types
from msgspec import Struct, field

from ferrotile_server.project_settings import merged

SECTION = "ferrotile"


class Client(Struct, frozen=True):
    """What the editor can do, as far as it matters here."""

    name: str = ""
    encoding: Encoding = Encoding.UTF16
    pulls_diagnostics: bool = False
    refreshes_diagnostics: bool = False
    refreshes_lenses: bool = False
    refreshes_hints: bool = False
    refreshes_content: bool = False
    related_information: bool = False
    code_description: bool = False
    diagnostic_data: bool = False
    shows_lenses: bool = False
    markdown: bool = False
    literal_actions: bool = False
    resolves_edits: bool = False
    document_changes: bool = False
    creates_files: bool = False
    """Whether it shows what it creates, too: Helix 25.01 keeps a new file's text, unsaved, where nobody sees it."""
    progress: bool = False
    shows_documents: bool = False
    text_document_content: bool = False
    registers_definition: bool = False
    definition_links: bool = False
    implementation_links: bool = False
    configuration: bool = False
    watches_files: bool = False
    icons: bool = False
    lists_kernels: bool = False
    completes: bool = False
    """Whether the editor's own language model answers `ferrotile/complete` (`initializationOptions.completes`)."""
    commands: frozenset[str] = frozenset()
    """Commands of the editor's own client that lenses and actions may name
    (`initializationOptions.clientCommands`)."""


class Settings(Struct, frozen=True):
    """The user's settings; anything malformed falls back to its default."""

    options: Options = field(default_factory=Options)
    rungs: tuple[str, ...] = ()
    inlay_hints: bool = True
    checks_workspace: bool = False
    """Whether files that are not open have diagnostics, too."""


def settings_from(value: object, known_rungs: tuple[str, ...]) -> Settings:
    """Read settings; total."""
    given = value if isinstance(value, dict) else {}
    rungs = given.get("rungs")
    chosen = tuple(r for r in known_rungs if r in rungs) if isinstance(rungs, list) else ()
    everywhere = given.get("diagnosticMode") == "workspace"
    return Settings(merged(Options(), given), chosen, given.get("inlayHints") is not False, everywhere)


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
    shows = bool(window.show_document and window.show_document.support)
    return Client(
        name=params.client_info.name if params.client_info else "",
        encoding=_encoding(all_.general.position_encodings if all_.general else None),
        pulls_diagnostics=pulls(all_),
        refreshes_diagnostics=bool(work.diagnostics and work.diagnostics.refresh_support),
        refreshes_lenses=bool(work.code_lens and work.code_lens.refresh_support),
        refreshes_hints=bool(work.inlay_hint and work.inlay_hint.refresh_support),
        refreshes_content=work.text_document_content is not None,
        related_information=bool(
            (publish and publish.related_information) or (text.diagnostic and text.diagnostic.related_information)
        ),
        code_description=bool(
            (publish and publish.code_description_support)
            or (text.diagnostic and text.diagnostic.code_description_support)
        ),
        diagnostic_data=bool((publish and publish.data_support) or (text.diagnostic and text.diagnostic.data_support)),
        shows_lenses=text.code_lens is not None,
        markdown=hover is None or types.MarkupKind.Markdown in hover,
        literal_actions=bool(action and action.code_action_literal_support),
        resolves_edits=bool(
            action and action.data_support and action.resolve_support and "edit" in action.resolve_support.properties
        ),
        document_changes=bool(edits and (edits.document_changes or operations)),  # Neovim says only the latter
        creates_files=shows and bool(operations and types.ResourceOperationKind.Create in operations),
        progress=bool(window.work_done_progress),
        shows_documents=shows,
        text_document_content=work.text_document_content is not None,
        registers_definition=bool(text.definition and text.definition.dynamic_registration),
        definition_links=bool(text.definition and text.definition.link_support),
        implementation_links=bool(text.implementation and text.implementation.link_support),
        configuration=bool(work.configuration),
        watches_files=bool(work.did_change_watched_files and work.did_change_watched_files.dynamic_registration),
        icons=own.get("icons") is True,
        lists_kernels=own.get("kernels") is True,
        completes=own.get("completes") is True,
        commands=frozenset(c for c in commands if isinstance(c, str)) if isinstance(commands, list) else frozenset(),
    )


def pulls(capabilities: types.ClientCapabilities) -> bool:
    """Whether diagnostics wait to be asked for. An editor that cannot be told to ask again, as Neovim 0.11, would go on
    showing what a change of settings or of another file has made untrue: it gets them pushed."""
    text, work = capabilities.text_document, capabilities.workspace
    refreshes = bool(work and work.diagnostics and work.diagnostics.refresh_support)
    return refreshes and text is not None and text.diagnostic is not None


def renames(capabilities: types.ClientCapabilities, options: object) -> bool:
    """Whether rename is offered. Only where the editor asks before whether it is possible, and the user's configuration
    says that another server gets its turn after ours has said no: not every editor goes on to the next."""
    text = capabilities.text_document
    asks = text is not None and text.rename is not None and bool(text.rename.prepare_support)
    return asks and isinstance(options, dict) and options.get("rename") is True


def _encoding(offered: object) -> Encoding:
    """The editor's first choice among those that exist; UTF-16 without one. pygls chooses the same way."""
    if isinstance(offered, list | tuple):
        for choice in offered:
            value = getattr(choice, "value", choice)
            for encoding in Encoding:
                if encoding.value == value:
                    return encoding
    return Encoding.UTF16

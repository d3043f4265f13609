"""What a client can read: the pages of the diagnostics, and the guide to the target."""

from __future__ import annotations

from collections.abc import Iterator

import mcp_types as types
from ferrotile.diagnostics.catalogue import CATALOGUE

from ferrotile_server.guide import target_guide
from ferrotile_server.packaged import page_text

GUIDE = "ferrotile://guide/cutile-0.5"
PAGES = "ferrotile://diagnostics/"
MARKDOWN = "text/markdown"


def listed() -> Iterator[types.Resource]:
    """Every resource."""
    yield types.Resource(
        uri=GUIDE,
        name="cutile-0.5",
        title="What cuTile Rust 0.5 can say, and its traps",
        description="For whoever writes or repairs a cuTile Rust kernel by hand. Read it before proposing Rust.",
        mime_type=MARKDOWN,
    )
    for entry in sorted(CATALOGUE.values(), key=lambda entry: entry.code):
        yield types.Resource(
            uri=PAGES + entry.code,
            name=entry.code,
            title=f"{entry.code}: {entry.title}",
            description=entry.action,
            mime_type=MARKDOWN,
        )


def template() -> types.ResourceTemplate:
    """The pages, for a client that knows the code."""
    return types.ResourceTemplate(
        uri_template=PAGES + "{code}",
        name="diagnostic",
        title="Page of a diagnostic",
        description="What a diagnostic (FT###) means, an example, how to mend it.",
        mime_type=MARKDOWN,
    )


def text_of(uri: str) -> str | None:
    """The text of a resource; None where there is none."""
    if uri == GUIDE:
        return target_guide()
    return page_text(uri.removeprefix(PAGES)) if uri.startswith(PAGES) else None

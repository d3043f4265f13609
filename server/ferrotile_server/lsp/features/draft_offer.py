"""Where drafts are offered."""

from __future__ import annotations

import os

from ferrotile_server.drafting.destination import NoDestination, destination_of
from ferrotile_server.drafting.draftable import is_draftable
from ferrotile_server.lsp.context import Context, Snapshot


def may_draft(context: Context, snapshot: Snapshot, kernel: str) -> bool:
    """Whether a draft of a kernel is offered: its candidates may be compiled, and there is a model to ask."""
    here = context.trusted and snapshot.file.cell is None and is_draftable(snapshot.analysis, kernel)
    return here and _has_model(context)


def _has_model(context: Context) -> bool:
    if context.client.completes:
        return True
    try:
        destination_of("", "", os.environ)
    except NoDestination:
        return False
    return True

"""How far a kernel is proven, in the few words that lenses, hovers and hints have room for."""

from __future__ import annotations

import time

from ferrotile_server.lsp.context import Context, Snapshot

UNVERIFIED = "translated, not verified yet"
STALE = "changed since it was verified"


def verdict_text(context: Context, snapshot: Snapshot, name: str) -> str:
    """The state of a translated kernel: `proved, simulated`, `proved failed`, or why there is no verdict."""
    known = context.application.verdict(snapshot.file.uri, snapshot.analysis, name)
    if known is None:
        return UNVERIFIED
    return known[0].line if known[1] else STALE


def verdict_mark(context: Context, snapshot: Snapshot, name: str) -> str | None:
    """The same with a sign before it, for lenses and hints; None where there was no verification."""
    known = context.application.verdict(snapshot.file.uri, snapshot.analysis, name)
    if known is None:
        return None
    verdict, holds = known
    if not holds:
        return STALE
    sign = "\N{BALLOT X}" if verdict.failures else "\N{CHECK MARK}" if verdict.passed else "\N{MIDDLE DOT}"
    return f"{sign} {verdict.line}"


def history_text(context: Context, snapshot: Snapshot, name: str) -> str | None:
    """What earlier verdicts said: `earlier: 14:02 proved failed; 13:58 proved`; None where there are none."""
    earlier = context.application.history(snapshot.file.uri, name)[1:]
    told = [f"{time.strftime('%H:%M', time.localtime(v.at))} {v.line}" for v in earlier]
    return f"earlier: {'; '.join(told)}" if told else None


def unsafe_text(snapshot: Snapshot, name: str) -> str | None:
    """The `unsafe` of a kernel, `unsafe: 3 proved, 1 assumed`; None where it has none."""
    entries = snapshot.analysis.named(name)
    counts = {"proved": sum(k.unsafe.proved for k in entries), "assumed": sum(k.unsafe.assumed for k in entries)}
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"unsafe: {told}" if told else None

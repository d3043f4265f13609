"""The file that a kernel's draft is in, `<stem>_<kernel>.rs` beside the Python, and what its mark says today."""

from __future__ import annotations

from pathlib import Path

from ferrotile_server.lsp.context import Snapshot
from ferrotile_server.lsp.features.rust_file import CannotWrite, target_of

LARGEST = 200_000


def draft_file(source: str, kernel: str) -> tuple[str, Path]:
    """URI and path. Raises `CannotWrite` where the Python is in no file."""
    uri, path = target_of(source)
    return f"{uri.removesuffix('.rs')}_{kernel}.rs", path.with_name(f"{path.stem}_{kernel}.rs")


def draft_state(snapshot: Snapshot, kernel: str) -> str | None:
    """`proved`, `UNVERIFIED`, and whether the draft or its Python is another now; None where there is no draft."""
    try:
        _, path = draft_file(snapshot.file.uri, kernel)
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
            return None
        from ferrotile_server.drafting import mark  # most kernels have no draft

        found = mark.read(path.read_text(encoding="utf-8"))
    except (CannotWrite, OSError, UnicodeDecodeError):
        return None
    if found is None:
        return None
    from ferrotile_server.drafting.task import digest_of  # slow, and needed beside a draft alone

    digests = {digest_of(snapshot.analysis, k) for k in snapshot.analysis.named(kernel) if k.rust is None}
    parts = [found.rung or mark.UNVERIFIED]
    parts += ["edited since"] if not found.intact else []
    parts += ["the Python is another now"] if found.digest not in digests else []
    return ", ".join(parts)

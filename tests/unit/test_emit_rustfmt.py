"""What is emitted is what rustfmt would write."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import Options
from test_emit_hints import kernel as hinted
from test_passes_forms import GROUPED, HEADS, PERSISTENT

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = (Options(), Options(unsafe="never"), Options(checks="keep"))


def texts() -> list[str]:
    sources = [path.read_text() for path in sorted((ROOT / "examples").glob("*.py"))]
    sources += ["import cuda.tile as ct\n\n\n" + text for text in (GROUPED, HEADS, PERSISTENT)]
    found = [
        kernel.rust
        for source in sources
        for options in OPTIONS
        for kernel in translate_document(Document(source), options).kernels
        if kernel.rust is not None
    ]
    hints = "(occupancy=ct.ByTarget(sm_90=4, sm_100=2, default=1), num_ctas=ct.ByTarget(sm_100=4, sm_90=2))"
    found += [rust for rust in (hinted(hints).rust, hinted("(occupancy=2)", ", latency=3").rust) if rust]
    return list(dict.fromkeys(found))


@pytest.mark.skipif(shutil.which("rustfmt") is None, reason="rustfmt is not installed")
def test_rustfmt_changes_nothing(tmp_path: Path) -> None:
    paths = []
    for number, text in enumerate(texts()):
        path = tmp_path / f"kernel_{number}.rs"
        path.write_text(text)
        paths.append(str(path))
    assert len(paths) > 10
    command = ["rustfmt", "--check", "--edition", "2021", *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

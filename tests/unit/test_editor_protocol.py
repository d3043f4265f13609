"""ferrotile's own methods are the same ones in the server, in the VS Code client and in their document; and what the
extension contributes has texts and pictures."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "editor-protocol.md").read_text(encoding="utf-8")
CLIENT = ROOT / "vscode-client"
TYPES = CLIENT / "src" / "protocol.ts"
METHOD = re.compile(r'"(ferrotile/\w+)"')


def methods(*files: Path) -> set[str]:
    return {name for file in files for name in METHOD.findall(file.read_text(encoding="utf-8"))}


def test_every_method_is_documented_and_none_is_made_up() -> None:
    served = methods(*(ROOT / "server" / "ferrotile_server" / "lsp").rglob("*.py"))
    assert served
    assert set(re.findall(r"`(ferrotile/\w+)`", DOCUMENT)) == served
    assert methods(*(CLIENT / "src").glob("*.ts")) <= served


def test_the_document_was_looked_at_when_the_clients_types_changed() -> None:
    """Whoever changes protocol.ts reads the document, and then writes the new hash into its last line."""
    own = hashlib.sha256(TYPES.read_bytes()).hexdigest()[:16]
    assert DOCUMENT.rstrip().endswith(f"<!-- vscode-client/src/protocol.ts {own} -->")


def test_texts_of_the_manifest() -> None:
    manifest = (CLIENT / "package.json").read_text(encoding="utf-8")
    texts = json.loads((CLIENT / "package.nls.json").read_text(encoding="utf-8"))
    assert set(re.findall(r'"%([\w.]+)%"', manifest)) == set(texts)
    assert all(texts.values())


def test_every_command_exists_and_every_picture_is_made() -> None:
    manifest = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    sources = "".join(file.read_text(encoding="utf-8") for file in (CLIENT / "src").glob("*.ts"))
    registered = set(re.findall(r'(?:command|onServer|onFile)\("(ferrotile\.\w+)"', sources))
    assert {c["command"] for c in manifest["contributes"]["commands"]} == registered
    shown = re.findall(r"images/(\w+)\.png", json.dumps(manifest) + (CLIENT / "README.md").read_text(encoding="utf-8"))
    bundled = re.search(r"for name in ([\w ]+);", (CLIENT / "scripts" / "bundle.sh").read_text(encoding="utf-8"))
    assert bundled is not None
    assert set(shown) == set(bundled[1].split())
    assert all((ROOT / "docs" / "images" / f"vscode_{name}.png").is_file() for name in shown)


def test_settings_are_documented() -> None:
    manifest = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    readme = (CLIENT / "README.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(ferrotile\.\w+)`", readme, re.MULTILINE))
    assert documented == set(manifest["contributes"]["configuration"]["properties"])

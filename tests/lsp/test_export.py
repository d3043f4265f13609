"""The command that exports into a crate, asked as an editor asks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import TRUSTED, capabilities
from .strict_client import REAL, Client

pytestmark = pytest.mark.timeout(180)

PYTHON = (Path(__file__).resolve().parents[2] / "examples" / "vector_add.py").read_text(encoding="utf-8")


def run(client: Client, *arguments: object) -> dict[str, object]:
    found = client.request("workspace/executeCommand", {"command": "ferrotile.server.export", "arguments": arguments})
    assert isinstance(found, dict)
    return found


def test_a_conflict_is_in_the_answer_and_is_shown(tmp_path: Path) -> None:
    kernel, crate = tmp_path / "kernels" / "vector_add.py", tmp_path / "my crate"
    kernel.parent.mkdir()
    kernel.write_text(PYTHON)
    rust = crate / "src" / "vector_add.rs"
    client = Client(REAL)
    try:
        client.initialize(capabilities("vscode"), TRUSTED)
        uris = (kernel.parent.as_uri(), crate.as_uri())
        assert not run(client, *uris, True)["up_to_date"] and not crate.exists()
        made = run(client, *uris)
        assert made["folder"] == crate.as_uri() and not made["failed"] and rust.is_file()
        assert run(client, [uris[0]], crate.as_uri(), True)["up_to_date"]

        rust.write_text(rust.read_text().replace("z.store(tx + ty);", "z.store(ty + tx);"))
        kernel.write_text(PYTHON.replace("tx + ty)", "tx - ty)"))
        assert run(client, *uris)["failed"]
        shown = client.wait_request("window/showDocument")["params"]
        assert isinstance(shown, dict) and shown["uri"] == rust.as_uri()
        line = shown["selection"]["start"]["line"]
        assert rust.read_text().splitlines()[line] == "<<<<<<< edited"
        client.stop()
    finally:
        client.kill()


WRONG: tuple[list[object], ...] = ([], ["file:///a"], [[], "file:///c"], ["file:///a", 3], ["untitled:a", "file:///c"])


@pytest.mark.parametrize("arguments", WRONG, ids=str)
def test_wrong_arguments_are_refused(shared: Client, arguments: list[object]) -> None:
    params = {"command": "ferrotile.server.export", "arguments": arguments}
    code, message = shared.error("workspace/executeCommand", params)
    assert code == -32602 and "URI" in message


def test_what_cannot_be_exported_is_said(shared: Client, tmp_path: Path) -> None:
    params = {"command": "ferrotile.server.export", "arguments": [(tmp_path / "no.py").as_uri(), tmp_path.as_uri()]}
    assert "no such file" in shared.error("workspace/executeCommand", params)[1]

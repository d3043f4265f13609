"""The configurations of docs/editors.md for editors that are not driven here: they are what their editor can read, and
give the server what it takes."""

from __future__ import annotations

import json
import tomllib

import pytest
from ferrotile_server.cli.arguments import build_parser
from ferrotile_server.lsp.session import settings_from
from ferrotile_server.lsp.trust import is_trusted
from ferrotile_server.verdicts import RUNGS

from .installing import snippet


def helix() -> tuple[list[str], object, object]:
    """Command, `initializationOptions` and settings, as Helix makes them: `config` is both."""
    read = tomllib.loads(snippet("helix"))
    (language,) = read["language"]
    assert (language["name"], language["language-servers"][0]) == ("python", "ferrotile")
    server = read["language-server"]["ferrotile"]
    return [server["command"], *server["args"]], server["config"], server["config"]["ferrotile"]


def sublime() -> tuple[list[str], object, object]:
    """As LSP makes them: dots in settings are levels."""
    server = json.loads(snippet("sublime"))["clients"]["ferrotile"]
    assert (server["enabled"], server["selector"]) == (True, "source.python")
    settings = {name.removeprefix("ferrotile."): value for name, value in server["settings"].items()}
    return server["command"], server["initializationOptions"], settings


def zed() -> tuple[list[str], object, object]:
    """As Zed makes them for the server whose name is borrowed."""
    read = json.loads(snippet("zed"))
    assert read["languages"]["Python"]["language_servers"][0] in read["lsp"]
    server = read["lsp"]["pylsp"]
    options = server["initialization_options"]
    path = server["binary"]["path"]
    assert path.startswith("/"), "Zed wants a whole path"
    return [path.rpartition("/")[2], *server["binary"]["arguments"]], options, options["settings"]


@pytest.mark.parametrize("made", [helix, sublime, zed])
def test_a_configuration_starts_the_server_untrusted_with_settings(made: object) -> None:
    assert callable(made)
    command, options, settings = made()
    assert command[0] == "ferrotile"
    assert build_parser().parse_args(command[1:]).command == "server"
    assert isinstance(options, dict) and options["workspaceTrusted"] is False
    assert is_trusted(options) is False
    assert is_trusted({**options, "workspaceTrusted": True}) is True
    assert settings_from({"target": "sm_100"}, RUNGS).options.target != settings_from(settings, RUNGS).options.target
    assert settings_from(settings, RUNGS).options.target == "sm_90"

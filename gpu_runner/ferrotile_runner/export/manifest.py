"""`Cargo.toml` of a crate that is someone else's: what is missing is added, and nothing else is touched."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

import tomlkit
from msgspec import Struct
from tomlkit.exceptions import TOMLKitError

from ferrotile_runner.export.versions import agree

SECTIONS = ("dependencies", "dev-dependencies", "build-dependencies")


class ManifestError(Exception):
    """A manifest cannot be used; the message says why, for a person."""


class ManifestEdit(Struct, frozen=True):
    """`text`: the manifest as it should be. `added`: for the record, a line a dependency, `section.name = value`.
    `conflicts`: what was not added, and why, for a person."""

    text: str
    added: tuple[str, ...]
    conflicts: tuple[str, ...]


Toml = Mapping[str, object]


def parse(text: str, name: str) -> Toml:
    """The manifest as values; raises `ManifestError`."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ManifestError(f"{name}: {error}") from None


def table(values: Toml, *keys: str) -> Toml:
    """The table at a path of keys; empty where there is none."""
    found: object = values
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def add_dependencies(theirs: str, generated: Toml, workspace: Toml, ours: tuple[str, ...]) -> ManifestEdit:
    """`theirs` with the dependencies of `generated` that are missing in it: as `workspace = true` where the workspace
    has them. `ours`: what earlier exports added, which follows `generated` as long as it is unchanged. Raises
    `ManifestError`."""
    values = parse(theirs, "Cargo.toml")
    shared = table(workspace, "workspace", "dependencies")
    added: dict[tuple[str, str], object] = {}
    conflicts: list[str] = []
    lines: list[str] = []
    for section in SECTIONS:
        for name, needed in table(generated, section).items():
            there = _present(values, section, name)
            if isinstance(there, str | dict) and _line(section, name, there) not in ours:
                conflicts.extend(_problems(name, there, needed, shared))
                continue
            value = needed
            if name in shared:
                problems = _problems(name, shared[name], needed, {})
                conflicts.extend(f"[workspace.dependencies] {problem}" for problem in problems)
                if problems:
                    continue
                value = _from_workspace(needed)
            elif (other := _renamed(values, name)) is not None:
                conflicts.append(f"{name} is there under the name `{other}`; the generated code says `{name}`")
                continue
            lines.append(_line(section, name, value))
            if there != value:
                added[section, name] = value
    text = _with(theirs, added) if added else theirs
    _prove(theirs, text, values, added)
    return ManifestEdit(text, tuple(lines), tuple(conflicts))


def _present(values: Toml, section: str, name: str) -> object:
    """How `name` is asked for; what is a dependency already need not be one for tests alone."""
    there = table(values, section).get(name)
    return table(values, "dependencies").get(name) if there is None and section == "dev-dependencies" else there


def _line(section: str, name: str, value: object) -> str:
    return f"{section}.{name} = {_toml(value)}"


def _toml(value: object) -> str:
    """In the form that Cargo's own documentation has."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(part)}" for key, part in value.items()) + " }"
    return tomlkit.item(value).as_string()


def _from_workspace(needed: object) -> dict[str, object]:
    extra = {key: value for key, value in needed.items() if key != "version"} if isinstance(needed, dict) else {}
    return {"workspace": True, **extra}


def _renamed(values: Toml, name: str) -> str | None:
    for section in SECTIONS:
        for other, value in table(values, section).items():
            if isinstance(value, dict) and value.get("package") == name:
                return other
    return None


def _problems(name: str, there: object, needed: object, shared: Toml) -> list[str]:
    """Why the dependency that is there cannot serve."""
    if isinstance(there, dict) and there.get("workspace") is True:
        return _problems(name, shared.get(name, {}), needed, {})
    if isinstance(there, dict) and there.get("package", name) != name:
        return [f"{name} is the name of another package there, {there['package']}"]
    wanted, version = _version(needed), _version(there)
    found: list[str] = []
    if wanted is not None and version is not None and agree(version, wanted) is False:
        found.append(f'{name} = "{version}" is there, "{wanted}" is needed')
    missing = [f for f in _features(needed) if f not in _features(there)]
    if missing:
        found.append(f"{name} is there without the features {', '.join(missing)}; add them")
    if isinstance(there, dict) and there.get("optional") is True:
        found.append(f"{name} is optional there; the generated code always needs it")
    return found


def _version(value: object) -> str | None:
    if isinstance(value, dict):
        value = value.get("version")
    return value if isinstance(value, str) else None


def _features(value: object) -> tuple[str, ...]:
    features = value.get("features", []) if isinstance(value, dict) else []
    return tuple(f for f in features if isinstance(f, str)) if isinstance(features, list) else ()


def _with(theirs: str, added: Mapping[tuple[str, str], object]) -> str:
    """Comments, order and spaces stay: tomlkit changes no more than it is told."""
    try:
        document = tomlkit.parse(theirs)
        for (section, name), value in added.items():
            if section not in document:
                document.append(section, tomlkit.table())
            document[section][name] = tomlkit.parse(f"value = {_toml(value)}\n")["value"]
        return tomlkit.dumps(document)
    except (TOMLKitError, TypeError, KeyError, AttributeError) as error:
        raise ManifestError(f"Cargo.toml: the dependencies cannot be added ({error}); add them by hand") from None


def _prove(before: str, after: str, values: Toml, added: Mapping[tuple[str, str], object]) -> None:
    """That `after` is `before` and the additions, whatever tomlkit did. Raises `ManifestError`."""
    wanted: dict[str, object] = dict(values)
    for (section, name), value in added.items():
        wanted[section] = {**table(wanted, section), name: value}
    changed = {f"{name}" for _, name in added}
    lines = iter(after.splitlines())
    kept = all(line in lines for line in before.splitlines() if line.split("=")[0].strip() not in changed)
    if not kept or parse(after, "Cargo.toml") != wanted:
        names = ", ".join(sorted(changed))
        raise ManifestError(f"Cargo.toml: {names} cannot be added without changing other lines; add them by hand")

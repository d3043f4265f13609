"""Command lines of scripts: what `argparse` gives where nothing is typed, from the defaults of its options."""

from __future__ import annotations

from ferrotile.signatures.tensors import Arguments
from ferrotile.signatures.values import UNKNOWN, Instance, Known, Sequence, Table, Unknown, Value

_MARK = "()parser"
_CHILDREN = ("add_argument_group", "add_mutually_exclusive_group")
_METHODS = ("add_argument", "parse_args", "parse_known_args", "set_defaults", *_CHILDREN)


def make_parser() -> Instance:
    """An `argparse.ArgumentParser`."""
    return Instance(None, {_MARK: Instance(None)})


def is_parser_method(owner: Value, name: str) -> bool:
    return isinstance(owner, Instance) and _MARK in owner.fields and name in _METHODS


def parser_method(owner: Instance, name: str, arguments: Arguments) -> Value:
    """`add_argument`, `parse_args` and their like. An option is what its default says."""
    options = owner.fields[_MARK]
    assert isinstance(options, Instance)
    match name:
        case "add_argument":
            _add(options, arguments)
            return UNKNOWN
        case "set_defaults":
            options.fields.update(arguments.named)
            return UNKNOWN
        case "parse_args":
            return Instance(None, dict(options.fields))
        case "parse_known_args":
            return Sequence((Instance(None, dict(options.fields)), UNKNOWN))
        case _:
            return owner  # a group of options, all of which the parser has


def _add(options: Instance, arguments: Arguments) -> None:
    flags = [f.value for f in arguments.positional if isinstance(f, Known) and isinstance(f.value, str)]
    given = arguments.named.get("dest")
    if isinstance(given, Known) and isinstance(given.value, str):
        name = given.value
    elif flags:
        name = next((f for f in flags if f.startswith("--")), flags[0])
    else:
        return
    options.fields[name.lstrip("-").replace("-", "_")] = _default(arguments)


def _default(arguments: Arguments) -> Value:
    default, action = arguments.named.get("default"), arguments.named.get("action")
    match default:
        case Known(value=bool() as flag):
            return Unknown(None, "bool", flag)
        case None | Known(value=None):
            pass
        case _:
            return default
    match action:
        case Known(value="store_true"):
            return Unknown(None, "bool", False)
        case Known(value="store_false"):
            return Unknown(None, "bool", True)
        case _:
            pass
    choices = arguments.named.get("choices")
    if default is None and isinstance(choices, Sequence) and choices.items:
        return choices.items[0]
    return UNKNOWN if default is None else default


def namespace_table(value: Value | None) -> Value:
    """`vars(args)`."""
    if not isinstance(value, Instance) or value.of is not None:
        return UNKNOWN
    return Table({k: v for k, v in value.fields.items() if k != _MARK})

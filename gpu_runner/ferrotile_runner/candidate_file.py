"""A file of Rust kernels as `ferrotile-host` reads it: modules, entries, parameters; and the part of it that compilers
get to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ferrotile_runner import json_values as read
from ferrotile_runner.candidate_error import CandidateError, NoEntry

MOST_BYTES = 128 * 1024
"""Of a file of kernels."""

Extent = int | str
"""A number, or the name of a const generic or constant; `S[1]` is an element of an array generic."""


class Place(Struct, frozen=True):
    """Lines from 1, columns from 0 in characters; the end is behind the last character."""

    line: int
    column: int
    end_line: int
    end_column: int


class Parameter(Struct, frozen=True):
    """`kind`: tensor, tensor_mut, mapped, pointer, scalar, other. `shape`: extents of a tensor, the tile of a `&mut` or
    mapped one; a name = an array generic; None = none, or one that cannot be read."""

    name: str
    kind: str
    line: int
    dtype: str | None = None
    shape: tuple[Extent, ...] | str | None = None
    mutable: bool = False


class Generic(Struct, frozen=True):
    """`kind`: type, const, array (of `rank` numbers), lifetime; `type` of its numbers: `i32`, `bool`."""

    name: str
    kind: str
    type: str | None = None
    rank: int = 0


class EntryText(Struct, frozen=True):
    """An entry as it is declared."""

    name: str
    line: int
    is_unsafe: bool
    generics: tuple[Generic, ...]
    parameters: tuple[Parameter, ...]


class Refused(Struct, frozen=True):
    """What no compiler gets to see (`docs/verify-rust.md`)."""

    line: int
    words: str


class ModuleText(Struct, frozen=True):
    """A `#[cutile::module]`; `constants` are those of its `const`s that are numbers."""

    name: str
    place: Place
    entries: tuple[EntryText, ...]
    constants: Mapping[str, int]
    unsafe_blocks: int
    refused: tuple[Refused, ...]


class RustFile(Struct, frozen=True):
    """`uses`: the `use cutile::...` beside the modules."""

    modules: tuple[ModuleText, ...]
    uses: tuple[Place, ...]


def rust_file(answer: Mapping[str, object]) -> RustFile:
    """The answer of `HostClient.entries`."""
    return RustFile(
        tuple(_module(read.mapping(one)) for one in read.items(answer["modules"])),
        tuple(_place(one) for one in read.items(answer["uses"])),
    )


def _place(value: object) -> Place:
    found = read.mapping(value)
    return Place(*(read.integer(found[key]) for key in ("line", "column", "end_line", "end_column")))


def _module(found: Mapping[str, object]) -> ModuleText:
    constants = read.mapping(found["constants"])
    refused = [read.mapping(one) for one in read.items(found["refused"])]
    return ModuleText(
        name=read.text(found["name"]),
        place=_place(found["span"]),
        entries=tuple(_entry(read.mapping(one)) for one in read.items(found["entries"])),
        constants={name: value for name, value in constants.items() if isinstance(value, int)},
        unsafe_blocks=read.integer(found["unsafe_blocks"]),
        refused=tuple(Refused(read.integer(one["line"]), read.text(one["words"])) for one in refused),
    )


def _entry(found: Mapping[str, object]) -> EntryText:
    return EntryText(
        name=read.text(found["name"]),
        line=_place(found["place"]).line,
        is_unsafe=found["unsafe"] is True,
        generics=tuple(_generic(read.mapping(one)) for one in read.items(found["generics"])),
        parameters=tuple(_parameter(read.mapping(one)) for one in read.items(found["parameters"])),
    )


def _generic(found: Mapping[str, object]) -> Generic:
    kind, of = found.get("type"), found.get("rank")
    rank = of if isinstance(of, int) else 0
    return Generic(read.text(found["name"]), read.text(found["kind"]), kind if isinstance(kind, str) else None, rank)


def _parameter(found: Mapping[str, object]) -> Parameter:
    dtype = found.get("dtype")
    return Parameter(
        name=read.text(found["name"]),
        kind=read.text(found["kind"]),
        line=_place(found["place"]).line,
        dtype=dtype if isinstance(dtype, str) else None,
        shape=_shape(found.get("shape")),
        mutable=found.get("mutable") is True,
    )


def _shape(value: object) -> tuple[Extent, ...] | str | None:
    if value is None or isinstance(value, str):
        return value
    found = tuple(map(_extent, read.items(value)))
    return None if None in found else tuple(e for e in found if e is not None)


def _extent(value: object) -> Extent | None:
    if value is None or isinstance(value, int | str):
        return value
    element = read.mapping(value)
    return f"{read.text(element['array'])}[{read.integer(element['index'])}]"


def chosen(file: RustFile, entry: str | int | None) -> tuple[ModuleText, EntryText]:
    """The entry `name` or `module::name`, or the first one below a line; by default the only one. Raises
    CandidateError, with a list of what there is."""
    found = [(module, one) for module in file.modules for one in module.entries]
    if not found:
        raise CandidateError(
            "no kernel here: an entry is a function with `#[cutile::entry()]` in a `#[cutile::module] mod ... { }`"
        )
    if isinstance(entry, int):
        below = [(module, one) for module, one in found if one.line > entry]
        if below:
            return min(below, key=lambda pair: pair[1].line)
        raise CandidateError("there is no entry below this line", entry)
    module_name, _, name = (entry or "").rpartition("::")
    fitting = [
        (module, one) for module, one in found if not entry or (one.name == name and module_name in ("", module.name))
    ]
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(_shown(found))
    if entry and not fitting:
        raise NoEntry(f"there is no entry `{entry}`, but {listed}")
    raise CandidateError(f"several entries: name one of {listed} as `FILE.rs::entry`")


def _shown(entries: Sequence[tuple[ModuleText, EntryText]]) -> list[str]:
    names = [one.name for _, one in entries]
    return [
        f"`{module.name}::{one.name}` (line {one.line})"
        if names.count(one.name) > 1
        else f"`{one.name}` (line {one.line})"
        for module, one in entries
    ]


def seen_by_compilers(text: str, file: RustFile, module: ModuleText) -> str:
    """The module and the `use cutile::...` beside it, at their lines and columns; the rest of the file is left out."""
    places = (module.place, *file.uses)
    shown: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        kept = "".join(
            character if any(_within(place, number, column) for place in places) else " "
            for column, character in enumerate(line)
        )
        shown.append(kept.rstrip() if not _within(module.place, number, len(line)) else kept)
    return "\n".join(shown).rstrip() + "\n"


def _within(place: Place, line: int, column: int) -> bool:
    return (place.line, place.column) <= (line, column) < (place.end_line, place.end_column)

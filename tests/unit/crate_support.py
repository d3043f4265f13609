"""Crates of small kernels, and the checks of their host functions evaluated on extents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ferrotile.crate.host import host_of
from ferrotile.crate.host_model import Bind, Check, Host, Let
from ferrotile.crate.model import PythonFile
from ferrotile.crate.plan import Planned, plan_kernel
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import Options

HEAD = "import cuda.tile as ct\nimport torch\n\n\n"


def python_file(text: str, stem: str = "k", options: Options | None = None) -> PythonFile:
    """A file of this text, translated."""
    options = options or Options()
    document = Document(text)
    found = translate_document(document, options)
    assert found.module is not None
    path = f"{stem}.py"
    return PythonFile(stem, path, f"../{path}", document, found.module, found.kernels, found.parts, options)


def planned(text: str, options: Options | None = None) -> Planned:
    """The plan of a text's first kernel."""
    file = python_file(text, options=options)
    parts = file.parts[0]
    assert parts is not None, [d.message for d in file.kernels[0].diagnostics]
    return plan_kernel(file, file.kernels[0], parts)


def hosted(text: str, options: Options | None = None) -> Host:
    """The host function of a text's first kernel."""
    return host_of(planned(text, options))


class Refused(Exception):
    """A check does not hold; the message has its words."""


def tiles(extent: int, tile: int) -> int:
    return -(-extent // tile)


def launch(
    host: Host,
    shapes: Mapping[str, Sequence[int]],
    config: Mapping[str, int] | None = None,
    scalars: Mapping[str, int] | None = None,
    grid: tuple[int, int, int] | None = None,
) -> tuple[int, ...] | None:
    """The grid that is passed to the launch (None: the partition's), for contiguous arrays of these extents. Raises
    `Refused`."""
    names: dict[str, object] = {**(scalars or {}), "tiles": tiles}

    def value(text: str) -> int:
        text = re.sub(r"i64::from\(([^()]*)\)", r"\1", text)
        text = re.sub(r"config\.(\w+)", lambda m: str((config or {})[m[1]]), text)
        text = re.sub(r"grid\.(\d)", lambda m: str((grid or ())[int(m[1])]), text)
        text = re.sub(r"^(\w+)\.min\((\w+)\)$", r"min(\1, \2)", text)
        assert "min(" not in text[1:]
        found = eval(text, {}, names)
        assert isinstance(found, int)
        return found

    for step in host.steps:
        match step:
            case Bind(array=array, names=bound):
                if len(shapes[array]) != len(bound) or any(n < 1 for n in shapes[array]):
                    raise Refused(f"`{array}` is {shapes[array]}")
                names.update(zip(bound, shapes[array], strict=True))
            case Let(name=name, value=text):
                names[name] = value(text)
            case Check(method="same", arguments=(left, a, right, b)):
                if value(a) != value(b):
                    raise Refused(f"{left} {value(a)}, {right} {value(b)}")
            case Check(method="fixed", arguments=(left, a, b)):
                if value(a) != value(b):
                    raise Refused(f"{left} {value(a)}, not {value(b)}")
            case Check(method="multiple", arguments=(name, a, b)):
                if value(a) % value(b):
                    raise Refused(f"{name} {value(a)} % {value(b)}")
            case Check(method="inside", arguments=(name, axis, below, count)):
                if value(below) > value(count):
                    raise Refused(f"{name} axis {axis}: {value(below)} of {value(count)}")
            case Check(method="positive", arguments=(name, a)):
                if value(a) < 1:
                    raise Refused(name)
            case Check(method="blocks", arguments=(name, a)):
                if value(a) < 1:
                    raise Refused(name)
            case Check(method=method):
                assert method in ("distinct", "contiguous"), method
    return None if host.grid is None else tuple(value(text) for text in host.grid)

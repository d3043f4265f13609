"""The helper functions that hold the `unsafe` of a module: ordered loads and stores without TMA."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ferrotile.program.dtypes import DType
from ferrotile.program.types import Shape
from ferrotile.rust.layout import Code, array, atom, call, statement, unsafe_statement
from ferrotile.rust.types import Spelling
from ferrotile.rust.writer import Writer


@dataclass(frozen=True, slots=True)
class Helper:
    """A helper function: its name, lines (indented for the module) and number of unsafe blocks."""

    name: str
    lines: tuple[str, ...]
    unsafe: int
    generics: str = ""


_ORDERED = (
    "A load leaves a later store to its tensor unordered with it: both start from the tensor's token.",
    "So a tile that is read and then overwritten is loaded with its token, and the tensor's next",
    "access waits for that token.",
)
_NO_TMA = ("Stores this block's own tile without TMA, which is several times slower on single-row tiles.",)


def _names(spelling: Spelling, shape: Shape) -> list[str]:
    names: list[str] = []
    for size in shape:
        text = spelling.size(size)
        if not text.isdigit() and text not in names:
            names.append(text)
    return names


def _own_variable(dtype: DType, names: list[str]) -> DType:
    """The element type under the helper's own name for a type parameter."""
    if dtype.variable is None:
        return dtype
    return replace(dtype, variable=next(v for v in ("E", "T", "Element") if v not in names))


def _generics(dtype: DType, names: list[str]) -> str:
    parameters = [f"const {n}: i32" for n in names]
    if dtype.variable is not None:
        parameters.insert(0, f"{dtype.variable}: ElementType")
    return f"<{', '.join(parameters)}>" if parameters else ""


def _header(writer: Writer, head: str, parameters: list[str], result: str) -> None:
    one = f"{head}({', '.join(parameters)}){result} {{"
    if writer.indent + len(one) <= 100:
        writer.line(one)
    else:
        writer.line(f"{head}(")
        for parameter in parameters:
            writer.line(f"    {parameter},")
        writer.line(f"){result} {{")
    writer.deeper()


def _put(writer: Writer, prefix: str, code: Code, suffix: str = ";", unsafe: bool = False) -> None:
    layout = unsafe_statement if unsafe else statement
    for line in layout(prefix, code, suffix, writer.indent) or [f"{prefix}{code.text}{suffix}"]:
        writer.line(line)


def load_first(name: str, dtype: DType, owned: Shape | None, tile: Shape, spelling: Spelling) -> Helper:
    """A load that later accesses of the tensor wait for. `owned`: the block's own tile, else any tile of `&Tensor`."""
    writer = Writer(4)
    generics = _names(spelling, tile)
    turbofish = ", ".join(([dtype.variable] if dtype.variable else []) + generics)
    dtype = _own_variable(dtype, generics)
    shape, typed = spelling.shape(tile), spelling.tile(dtype, tile)
    rank = len(tile)
    names = "ijklmn"[:rank]
    for text in _ORDERED:
        writer.line(f"// {text}")
    tensor = f"z: &mut Tensor<{dtype}, {spelling.braces(tile)}>"
    extra: list[str] = []
    if owned is None:
        tensor = f"z: &Tensor<{dtype}, {{ [{', '.join(['-1'] * rank)}] }}>"
        extra = [f"{n}: i32" for n in names]
    _header(writer, f"fn {name}{_generics(dtype, generics)}", [tensor, *extra], f" -> {typed}")
    if owned is not None:
        for axis, letter in enumerate(names):
            writer.line(f"let {letter} = program_id({axis});")
    writer.line(
        "// SAFETY: the view starts from the tensor's own token"
        + ("." if owned is None else "; the tile is this block's own.")
    )
    view = call("make_partition_view", *map(atom, ("z", shape, "padding::None", "dim_map::Identity", "z.token()")))
    partition = f"Partition<{dtype}, {spelling.braces(tile)}>"
    _put(writer, f"let view: {partition} = ", view, unsafe=True)
    load = call(
        "load_view_raw", atom("&view"), array(*map(atom, names)), atom("Some(z.token())"), atom("ordering::Weak"),
        atom("scope::TileBlock"), atom("tma::Enabled"), atom("None"), array(*[atom("false")] * rank), atom(shape),
    )  # fmt: skip
    _put(writer, f"let (tile, done): ({typed}, Token) = ", load, unsafe=True)
    writer.line("unsafe { z.set_token(done) };")
    writer.line("tile")
    writer.back()
    writer.line("}")
    return Helper(name, tuple(writer.lines), 3, turbofish)


def store_row(name: str, dtype: DType, owned: Shape, tile: Shape, row_axis: int | None, spelling: Spelling) -> Helper:
    """A store of the block's own tile (or of tile `j` of its row) without TMA."""
    writer = Writer(4)
    generics = _names(spelling, (*owned, *tile))
    dtype = _own_variable(dtype, generics)
    shape = spelling.shape(tile)
    rank = len(tile)
    names = "ijk"[:rank]
    for text in _NO_TMA:
        writer.line(f"// {text}")
    parameters = [f"z: &mut Tensor<{dtype}, {spelling.braces(owned)}>", f"tile: {spelling.tile(dtype, tile)}"]
    if row_axis is not None:
        parameters.append(f"{names[row_axis]}: i32")
    _header(writer, f"fn {name}{_generics(dtype, generics)}", parameters, "")
    for axis, letter in enumerate(names):
        if axis != row_axis:
            writer.line(f"let {letter} = program_id({axis});")
    writer.line("// SAFETY: the view starts from the tensor's own token, and the tile is this block's own.")
    made = call("make_partition_view_mut", *map(atom, ("z", shape, "padding::None", "z.token()")))
    partition = f"PartitionMut<{dtype}, {spelling.braces(tile)}>"
    _put(writer, f"let mut view: {partition} = ", made, unsafe=True)
    store = call(
        "store_view_tko_mut", atom("&mut view"), atom("tile"), array(*map(atom, names)), atom("ordering::Weak"),
        atom("scope::TileBlock"), atom("None"), atom("tma::Disabled"),
    )  # fmt: skip
    _put(writer, "", store, unsafe=True)
    writer.back()
    writer.line("}")
    return Helper(name, tuple(writer.lines), 2)

"""The helper functions of a module, generic in element type and tile: what would else be said at length at every
access, and the only places that hold an access without a check."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from msgspec import Struct

from ferrotile.rust.journal import Journal
from ferrotile.rust.layout import Code, array, atom, call, statement, unsafe_statement
from ferrotile.rust.writer import Writer


class Helper(Struct, frozen=True):
    """A helper function: its name, lines (indented for the module) and number of unsafe blocks."""

    name: str
    lines: tuple[str, ...]
    unsafe: int


class Access(Struct, frozen=True):
    """How a view is read or written: through TMA or not, with the author's latency or none."""

    tma: bool = True
    latency: int | None = None

    @property
    def modes(self) -> tuple[Code, ...]:
        """The last arguments of a load, after ordering and scope."""
        latency = "None" if self.latency is None else f"Some({self.latency})"
        return (atom("Weak"), atom("TileBlock"), atom(latency), self.tma_code)

    @property
    def tma_code(self) -> Code:
        return atom(f"tma::{'Enabled' if self.tma else 'Disabled'}")

    @property
    def suffix(self) -> str:
        return "" if self.latency is None else f"_latency{self.latency}"


_ORDERED = (
    "A load leaves a later store to its tensor unordered with it: both start from the tensor's token.",
    "So a tile that is read and then overwritten is loaded with its token, and the tensor's next",
    "access waits for that token.",
)
_ROW = "Without TMA, which is several times slower on tiles with one row."
_UNCHECKED = "Without a bounds check, as in the Python: one that stays in a loop costs much of its speed."


def header(writer: Writer, head: str, parameters: Sequence[str], result: str = "") -> None:
    """A function's first line, broken as rustfmt would; the writer is inside the function after it."""
    one = f"{head}({', '.join(parameters)}){result} {{"
    if writer.indent + len(one) <= 100:
        writer.line(one)
    else:
        writer.line(f"{head}(")
        for parameter in parameters:
            writer.line(f"    {parameter},")
        writer.line(f"){result} {{")
    writer.deeper()


def put(writer: Writer, prefix: str, code: Code, suffix: str = ";", unsafe: bool = False) -> None:
    """One statement, broken as rustfmt would."""
    layout = unsafe_statement if unsafe else statement
    for line in layout(prefix, code, suffix, writer.indent) or [f"{prefix}{code.text}{suffix}"]:
        writer.line(line)


def _function(
    comments: Sequence[str], head: str, rank: int, parameters: Sequence[str], result: str = "", shapes: str = ""
) -> Writer:
    """The head of a helper, generic in the element type, the shape `S` and each letter of `shapes`."""
    writer = Writer(4)
    for text in comments:
        writer.line(f"// {text}")
    constants = "".join(f", const {letter}: [i32; {rank}]" for letter in f"S{shapes}")
    header(writer, f"{head}<E: ElementType{constants}>", parameters, result)
    return writer


def _dynamic(rank: int) -> str:
    """The extents of a tensor parameter that is only read."""
    return f"{{ [{', '.join(['-1'] * rank)}] }}"


def _end(writer: Writer, name: str, unsafe: int) -> Helper:
    writer.back()
    writer.line("}")
    return Helper(name, tuple(writer.lines), unsafe)


def load_padded(name: str, rank: int, access: Access, padding: str, fixed: bool) -> Helper:
    """An unchecked load of tile `i` of a tensor that is never written, padded as asked. `fixed`: some of the tensor's
    extents are."""
    comment = _UNCHECKED if access.tma else _ROW
    parameters = (f"x: &Tensor<E, {'D' if fixed else _dynamic(rank)}>", "s: Shape<S>", f"i: [i32; {rank}]")
    writer = _function((comment,), f"fn {name}", rank, parameters, " -> Tile<E, S>", "D" if fixed else "")
    writer.line("// SAFETY: the view starts from the tensor's own token and no block writes `x`.")
    ends = map(atom, ("x", "s", f"padding::{padding}", "dim_map::Identity", "x.token()"))
    put(writer, "let p: Partition<E, S> = ", call("make_partition_view", *ends), unsafe=True)
    # The JIT wants a typed local.
    put(writer, "let t: Tile<E, S> = ", call("load_view_tko", atom("&p"), atom("i"), *access.modes))
    writer.line("t")
    return _end(writer, name, 1)


def load(name: str, rank: int, access: Access) -> Helper:
    """An unchecked load of tile `i` of a view. The caller's local has a type: the JIT does not look into the view's."""
    comments = [_UNCHECKED if access.tma else _ROW]
    if access.latency is not None:
        comments.append("The latency is the author's hint.")
    parameters = ("p: &Partition<E, S>", f"i: [i32; {rank}]")
    writer = _function(comments, f"fn {name}", rank, parameters, " -> Tile<E, S>")
    put(writer, "", call("load_view_tko", atom("p"), atom("i"), *access.modes), "")
    return _end(writer, name, 0)


NAMES = frozenset(
    (
        "load_first", "load_early", "load_row", "load_vec", "store_row", "store_own", "store", "store_at", "mul_add",
        "fma0", "floor_div", "floor_mod", "gather_at", "scatter_at",
        *(
            f"{stem}{n}"
            for stem in ("fma_", "row_of_", "load_at", "load_l", "row_l", "load_padded_")
            for n in range(11)
        ),
    )
)  # fmt: skip
"""Names that no local of a kernel may hide."""
_LOADS = {(False, 2): "load_row", (False, 1): "load_vec"}
_SHORT = 8
"""The longest name of a load with a head on one line."""


def load_wish(rank: int, access: Access) -> str:
    """A name for a load, short enough that its head fits on one line."""
    if access.latency is not None:
        return f"{'load' if access.tma else 'row'}_l{access.latency}"[:_SHORT]
    return _LOADS.get((access.tma, rank), f"load_at{rank}" if access.tma else f"row_of_{rank}")


def store_own(name: str, rank: int, access: Access) -> Helper:
    """A store of the one tile that a block owns."""
    comment = "Stores this block's own tile" + (" without TMA, slow on tiles with one row." if not access.tma else ".")
    parameters = ("z: &mut Tensor<E, S>", "t: Tile<E, S>")
    writer = _function((comment,), f"fn {name}", rank, parameters)
    writer.line("let mut p = z.partition_mut(z.shape());")
    first = f"[0i32; {rank}]"
    if access.latency is not None:  # keeps the call on one line
        writer.line(f"let i = {first};")
        first = "i"
    writer.line("// SAFETY: the block owns one tile, number 0 of the nested partition.")
    put(writer, "", call("store_view_tko_mut", *map(atom, ("&mut p", "t", first)), *access.modes), unsafe=True)
    return _end(writer, name, 1)


def store_at(name: str, rank: int, access: Access, element: str | None) -> Helper:
    """An unchecked store of tile `i`, of one element type where it has a name; the caller answers for the index."""
    comment = "The caller owns tile `i`." + ("" if access.tma else f" {_ROW}")
    kind = element or "E"
    parameters = (f"p: &mut PartitionMut<{kind}, S>", f"t: Tile<{kind}, S>", f"i: [i32; {rank}]")
    writer = Writer(4)
    writer.line(f"// {comment}")
    types = "" if element else "E: ElementType, "
    header(writer, f"unsafe fn {name}<{types}const S: [i32; {rank}]>", parameters)
    put(writer, "", call("store_view_tko_mut", *map(atom, ("p", "t", "i")), *access.modes))
    return _end(writer, name, 0)


def load_first(
    name: str, rank: int, owned: bool, access: Access, padding: str = "None", several: bool = False
) -> Helper:
    """A load that later accesses of the tensor wait for: of the block's own tile, else of tile `at` of `&Tensor`.
    `several`: one of a row, which all start from one token."""
    if owned:
        parameters = ["z: &mut Tensor<E, S>"]
        own, index = atom("z.shape()"), array(*(call("program_id", atom(str(d))) for d in range(rank)))
    else:
        parameters = [f"z: &Tensor<E, {_dynamic(rank)}>", "own: Shape<S>", f"at: [i32; {rank}]"]
        own, index = atom("own"), atom("at")
    if several:
        parameters.append("start: Token")
    writer = _function(_ORDERED, f"fn {name}", rank, parameters, " -> Tile<E, S>")
    if owned:
        put(writer, "let at = ", index)
    rest = "; the tile is this block's own." if owned else "."
    writer.line(f"// SAFETY: the view starts from the tensor's own token{rest}")
    ends = (f"padding::{padding}", "dim_map::Identity", "z.token()")
    made = call("make_partition_view", atom("z"), own, *map(atom, ends))
    put(writer, "let view: Partition<E, S> = ", made, unsafe=True)
    latency = "None" if access.latency is None else f"Some({access.latency})"
    code = call(
        "load_view_raw", atom("&view"), atom("at"), atom(f"Some({'start' if several else 'z.token()'})"), atom("Weak"),
        atom("TileBlock"), access.tma_code, atom(latency), array(*[atom("false")] * rank), own,
    )  # fmt: skip
    put(writer, "let (tile, done): (Tile<E, S>, Token) = ", code, unsafe=True)
    after = "join_tokens(&[z.token(), done])" if several else "done"
    writer.line(f"unsafe {{ z.set_token({after}) }};")
    writer.line("tile")
    return _end(writer, name, 3)


def mul_add(name: str, rank: int, single: bool) -> Helper:
    """`a * b + c`, rounded once; of f32 tiles where `single`, which keeps the head on one line."""
    tile = ("Tile<f32, S>" if rank else "Tile<f32, { [] }>") if single else "Tile<E, S>"
    parameters = (f"a: {tile}", f"b: {tile}", f"c: {tile}")
    comment = "`a * b + c`, rounded once: cuTile Python's compiler contracts it."
    writer = Writer(4)
    writer.line(f"// {comment}")
    generics = [*([] if single else ["E: ElementType"]), *([] if single and not rank else [f"const S: [i32; {rank}]"])]
    header(writer, f"fn {name}<{', '.join(generics)}>" if generics else f"fn {name}", parameters, f" -> {tile}")
    put(writer, "", call("fma", *map(atom, ("a", "b", "c", "rounding::NearestEven", "ftz::Disabled"))), "")
    return _end(writer, name, 0)


class Helpers:
    """The helper functions that a module needs, each under the name it is called by."""

    def __init__(self, journal: Journal) -> None:
        self._names: dict[Hashable, str] = journal.dict()
        self.functions: dict[str, Helper] = journal.dict()

    def get(self, key: Hashable, wish: str, make: Callable[[str], Helper]) -> str:
        """The name of the helper with this key, made on first use."""
        if key not in self._names:
            name, number = wish, 2
            while name in self.functions:
                name, number = f"{wish}_{number}", number + 1
            self._names[key] = name
            self.functions[name] = make(name)
        return self._names[key]

"""Helper functions that gather, scatter and combine single elements of an array: addresses, mask, access."""

from __future__ import annotations

from msgspec import Struct

from ferrotile.passes.elements import ElementAccess
from ferrotile.program.dtypes import U64, DType, Kind
from ferrotile.program.types import Shape, TileType
from ferrotile.rust.layout import CALL_WIDTH, Code, atom, binary, call, method, statement, unsafe_statement
from ferrotile.rust.safety import Helper, header
from ferrotile.rust.targets.cutile_0_5 import ORDERING, SCOPE
from ferrotile.rust.writer import Writer

_LETTERS = "ijklmn"
_AXES = "CDFGHKLMN"
_ORDER = "o: Token"
_WIDE = 80
"""Longer sums are taken in steps."""
_MODES = {
    "add": ("Add", "Add", "AddF"), "max": ("Max", "Umax", "Max"), "min": ("Min", "Umin", "Min"),
    "and": ("And", "And", "And"), "or": ("Or", "Or", "Or"), "xor": ("Xor", "Xor", "Xor"),
    "xchg": ("Xchg", "Xchg", "Xchg"),
}  # fmt: skip
"""Mode -> its name for signed, unsigned and float elements (`Max` of unsigned elements would be signed)."""


class Request(Struct, frozen=True):
    """What a helper has to do. `ordered` helpers take and give a token; `used` says whether the result is wanted;
    `shared` that the array is written, `proved` that the access cannot race."""

    access: ElementAccess
    dtype: DType
    ordered: bool
    used: bool
    shared: bool
    proved: bool
    sizes: tuple[str, ...] = ()
    """How the kernel spells the lanes' shape."""
    zero: bool = False
    """Whether the padding is 0, which needs no argument."""

    @property
    def generic(self) -> bool:
        """Whether the helper can be generic: the JIT does not resolve generics in the type of a tuple's part."""
        return not (self.ordered and self.used)

    @property
    def element(self) -> str:
        return "E" if self.generic else str(self.dtype)

    @property
    def opcode(self) -> str:
        return self.access.operation.opcode

    @property
    def stem(self) -> str:
        """The helper's name, without a number."""
        if self.opcode == "atomic_rmw":
            return f"atomic_{self.access.operation.attribute('mode')}_at"
        return {"gather": "gather_at", "scatter": "scatter_at", "atomic_cas": "atomic_cas_at"}[self.opcode]


def strides_helper(rank: int) -> Helper:
    """Reads the strides that are passed to the kernel with each array of this rank."""
    name = f"strides_of_{rank}"
    dims = _braces(("-1",) * rank)
    writer = Writer(4)
    writer.line("// The strides of all axes but the last, whose stride is 1: cutile passes them but has no accessor.")
    writer.line('#[cuda_tile::compiler_op(name = "return_type_meta_field", type_meta_field = "strides")]')
    header(writer, f"fn {name}<E: ElementType>", [f"x: &Tensor<E, {dims}>"], f" -> Shape<{dims}>")
    writer.line("unreachable!()")
    writer.back()
    writer.line("}")
    return Helper(name, tuple(writer.lines), 0)


def pads_lanes(request: Request) -> bool:
    """Whether a gather has its padding from the load, as in the Python, rather than from a `select` behind it, which
    keeps the assembler from copying the elements past the registers. Of bools, a mask and a padding look alike in Tile
    IR."""
    access = request.access
    filled = access.padding is not None and (access.bounds or access.mask is not None)
    return filled and access.shape != () and request.dtype.kind is not Kind.BOOL


def padded_load_name(rank: int) -> str:
    """Of `padded_load_helper`."""
    return f"load_padded_{rank}"


def padded_load_helper(rank: int) -> Helper:
    """The core's `load_ptr_tko` with a padding for each lane. The core declares a scalar, which its JIT spreads to
    tiles of one axis only; a tile it takes as it is."""
    writer = Writer(4)
    writer.line("// `load_ptr_tko` with a padding for each lane, where the core's has one for all.")
    writer.line('#[cuda_tile::op(name = "cuda_tile.load_ptr_tko", params = ["source"])]')
    generics = f"E: ElementType, P: PointerTo<E>, const S: [i32; {rank}], const CYCLES: i32"
    parameters = [
        "source: PointerTile<P, S>",
        "memory_ordering: Weak",
        "memory_scope: Option<Device>",
        "mask: Option<Tile<bool, S>>",
        "padding: Option<Tile<E, S>>",
        "token: Option<Token>",
        "latency: Latency<CYCLES>",
    ]
    header(writer, f"unsafe fn {padded_load_name(rank)}<{generics}>", parameters, " -> (Tile<E, S>, Token)")
    writer.line("unreachable!()")
    writer.back()
    writer.line("}")
    return Helper(padded_load_name(rank), tuple(writer.lines), 0)


def scalar_padding(request: Request) -> bool:
    """Whether the padding is passed as a scalar rather than a tile."""
    padding = request.access.padding
    return padding is not None and isinstance(padding.type, TileType) and not padding.type.shape


class _Lanes:
    """Spells shapes in terms of the lanes' axes: each one that is not 1 is a const generic, or the kernel's own."""

    def __init__(self, request: Request) -> None:
        shape = request.access.shape
        names = tuple(_AXES[len(_AXES) - len(shape) :]) if request.generic else request.sizes
        self.axes = tuple("1" if s.value == 1 else name for s, name in zip(shape, names, strict=True))
        symbols = dict.fromkeys(axis for axis in self.axes if not axis.isdigit())
        types = [f"{request.element}: ElementType"] if request.generic or request.dtype.variable else []
        self.generics = ", ".join((*types, *(f"const {name}: i32" for name in symbols)))

    def of(self, shape: Shape) -> tuple[str, ...]:
        """The axes of an operand, which broadcasts to the lanes."""
        tail = self.axes[len(self.axes) - len(shape) :]
        return tuple("1" if s.value == 1 else axis for s, axis in zip(shape, tail, strict=True))

    @property
    def ones(self) -> tuple[str, ...]:
        return ("1",) * len(self.axes)


def _braces(axes: tuple[str, ...]) -> str:
    return f"{{ [{', '.join(axes)}] }}"


def _shape(axes: tuple[str, ...]) -> Code:
    return atom(f"shape![{', '.join(axes)}]")


def _tile(element: str, axes: tuple[str, ...]) -> str:
    return f"Tile<{element}, {_braces(axes)}>"


class _Text:
    """Writes one helper."""

    def __init__(self, request: Request) -> None:
        self.request, self.access = request, request.access
        self.writer = Writer(4)
        self.lanes = _Lanes(request)

    def put(self, prefix: str, code: Code, unsafe: bool = False, suffix: str = ";") -> None:
        layout = unsafe_statement if unsafe else statement
        lines = layout(prefix, code, suffix, self.writer.indent)
        for line in lines if lines is not None else [f"{prefix}{code.text}{suffix}"]:
            self.writer.line(line)

    def wide(self, name: str, kind: TileType) -> None:
        """Makes an integer local a u64 tile of the lanes' shape. Signed values keep their sign: the comparison with
        the extent is unsigned, so that a negative index is outside. Spread last: the assembler then knows which lanes
        have the same, and moves what is the same in all rounds of a loop out of it."""
        ones, axes = self.lanes.ones, self.lanes.of(kind.shape)
        if kind.shape:
            axes = ("1",) * (len(ones) - len(axes)) + axes
            code = atom(name) if len(axes) == len(kind.shape) else method(atom(name), "reshape", _shape(axes))
        else:
            axes, code = ones, method(atom(name), "broadcast", _shape(ones))
        if kind.dtype != U64:
            code = call("bitcast" if kind.dtype.bits == 64 else "exti", code)
        if code.text != name:
            self.put(f"let {name}: {_tile('u64', axes)} = ", code)
        if axes != self.lanes.axes:
            self.put(f"let {name} = ", method(atom(name), "broadcast", _shape(self.lanes.axes)))

    def word(self, name: str, code: str) -> Code:
        """A word of the array (an i32 extent or stride) on all lanes."""
        ones, axes = self.lanes.ones, self.lanes.axes
        wide = call("exti", method(atom(code), "broadcast", _shape(ones)))
        self.put(f"let {name}: {_tile('u64', ones)} = ", wide)
        return atom(name) if ones == axes else method(atom(name), "broadcast", _shape(axes))

    def addresses(self) -> Code | None:
        """Emits `p` (pointers) and returns the mask: None when no lane is masked."""
        access, rank = self.access, self.access.rank
        names = ["offset"] if access.linear else list(_LETTERS[: len(access.index)])
        mask: str | None = "ok" if access.mask is not None else None
        for name, value in zip(names, access.index, strict=True):
            assert isinstance(value.type, TileType)
            self.wide(name, value.type)
        if access.bounds:
            inside: Code | None = None
            for axis, name in enumerate(names):
                extent = self.word(f"n{axis}", f"x.shape()[{axis}]")
                below = call("lt_tile", atom(name), extent)
                inside = below if inside is None else binary(inside, "&", below, 7)
            if mask is not None and inside is not None:
                inside = binary(inside, "&", atom("ok"), 7)
            if inside is not None:
                self.put("let ok = ", inside)
            mask = "ok"
        total: Code | None = None
        for axis, name in enumerate(names):
            part = atom(name)
            if not access.linear and axis != rank - 1:
                stride = self.word(f"s{axis}", f"strides_of_{rank}(x)[{axis}]")
                part = binary(part, "*", stride, 10)
            if total is not None and len(total.text) + len(part.text) > _WIDE:
                self.put("let at = ", total)
                total = atom("at")
            total = part if total is None else binary(total, "+", part, 9)
        self.pointers(total)
        return None if mask is None else atom(mask)

    def pointers(self, offset: Code | None) -> None:
        """Emits `p`: the array's base on all lanes, moved by the offset of each."""
        lanes = self.lanes
        base = method(atom("x"), "as_ptr")
        base = call("pointer_to_tile", call("cast_mut", base) if self.request.opcode != "gather" else base)
        if offset is None:  # the JIT takes a pointer tile that went through some operation only
            self.put("let p = ", method(base, "reshape", _shape(())))
            return
        if lanes.axes:
            base = method(base, "reshape", _shape(lanes.ones))
        self.put("let base = ", base)
        base = atom("base")
        if lanes.axes != lanes.ones:
            base = call("broadcast_ptr", base, _shape(lanes.axes))
        if len(base.text) + len(offset.text) + len(", ") > CALL_WIDTH:
            self.put("let at = ", offset)
            offset = atom("at")
        self.put("let p = ", call("addptr_tile", base, offset))

    def fill(self) -> None:
        """Emits `fill`, the padding of each lane."""
        request, axes = self.request, self.lanes.axes
        zero = call("constant", atom(f"{request.element}::ZERO"), _shape(axes))
        code = atom("padding")
        if request.zero:
            code = zero
        elif scalar_padding(request):
            code = method(code, "broadcast", _shape(axes))
        self.put(f"let fill: {_tile(request.element, axes)} = ", code)

    def reason(self, mask: Code | None) -> str:
        access = self.access
        why = "`ok` keeps every lane within `x`" if access.bounds else "as in the Python, every lane is within `x`"
        if not access.bounds and mask is not None:
            why = "as in the Python, every lane of `ok` is within `x`"
        if self.request.opcode == "scatter":
            if self.request.proved:
                why += ", and indices are one to one in block and lane"
            else:
                promise = "" if why.startswith("as in") else "as in the Python, "
                why += f", and {promise}no two lanes write one element"
        elif self.request.opcode != "gather":
            why += ", and the access is atomic"
        elif not self.request.shared:
            why += ", which no block writes"
        elif self.request.proved:
            why += ", and no other block writes these elements"
        return f"// SAFETY: {why}."

    def access_code(self, mask: Code | None) -> tuple[Code, bool]:
        """The access itself, and whether its padding is still to be filled in."""
        operation, request = self.access.operation, self.request
        masked = atom("None") if mask is None else call("Some", mask)
        token = atom("Some(o)" if request.ordered else "None")
        weak = (atom("Weak"), atom("None::<Device>"))  # weak accesses have no scope
        latency = atom(f"Latency::<{operation.attribute('latency') or 0}>")
        match request.opcode:
            case "gather":
                padded = self.access.padding is not None and mask is not None
                if padded and pads_lanes(request):
                    name = padded_load_name(len(self.lanes.axes))
                    return call(name, atom("p"), *weak, masked, atom("Some(fill)"), token, latency), False
                inline = padded and request.dtype.kind is Kind.BOOL and scalar_padding(request)
                inline = inline and len(self.lanes.axes) < 2
                pad = atom("Some(padding)" if inline else "None")
                code = call("load_ptr_tko", atom("p"), *weak, masked, pad, token, latency)
                return code, padded and not inline
            case "scatter":
                return call("store_ptr_tko", atom("p"), atom("t"), *weak, masked, token, latency), False
        order = atom(f"ordering::{ORDERING[str(operation.attribute('memory_order'))]}")
        scope = atom(f"scope::{SCOPE[str(operation.attribute('memory_scope'))]}")
        if request.opcode == "atomic_cas":
            values = (atom("p"), atom("expected"), atom("desired"))
            return call("atomic_cas_tko", *values, order, scope, masked, token), False
        mode = atom(f"atomic::{atomic_mode(str(operation.attribute('mode')), request.dtype)}")
        return call("atomic_rmw_tko", atom("p"), atom("value"), mode, order, scope, masked, token), False


def atomic_mode(mode: str, dtype: DType) -> str:
    """The name in `atomic::` of a mode for elements of a type."""
    signed, unsigned, floating = _MODES[mode]
    return floating if dtype.is_float else signed if dtype.name.startswith("i") else unsigned


_VALUE_NAMES = {"gather": (), "scatter": ("t",), "atomic_rmw": ("value",), "atomic_cas": ("expected", "desired")}


def _parameters(request: Request, lanes: _Lanes) -> list[str]:
    access = request.access
    dims = ", ".join(["-1"] * access.rank)
    found = [f"x: &Tensor<{request.element}, {{ [{dims}] }}>"]
    names = ["offset"] if access.linear else list(_LETTERS[: len(access.index)])
    for name, value in zip(names, access.index, strict=True):
        assert isinstance(value.type, TileType)
        kind = value.type
        found.append(f"{name}: {_tile(str(kind.dtype), lanes.of(kind.shape)) if kind.shape else kind.dtype}")
    whole = _tile(request.element, lanes.axes)
    found += [f"{name}: {whole}" for name in _VALUE_NAMES[request.opcode]]
    if access.padding is not None and not request.zero:
        found.append(f"padding: {request.element if scalar_padding(request) else whole}")
    if access.mask is not None:
        found.append(f"ok: {_tile('bool', lanes.axes)}")
    if request.ordered:
        found.append(_ORDER)
    return found


def element_helper(name: str, request: Request) -> Helper:
    """The helper function of a gather, scatter or atomic."""
    text = _Text(request)
    writer, lanes = text.writer, text.lanes
    writer.line(f"// {_comment(request)}")
    result = _tile(request.element, lanes.axes)
    returns = result if request.used else None
    if request.ordered:
        returns = f"({result}, Token)" if request.used else "Token"
    head = f"fn {name}<{lanes.generics}>" if lanes.generics else f"fn {name}"
    header(writer, head, _parameters(request, lanes), f" -> {returns}" if returns else "")
    mask = text.addresses()
    code, late = text.access_code(mask)
    if request.opcode == "gather" and mask is not None and pads_lanes(request):
        text.fill()
    writer.line(text.reason(mask))
    if request.opcode == "scatter":
        text.put("", code, unsafe=True, suffix="" if request.ordered else ";")
    else:
        done = "done" if request.ordered else "_"
        found = "found" if request.used else "_"
        text.put(f"let ({found}, {done}): ({result}, Token) = ", code, unsafe=True)
        final = atom("found")
        if late:
            fill = atom("padding")
            if scalar_padding(request):
                fill = method(fill, "broadcast", _shape(lanes.axes))
            final = call("select", mask or atom("ok"), final, fill)
        if request.ordered:
            if not final.text.isidentifier():
                text.put("let found = ", final)
                final = atom("found")
            final = atom(f"({final.text}, done)" if request.used else "done")
        if returns is not None:
            text.put("", final, suffix="")
    writer.back()
    writer.line("}")
    return Helper(name, tuple(writer.lines), 1)


def _comment(request: Request) -> str:
    access = request.access
    where = "at `offset` from the first" if access.linear else "at the indices"
    outside = "; lanes outside `x` are left out" if access.bounds else ""
    if request.opcode == "gather":
        if access.bounds and access.padding is not None:
            outside = f"; {'0' if request.zero else '`padding`'} for lanes outside `x`"
        return f"The elements of `x` {where}{outside}."
    verb = {"scatter": "Stores to", "atomic_cas": "Compares and swaps"}.get(request.opcode)
    if verb is None:
        verb = f"Atomic `{access.operation.attribute('mode')}` on"
    old = "; gives their old values" if request.used and request.opcode != "scatter" else ""
    return f"{verb} the elements of `x` {where}{outside}{old}."

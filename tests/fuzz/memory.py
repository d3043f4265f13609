"""The parts of random kernels that are about memory: arrays that are read and written, loops that store, guarded
stores, atomics, other orders of axes, tiled views, slices, raw memory, constant parameters.

Blocks stay out of each other's way, so that the original's result does not depend on their order: a block stores to
its own rows, reads written arrays only there, and atomics combine integers."""

from __future__ import annotations

from kernels import FLOATS, INTEGERS, Made, is_float, joined, short
from language import LanguageMaker

ZERO = ", padding_mode=ct.PaddingMode.ZERO"
ATOMIC = ("int32", "int64", "uint32", "uint64")


class MemoryMaker(LanguageMaker):
    """`LanguageMaker` with more kinds of statements. `w` is read and written, `a` is the target of atomics."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.kept = self.random.choice([*FLOATS[:3], "float32", "int32", "int64", "uint8"])
        self.counted = self.random.choice(ATOMIC)
        self.inputs: list[str] = []
        self.stored = False
        self.added = False

    @property
    def row(self) -> str:
        """The own tile of a block, as an index."""
        return "(i,)" if len(self.tile) == 1 else "(i, 0)"

    def control(self) -> None:
        kinds = [super().control, self.rows, self.update, self.pair, self.nested, self.guarded, self.atomic,
                 self.turned, self.viewed, self.cut, self.raw, self.constant, self.whole]  # fmt: skip
        self.random.choice(kinds)()

    def like(self, dtype: str) -> str:
        """Code of a value that fits a tile of `dtype`."""
        made = self.pick(lambda m: joined(m.shape, self.tile) == self.tile)
        if joined(made.shape, self.tile) != self.tile:
            return f"ct.full({self.tile}, 3, ct.{dtype})"
        return f"ct.broadcast_to({made.name}, {self.tile}).astype(ct.{dtype})"

    def loaded(self, index: str, array: int) -> str:
        padding = ZERO if self.random.random() < 0.7 else ""
        return f"ct.load(x{array}, {index}, {self.tile}{padding})"

    def rows(self) -> None:
        """Each tile of the block's row, made of an input's, into the own row of `w`."""
        if len(self.tile) == 1:
            return self.update()
        self.stored = True
        array = self.random.randrange(3)
        k, last = f"k{self.count}", f"ct.num_tiles(x0, axis=1, shape={self.tile})"
        self.line(f"for {k} in range({last}):")
        self.indent += 1
        known = len(self.scope)
        self.scope.append(Made(k, "int32", ()))
        self.define(self.loaded(f"(i, {k})", array), self.inputs[array], self.tile)
        for _ in range(self.random.randrange(3)):
            self.expression()
        self.line(f"ct.store(w, (i, {k}), {self.like(self.kept)})")
        self.indent -= 1
        del self.scope[known:]

    def update(self) -> None:
        """What the own tile of `w` holds, and something else stored there, perhaps read again."""
        self.stored = True
        self.define(f"ct.load(w, {self.row}, {self.tile}{ZERO})", self.kept, self.tile)
        self.expression()
        self.line(f"ct.store(w, {self.row}, {self.like(self.kept)})")
        if self.random.random() < 0.5:
            self.define(f"ct.load(w, {self.row}, {self.tile}{ZERO})", self.kept, self.tile)

    def guarded(self) -> None:
        self.stored = True
        self.line(f"if {self.random.choice(['n > 2', 'i != 1', 'f < 0.5', 'i < n'])}:")
        self.line(f"    ct.store(w, {self.row}, {self.like(self.kept)})")
        if self.random.random() < 0.4:
            self.line("else:")
            self.line(f"    ct.store(w, {self.row}, {self.like(self.kept)})")

    def pair(self) -> None:
        """Two values carried together: a running extreme and a sum that is rescaled by it."""
        best = self.define(f'ct.full({self.tile}, float("-inf"), ct.float32)', "float32", self.tile)
        total = self.define(f"ct.zeros({self.tile}, ct.float32)", "float32", self.tile)
        index = "(t,)" if len(self.tile) == 1 else "(t, 0)"
        array = self.random.randrange(3)
        self.line(f"for t in range({self.random.choice(['n', '3', '1, n', 'ct.cdiv(x0.shape[0], 16)'])}):")
        self.indent += 1
        value, new = self.fresh(), self.fresh()
        self.line(f"{value} = {self.loaded(index, array)}.astype(ct.float32)")
        self.line(f"{new} = ct.maximum({best.name}, {value})")
        scale = self.random.choice([f"ct.exp2({best.name} - {new})", f"({best.name} * f)", "0.5"])
        self.line(f"{total.name} = {total.name} * {scale} + {value}")
        self.line(f"{best.name} = {new}")
        self.indent -= 1

    def nested(self) -> None:
        """A loop in a loop, whose limit may be the outer variable."""
        source = self.number()
        made = self.define(source.name, source.dtype, source.shape)
        outer, inner = f"p{self.count}", f"q{self.count}"
        self.line(f"for {outer} in range({self.random.choice(['3', 'n', '1, 4'])}):")
        self.indent += 1
        if self.random.random() < 0.3:
            self.line(f"if {outer} == {self.random.choice('12n')}:")
            unsigned = made.dtype.startswith("u")
            steps = ["continue", "break", f"{made.name} = -{made.name}"]
            self.line(f"    {'continue' if unsigned else self.random.choice(steps)}")
        self.line(f"for {inner} in range({self.random.choice([outer, '2', f'{outer}, n', 'i'])}):")
        self.block(2, made, Made(outer, "int32", ()), Made(inner, "int32", ()))
        self.indent -= 1

    def atomic(self) -> None:
        """Commutative updates of `a`, which has as many elements as `x0` has rows."""
        self.added = True
        function = self.random.choice(["add", "max", "min", "and", "or", "xor"])
        lanes = f"{self.random.choice(['i * 4', 'i', 'n'])} + ct.arange(4, dtype=ct.int32)"
        index = self.random.choice(["i", "0", lanes])
        value = self.pick(lambda m: m.shape == () and not is_float(m.dtype) and m.dtype != "bool_")
        code = f"{value.name}.astype(ct.{self.counted})" if value.shape == () and not is_float(value.dtype) else "3"
        self.line(f"ct.atomic_{function}(a, {index}, {code})")

    def turned(self) -> None:
        """A tile with its axes in another order."""
        if len(self.tile) == 2:
            array = self.random.randrange(3)
            order = self.random.choice(['"F"', "(1, 0)"])
            code = f"ct.load(x{array}, (0, i), {self.tile[::-1]}, order={order}{ZERO})"
            self.define(code, self.inputs[array], self.tile[::-1])

    def viewed(self) -> None:
        array = self.random.randrange(3)
        shape = self.tile if self.tile[1:] else f"({self.tile[0]},)"
        view = f"x{array}.tiled_view({shape}{ZERO})"
        if self.random.random() < 0.5:
            name = self.fresh()
            self.line(f"{name} = {view}")
            view = name
        self.define(f"{view}.load({self.row})", self.inputs[array], self.tile)

    def cut(self) -> None:
        """A tile of a part of an array."""
        array = self.random.randrange(3)
        size = self.tile[0]
        start = self.random.choice([f"i * {size}", "0", "1"])
        part = self.fresh()
        self.line(f"{part} = x{array}.slice(axis=0, start={start}, stop=x{array}.shape[0])")
        index = "(0,)" if len(self.tile) == 1 else "(0, 0)"
        self.define(f"ct.load({part}, {index}, {self.tile}{ZERO})", self.inputs[array], self.tile)

    def raw(self) -> None:
        """Elements at offsets behind the array's pointer."""
        array = self.random.randrange(3)
        offset = self.fresh()
        self.line(f"{offset} = {self.random.choice(['i * 16', 'n', 'i'])} + ct.arange(16, dtype=ct.int32)")
        mask = f"({offset} < x{array}.shape[0]) & ({offset} >= 0)"
        code = f"x{array}.get_raw_memory().load_offset({offset}, mask={mask}, padding_value=1)"
        self.define(code, self.inputs[array], (16,))

    def constant(self) -> None:
        """A constant parameter, in arithmetic, in a condition, as a number of rounds."""
        a = self.number()
        made = self.define(a.name, a.dtype, a.shape)
        match self.random.randrange(3):
            case 0:
                self.line(f"if T > {self.random.choice('24')}:")
                self.line(f"    {made.name} = {made.name} + {made.name}")
            case 1:
                self.line(f"for s{self.count} in range(T):")
                self.line(f"    {made.name} = ({made.name} * T).astype(ct.{made.dtype})")
            case _:
                self.line(f"{made.name} = ({made.name} + T).astype(ct.{made.dtype})")

    def whole(self) -> None:
        """One element of an array, as a number."""
        array = self.random.randrange(3)
        index = self.random.choice(["i", "0"])
        full = f"({index},)" if len(self.tile) == 1 else f"({index}, 0)"
        self.define(f"ct.load(x{array}, {full}, {(1,) * len(self.tile)}).item()", self.inputs[array], ())

    def kernel(self, name: str) -> str:
        """The kernel's text with its helpers and its directive."""
        rank = self.random.choice([1, 2])
        self.tile = {1: (16,), 2: (4, 8)}[rank]
        symbols = {1: "N", 2: "M, N"}[rank]
        self.inputs = [self.random.choice([*FLOATS[:3], "float32", *INTEGERS, "int32"]) for _ in range(3)]
        parts = [f"x{k}: {short(d)}[{symbols}]" for k, d in enumerate(self.inputs)]
        self.line("i = ct.bid(0)")
        self.scope += [Made("n", "int32", ()), Made("f", "float32", ()), Made("i", "int32", ())]
        for k in range(2):
            self.define(self.loaded(self.row, k), self.inputs[k], self.tile)
        for _ in range(self.random.randrange(4, 10)):
            self.control() if self.random.random() < 0.4 else self.expression()
        for k in range(self.random.randrange(1, 4)):
            output = self.random.choice([*FLOATS[:3], "float32", "int32", "int64", "uint8"])
            parts.append(f"out{k}: {short(output)}[{symbols}]")
            value = self.like(output)
            if self.random.random() < 0.6:  # both values show, each in its lanes
                lanes = f"(ct.arange({self.tile[-1]}, dtype=ct.int32) < {self.random.choice('257')})"
                value = f"ct.where({lanes}, {value}, {self.like(output)})"
            self.line(f"ct.store(out{k}, {self.row}, {value})")
        if self.stored:
            parts.append(f"w: {short(self.kept)}[{symbols}]")
        if self.added:
            parts.append(f"a: {short(self.counted)}[{symbols[0]}]")
        parts += ["n: i32", "f: f32", f"T={self.random.choice('135')}", f"grid=({symbols[0]}/{self.tile[0]},)"]
        names = ", ".join(p.split(":")[0].split("=")[0] for p in parts[:-1])
        names = names.removesuffix("T") + "T: ct.Constant[int]"
        head = [f"# ferrotile: {', '.join(parts)}", "@ct.kernel", f"def {name}({names}):"]
        return "\n\n".join([*self.module, "\n".join([*head, *self.lines]) + "\n"])

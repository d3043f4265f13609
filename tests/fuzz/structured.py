"""Random kernels of the kinds that people write: planes and stacks of tiles, products of matrices (also in groups of
rows), statistics of rows and columns, persistent loops, rows that a table names.

What is random is how blocks are mapped to tiles, sizes, element types, padding, order of operands, and the arithmetic
around it."""

from __future__ import annotations

from kernels import FLOATS, INTEGERS, Made, is_float, joined, short
from language import LanguageMaker

ZERO = ", padding_mode=ct.PaddingMode.ZERO"


class StructuredMaker(LanguageMaker):
    """A kernel with a skeleton; the constants `TM`, `TN`, `TK` are tile sizes."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.sizes = {"TM": self.random.choice([2, 4, 8, 16]), "TN": self.random.choice([4, 8, 16]), "TK": 8}
        self.parts: list[str] = []
        self.grid = ""
        self.output = self.random.choice([*FLOATS[:3], "float32", "float32", "int32"])

    def array(self, name: str, dtype: str, axes: str) -> None:
        self.parts.append(f"{name}: {short(dtype)}[{axes}]")

    def element(self) -> str:
        return self.random.choice([*FLOATS[:3], "float32", "float32", *INTEGERS])

    def half(self) -> str:
        return self.random.choice(["float16", "bfloat16", "float32"])

    def value(self) -> str:
        """Code of a value that fits the tile, in the output's element type: often lanes of two values."""
        ranks = (0, len(self.tile))
        fits = [m for m in self.scope if len(m.shape) in ranks and joined(m.shape, self.tile) == self.tile]
        found = sorted(fits, key=lambda m: len(m.shape))[-4:] or [Made("n", "int32", ())]
        names = ", ".join(self.names)
        comma = "," if len(self.names) == 1 else ""
        first, second = (
            f"ct.broadcast_to({self.random.choice(found).name}, ({names}{comma})).astype(ct.{self.output})"
            for _ in range(2)
        )
        if self.random.random() < 0.5:
            return first
        return f"ct.where(ct.arange({self.names[-1]}, dtype=ct.int32) < 2, {first}, {second})"

    def over(self, *names: str) -> None:
        """The tile that blocks make, by the names of its sizes."""
        self.names = names
        self.tile = tuple(self.sizes.get(n, 1) for n in names)

    def around(self, least: int = 1) -> None:
        for _ in range(self.random.randrange(least, least + 4)):
            self.expression()

    def over_tiles(self) -> None:
        """Its arrays are others here."""

    def combine_axes(self) -> tuple[str, str]:
        """Code for the two coordinates of a block of a plane, and its grid."""
        match self.random.randrange(5):
            case 0:
                self.grid = "(N/TN, M/TM)"
                return "ct.bid(1)", "ct.bid(0)"
            case 1:
                self.grid = "(M/TM * N/TN,)"
                return "ct.bid(0) // ct.cdiv(x.shape[1], TN)", "ct.bid(0) % ct.cdiv(x.shape[1], TN)"
            case 2:
                self.grid = "(M/TM * N/TN,)"
                return "ct.bid(0) % ct.cdiv(x.shape[0], TM)", "ct.bid(0) // ct.cdiv(x.shape[0], TM)"
            case _:
                self.grid = "(M/TM, N/TN)"
                return "ct.bid(0)", "ct.bid(1)"

    def load(self, name: str, dtype: str, index: str, *sizes: str) -> Made:
        padding = self.random.choice([ZERO, ZERO, "", ", padding_mode=ct.PaddingMode.NEG_INF"])
        if not is_float(dtype) and "INF" in padding:
            padding = ZERO
        shape = tuple(self.sizes.get(s, 1) for s in sizes)
        sized = ", ".join(sizes) + ("," if len(sizes) == 1 else "")
        return self.define(f"ct.load({name}, {index}, ({sized}){padding})", dtype, shape)

    def plane(self) -> None:
        """Tiles of a plane, each made of the tiles of two arrays, perhaps of a row and a column."""
        self.over("TM", "TN")
        a, b = self.element(), self.element()
        self.array("x", a, "M, N")
        i, j = self.combine_axes()
        self.line(f"i, j = {i}, {j}")
        self.scope.append(Made("i", "int32", ()))
        self.load("x", a, "(i, j)", "TM", "TN")
        match self.random.randrange(3):
            case 0:
                self.array("y", b, "N")
                row = self.load("y", b, "(j,)", "TN")
                self.define(f"{row.name}[None, :]", b, (1, self.sizes["TN"]))
            case 1:
                self.array("y", b, "M")
                column = self.load("y", b, "(i,)", "TM")
                self.define(f"{column.name}[:, None]", b, (self.sizes["TM"], 1))
            case _:
                self.array("y", b, "M, N")
                self.load("y", b, "(i, j)", "TM", "TN")
        self.around(2)
        self.array("out", self.output, "M, N")
        self.line(f"ct.store(out, (i, j), {self.value()})")

    def stack(self) -> None:
        """Tiles of planes in a stack; the block ids in some order."""
        self.over("1", "TM", "TN")
        dtype = self.element()
        self.array("x", dtype, "B, M, N")
        order = self.random.sample(range(3), 3)
        grid = [("B", "M/TM", "N/TN")[axis] for axis in order]
        ids = [f"ct.bid({order.index(axis)})" for axis in range(3)]
        self.grid = f"({', '.join(grid)})"
        self.line(f"b, i, j = {', '.join(ids)}")
        self.scope.append(Made("i", "int32", ()))
        made = self.load("x", dtype, "(b, i, j)", "1", "TM", "TN")
        flat = self.define(f"{made.name}.reshape((TM, TN))", dtype, self.tile[1:])
        self.around(2)
        if self.random.random() < 0.5:
            self.define(f"{flat.name}.reshape((1, TM, TN))", dtype, self.tile)
        self.array("out", self.output, "B, M, N")
        self.line(f"ct.store(out, (b, i, j), {self.value()})")

    def product(self) -> None:
        """A product of matrices, whose second may be transposed; blocks may come in groups of rows."""
        self.sizes["TM"] = max(4, self.sizes["TM"])
        self.over("TM", "TN")
        dtype = self.half()
        turned = self.random.random() < 0.4
        self.array("x", dtype, "M, K")
        self.array("y", dtype, "N, K" if turned else "K, N")
        columns = "y.shape[0]" if turned else "y.shape[1]"
        if self.random.random() < 0.3:
            self.grid = "(M/TM * N/TN,)"
            self.line(f"rows, columns = ct.cdiv(x.shape[0], TM), ct.cdiv({columns}, TN)")
            self.line(f"group = {self.random.choice('248')}")
            self.line("first = ct.bid(0) // (group * columns) * group")
            self.line("size = min(rows - first, group)")
            self.line("i = first + ct.bid(0) % (group * columns) % size")
            self.line("j = ct.bid(0) % (group * columns) // size")
        else:
            self.grid = "(M/TM, N/TN)"
            self.line("i, j = ct.bid(0), ct.bid(1)")
        self.scope.append(Made("i", "int32", ()))
        total = self.define("ct.zeros((TM, TN), ct.float32)", "float32", self.tile)
        rounds = self.random.choice(["ct.num_tiles(x, axis=1, shape=(TM, TK))", "ct.cdiv(x.shape[1], TK)"])
        self.line(f"for k in range({rounds}):")
        index, shape = ("(j, k)", "(TN, TK)") if turned else ("(k, j)", "(TK, TN)")
        self.line(f"    p = ct.load(x, (i, k), (TM, TK){ZERO})")
        self.line(f"    q = ct.load(y, {index}, {shape}{ZERO})")
        factor = self.random.choice(["p", "p", "p * p", "p - 1"])
        self.line(f"    {total.name} = ct.mma({factor}, {'q.transpose()' if turned else 'q'}, {total.name})")
        self.around()
        self.array("out", self.output, "M, N")
        self.line(f"ct.store(out, (i, j), {self.value()})")

    def rows(self) -> None:
        """A statistic of each row, and the row made of it, in one or two passes over its tiles."""
        self.over("TM", "TN")
        dtype = self.half()
        self.array("x", dtype, "M, N")
        self.array("out", self.output, "M, N")
        self.grid = "(M/TM,)"
        self.line("i = ct.bid(0)")
        self.scope.append(Made("i", "int32", ()))
        start, step = self.random.choice(
            [("0", "s + ct.sum(t, axis=1, keepdims=True)"), ("1", "s * ct.max(t, axis=1, keepdims=True)"),
             ("0", "ct.maximum(s, ct.max(t, axis=1, keepdims=True))"),
             ("0", "s + ct.sum(t * t, axis=1, keepdims=True)")]
        )  # fmt: skip
        count = self.random.choice(["ct.num_tiles(x, axis=1, shape=(TM, TN))", "ct.cdiv(x.shape[1], TN)"])
        self.line(f"s = ct.full((TM, 1), {start}, ct.float32)")
        self.line(f"for j in range({count}):")
        self.line(f"    t = ct.load(x, (i, j), (TM, TN){ZERO}).astype(ct.float32)")
        self.line(f"    s = {step}")
        self.scope.append(Made("s", "float32", (self.sizes["TM"], 1)))
        self.around(0)
        self.line(f"for j in range({count}):")
        self.indent += 1
        known = len(self.scope)
        self.load("x", dtype, "(i, j)", "TM", "TN")
        self.around()
        self.line(f"ct.store(out, (i, j), {self.value()})")
        self.indent -= 1
        del self.scope[known:]

    def columns(self) -> None:
        """A sum of each column."""
        self.over("TN")
        dtype = self.half()
        self.array("x", dtype, "M, N")
        self.array("out", self.output, "N")
        self.grid = "(N/TN,)"
        self.line("i = ct.bid(0)")
        self.scope.append(Made("i", "int32", ()))
        total = self.define("ct.zeros((TN,), ct.float32)", "float32", self.tile)
        self.line("for k in range(ct.cdiv(x.shape[0], TM)):")
        self.line(f"    t = ct.load(x, (k, i), (TM, TN){ZERO}).astype(ct.float32)")
        self.line(f"    {total.name} = {total.name} + ct.{self.random.choice(['sum', 'max'])}(t, axis=0)")
        self.around()
        self.line(f"ct.store(out, (i,), {self.value()})")

    def persistent(self) -> None:
        """Fewer blocks than tiles: each takes every so manieth tile."""
        plane = self.random.random() < 0.5
        self.over("TM", "TN")
        dtype = self.element()
        self.array("x", dtype, "M, N")
        self.array("out", self.output, "M, N")
        self.grid = "(G,)"
        self.array("blocks", "int32", "G")  # the grid's axis needs an array of that length
        count = "ct.cdiv(x.shape[0], TM)" + (" * ct.cdiv(x.shape[1], TN)" if plane else "")
        self.line(f"for t in range(ct.bid(0), {count}, ct.num_blocks(0)):")
        self.indent += 1
        if plane:
            self.line("i, j = t // ct.cdiv(x.shape[1], TN), t % ct.cdiv(x.shape[1], TN)")
        else:
            self.line("i, j = t, 0")
        self.scope.append(Made("i", "int32", ()))
        self.load("x", dtype, "(i, j)", "TM", "TN")
        self.around(2)
        self.line(f"ct.store(out, (i, j), {self.value()})")
        self.indent -= 1

    def table(self) -> None:
        """Rows of an array that another one names, or that it scatters to."""
        self.over("TM", "TN")
        dtype = self.element()
        self.array("x", dtype, "M, N")
        self.array("ids", "int32", "R")
        self.array("out", self.output, "R, N")
        self.grid = "(R/TM, N/TN)"
        self.line("i, j = ct.bid(0), ct.bid(1)")
        self.scope.append(Made("i", "int32", ()))
        self.line(f"r = ct.load(ids, (i,), (TM,){ZERO})")
        self.line("c = j * TN + ct.arange(TN, dtype=ct.int32)")
        options = self.random.choice(["", ", padding_value=1", ", mask=(r[:, None] > 0) & (c[None, :] < x.shape[1])"])
        self.define(f"ct.gather(x, (r[:, None], c[None, :]){options})", dtype, self.tile)
        self.around()
        self.line(f"ct.store(out, (i, j), {self.value()})")

    def kernel(self, name: str) -> str:
        """The kernel's text with its helpers and its directive."""
        self.scope.append(Made("n", "int32", ()))
        kinds = [self.plane, self.plane, self.stack, self.product, self.rows, self.columns, self.persistent, self.table]
        self.random.choice(kinds)()
        self.parts += ["n: i32", "f: f32"]
        names = [part.split(":")[0] for part in self.parts] + [f"{s}: ct.Constant[int]" for s in self.sizes]
        sizes = [f"{s}={size}" for s, size in self.sizes.items()]
        head = [
            f"# ferrotile: {', '.join([*self.parts, *sizes])}, grid={self.grid}",
            "@ct.kernel",
            f"def {name}({', '.join(names)}):",
        ]
        return "\n\n".join([*self.module, "\n".join([*head, *self.lines]) + "\n"])

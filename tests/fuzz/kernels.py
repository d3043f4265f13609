"""Random cuTile Python kernels: mostly valid, all of them small, each decided by its seed alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "bool_": "bool"}


@dataclass(frozen=True, slots=True)
class Made:
    """A value in scope: a Python name, its dtype under cuTile's name and its shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]


def short(dtype: str) -> str:
    """`float16` -> `f16`, as directives write it."""
    stem = dtype.rstrip("0123456789")
    return SHORT[stem] + dtype[len(stem) :]


def is_float(dtype: str) -> bool:
    return "float" in dtype


def promoted(a: str, b: str) -> str | None:
    """The common type of two typed operands; None where they do not combine."""
    if a == b:
        return a
    rank = {True: 2, False: 1}
    left, right = (0 if d == "bool_" else rank[is_float(d)] for d in (a, b))
    if left != right:
        return a if left > right else b
    signs = [d.startswith("u") for d in (a, b)]
    bits = [int(d.lstrip("abcdefghijklmnopqrstuvwxyz")) for d in (a, b)]
    if signs[0] != signs[1] or bits[0] == bits[1]:
        return None
    return a if bits[0] > bits[1] else b


def joined(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The broadcast shape, or None."""
    rank = max(len(a), len(b))
    left, right = ((1,) * (rank - len(s)) + s for s in (a, b))
    pairs = list(zip(left, right, strict=True))
    if any(x != y and 1 not in (x, y) for x, y in pairs):
        return None
    return tuple(max(p) for p in pairs)


class Maker:
    """Writes one kernel, statement by statement."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.scope: list[Made] = []
        self.count = 0
        self.indent = 1
        self.tile: tuple[int, ...] = ()

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def pick(self, test: Callable[[Made], bool] = lambda made: True) -> Made:
        """A value that passes the test, newer ones rather; any value where none does."""
        found = [m for m in self.scope if test(m)] or self.scope
        return self.random.choices(found, range(2, len(found) + 2))[0]

    def literal(self, dtype: str) -> str:
        if is_float(dtype):
            return self.random.choice(["0.5", "2", "1.0", "-1.5", "0.1", "3", "1e-3", "-0.0", "65504.0"])
        if dtype == "bool_":
            return self.random.choice(["True", "False"])
        return self.random.choice(["1", "2", "3", "7", "0", "100"] + ([] if dtype.startswith("u") else ["-1", "-5"]))

    def define(self, code: str, dtype: str, shape: tuple[int, ...]) -> Made:
        made = Made(self.fresh(), dtype, shape)
        self.line(f"{made.name} = {code}")
        self.scope.append(made)
        return made

    # Expressions

    def binary(self) -> None:
        a = self.pick(lambda m: m.dtype != "bool_")
        symbol = self.random.choice(["+", "-", "*", "*", "+", "/", "//", "%", "min", "max"])
        if self.random.random() < 0.35:
            other, dtype, shape = self.literal(a.dtype), a.dtype, a.shape
            if symbol in ("//", "%", "/") and other in ("0", "-0.0", "0.0"):
                other = "3"
        else:
            b = self.pick(lambda m: joined(a.shape, m.shape) is not None and promoted(a.dtype, m.dtype) is not None)
            found, both = promoted(a.dtype, b.dtype), joined(a.shape, b.shape)
            if found is None or both is None:
                return
            other, dtype, shape = b.name, found, both
        if symbol == "//" and dtype.startswith("u"):
            symbol = "%"  # no assembler takes the quotient
        if symbol == "/" and not is_float(dtype):
            dtype = "float32"
        left, right = (a.name, other) if self.random.random() < 0.8 else (other, a.name)
        if symbol in ("min", "max"):
            self.define(f"ct.{symbol}imum({left}, {right})", dtype, shape)
        elif symbol == "*" and self.random.random() < 0.5:
            # Products with a sum after them: what contraction is about.
            c = self.pick(lambda m: joined(shape, m.shape) is not None and promoted(dtype, m.dtype) is not None)
            found, both = promoted(dtype, c.dtype), joined(shape, c.shape)
            if found is not None and both is not None and c.dtype != "bool_":
                sign = self.random.choice("+-")
                product = f"{left} * {right}"
                first, second = (product, c.name) if self.random.random() < 0.7 else (c.name, product)
                self.define(f"{first} {sign} {second}", found, both)
        else:
            self.define(f"{left} {symbol} {right}", dtype, shape)

    def bits(self) -> None:
        a = self.pick(lambda m: not is_float(m.dtype))
        if is_float(a.dtype):
            return
        b = self.pick(lambda m: m.dtype == a.dtype and joined(a.shape, m.shape) is not None)
        shape = joined(a.shape, b.shape)
        if b.dtype != a.dtype or shape is None:
            return
        if a.dtype != "bool_" and self.random.random() < 0.3:
            self.define(f"{a.name} {self.random.choice(['<<', '>>'])} {self.random.choice('123')}", a.dtype, a.shape)
        else:
            self.define(f"{a.name} {self.random.choice('&|^')} {b.name}", a.dtype, shape)

    def unary(self) -> None:
        a = self.pick()
        if is_float(a.dtype):
            function = self.random.choice(
                ["exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "floor", "ceil", "abs", "neg"]
            )
            code = {"neg": f"-{a.name}", "abs": f"abs({a.name})"}.get(function, f"ct.{function}({a.name})")
            self.define(code, a.dtype, a.shape)
        elif a.dtype != "bool_":
            sign = ["abs({})", "~{}"] + ([] if a.dtype.startswith("u") else ["-{}"])
            self.define(self.random.choice(sign).format(a.name), a.dtype, a.shape)

    def convert(self) -> None:
        a = self.pick()
        dtype = self.random.choice([*FLOATS[:3], *INTEGERS, "float32", "int32"])
        self.define(f"{a.name}.astype(ct.{dtype})", dtype, a.shape)

    def compare(self) -> None:
        a = self.pick(lambda m: m.dtype != "bool_")
        symbol = self.random.choice(["==", "!=", "<", "<=", ">", ">="])
        condition = f"{a.name} {symbol} {self.literal(a.dtype)}"
        b = self.pick(lambda m: m.dtype == a.dtype and joined(a.shape, m.shape) is not None)
        shape = joined(a.shape, b.shape)
        if b.dtype != a.dtype or shape is None or self.random.random() < 0.3:
            self.define(condition, "bool_", a.shape)
        else:
            self.define(f"ct.where({condition}, {a.name}, {b.name})", a.dtype, shape)

    def shape(self) -> None:
        a = self.pick(lambda m: len(m.shape) > 0)
        size = 1
        for extent in a.shape:
            size *= extent
        match self.random.randrange(5):
            case 0 if a.shape:
                self.define(f"{a.name}.reshape(({size},))", a.dtype, (size,))
            case 1 if len(a.shape) == 2:
                self.define(f"{a.name}.transpose()", a.dtype, a.shape[::-1])
            case 2 if len(a.shape) == 1:
                self.define(f"{a.name}[None, :]", a.dtype, (1, *a.shape))
            case 3 if len(a.shape) == 1:
                self.define(f"{a.name}[:, None]", a.dtype, (*a.shape, 1))
            case 4 if a.shape and size % 2 == 0:
                self.define(f"ct.reshape({a.name}, (2, {size // 2}))", a.dtype, (2, size // 2))
            case _:
                pass

    def reduce(self) -> None:
        a = self.pick(lambda m: len(m.shape) > 0 and m.dtype in (*FLOATS, "int32", "int64", "uint32"))
        if not a.shape or a.dtype not in (*FLOATS, "int32", "int64", "uint32"):
            return
        function = self.random.choice(["sum", "max", "min", "prod", "sum"])
        axis = self.random.randrange(len(a.shape))
        keep = self.random.random() < 0.5
        shape = (*a.shape[:axis], *([1] if keep else []), *a.shape[axis + 1 :])
        self.define(f"ct.{function}({a.name}, axis={axis}, keepdims={keep})", a.dtype, shape)

    def multiply(self) -> None:
        """A matrix product of a tile and its own transpose, in a type that has one."""
        a = self.pick(lambda m: len(m.shape) == 2 and m.dtype in (*FLOATS[:3], "int8", "uint8"))
        if len(a.shape) != 2 or a.dtype not in (*FLOATS[:3], "int8", "uint8"):
            return
        total = "int32" if not is_float(a.dtype) else self.random.choice(["float32", a.dtype])
        if a.dtype == "bfloat16":
            total = "float32"
        rows, columns = a.shape
        left, right, size = (a.name, f"{a.name}.transpose()", rows)
        if self.random.random() < 0.5:
            left, right, size = right, left, columns
        start = f"ct.full(({size}, {size}), {self.random.choice(['0', '1', '2'])}, ct.{total})"
        self.define(f"ct.mma({left}, {right}, {start})", total, (size, size))

    def combine(self) -> None:
        """A reduction or a scan by the author's own function."""
        a = self.pick(lambda m: len(m.shape) > 0 and m.dtype in ("float32", "int32"))
        if not a.shape or a.dtype not in ("float32", "int32"):
            return
        low, high = ('float("-inf")', 'float("inf")') if is_float(a.dtype) else ("-2147483648", "2147483647")
        function, start = self.random.choice(
            [("p + q", "0"), ("ct.maximum(p, q)", low), ("p * q", "1"), ("ct.minimum(p, q)", high)]
        )
        axis = self.random.randrange(len(a.shape))
        shape = a.shape[:axis] + a.shape[axis + 1 :]
        name = self.random.choice(["reduce", "reduce", "scan"])
        code = f"ct.{name}({a.name}, {axis}, lambda p, q: {function}, {start})"
        self.define(code, a.dtype, shape if name == "reduce" else a.shape)

    # Statements

    def expression(self) -> None:
        self.random.choices(
            [self.binary, self.bits, self.unary, self.convert, self.compare, self.shape, self.reduce, self.multiply,
             self.combine],
            [8, 2, 4, 4, 3, 3, 2, 1, 0.5],
        )[0]()  # fmt: skip

    def lanes(self, tile: tuple[int, ...], moved: bool = True) -> tuple[str, str]:
        """Element indices of a block's tile, and a mask that fits them; `moved`: perhaps another tile, or no tile."""
        number = self.count = self.count + 1
        if len(tile) == 1:
            start = "i * 16"
            if moved:
                start = self.random.choice(
                    [start, start, "i * 16 + 16", "i * 16 - 16", "i * 16 + n", "n * 16", "i * 8"]
                )
            step = self.random.choice(["", "", " * 2"]) if moved else ""
            self.line(f"g{number} = {start} + ct.arange(16, dtype=ct.int32){step}")
            limit = self.random.choice(["n * 8", "x0.shape[0]", "x0.shape[0] - 3", "17"])
            return f"g{number}", f"g{number} < {limit}"
        row = self.random.choice(["i * 4", "i * 4", "i * 4 + 4", "i * 4 - 1", "n"]) if moved else "i * 4"
        self.line(f"g{number} = ({row} + ct.arange(4, dtype=ct.int32))[:, None]")
        self.line(f"h{number} = ct.arange(8, dtype=ct.int32)[None, :]")
        limit = self.random.choice(["n * 2", "x0.shape[0]", "3"])
        return f"(g{number}, h{number})", f"(g{number} < {limit}) & (h{number} != {self.random.randrange(8)})"

    def gather(self, array: str, dtype: str, tile: tuple[int, ...]) -> None:
        """The elements of an array at indices, some of them outside, perhaps masked."""
        index, mask = self.lanes(tile)
        options = f", mask={mask}" if self.random.random() < 0.4 else ""
        if options or self.random.random() < 0.6:
            options += f", padding_value={self.literal(dtype)}"
        self.define(f"ct.gather({array}, {index}{options})", dtype, tile)

    def block(self, length: int, made: Made, *inside: Made) -> None:
        """Statements whose values do not leave the block, and an assignment to the outer variable `made`."""
        known = len(self.scope)
        self.scope += inside
        self.indent += 1
        for _ in range(length):
            self.expression()
        fit = [m for m in self.scope[known:] if m.dtype == made.dtype and m.shape == made.shape]
        self.line(f"{made.name} = {fit[-1].name if fit else f'{made.name} + {made.name}'}")
        self.indent -= 1
        del self.scope[known:]

    def control(self) -> None:
        source = self.pick(lambda m: m.dtype != "bool_" and not m.name.startswith("k"))
        if source.dtype == "bool_":
            return
        made = self.define(source.name, source.dtype, source.shape)
        number = self.count
        conditions = ["n > 2", "i == 0", "n != i", "f < 0.5", "n > 2 and i == 0", "not n == i"]
        match self.random.randrange(4):
            case 0:
                trips = self.random.choice(["3", "n", "n, n + 4", "0, 8, 2"])
                self.line(f"for k{number} in range({trips}):")
                self.block(3, made, Made(f"k{number}", "int32", ()))
            case 1:
                self.line(f"if {self.random.choice(conditions)}:")
                self.block(2, made)
            case 2:
                self.line(f"if {self.random.choice(conditions)}:")
                self.block(2, made)
                self.line("else:")
                self.block(2, made)
            case _:
                self.line(f"j{number} = 0")
                self.line(f"while j{number} < n:")
                self.block(2, made)
                if self.random.random() < 0.4:
                    self.line(f"    if j{number} == 5:")
                    self.line("        break")
                self.line(f"    j{number} = j{number} + 1")

    def kernel(self, name: str) -> str:
        """The kernel's text with its directive."""
        rank = self.random.choice([1, 2])
        tile = self.tile = {1: (16,), 2: (4, 8)}[rank]
        index = {1: "(i,)", 2: "(i, 0)"}[rank]
        symbols = {1: "N", 2: "M, N"}[rank]
        inputs = [self.random.choice([*FLOATS[:3], "float32", *INTEGERS, "int32"]) for _ in range(3)]
        parts = [f"x{k}: {short(d)}[{symbols}]" for k, d in enumerate(inputs)]
        self.line("i = ct.bid(0)")
        self.scope += [Made("n", "int32", ()), Made("f", "float32", ())]
        padding = self.random.choice(["", ", padding_mode=ct.PaddingMode.ZERO", ", padding_mode=ct.PaddingMode.NAN"])
        for k, dtype in enumerate(inputs):
            pad = padding if is_float(dtype) or "NAN" not in padding else ""
            if self.random.random() < 0.3:
                self.gather(f"x{k}", dtype, tile)
            else:
                self.define(f"ct.load(x{k}, {index}, {tile}{pad})", dtype, tile)
        for _ in range(self.random.randrange(5, 12)):
            if self.random.random() < 0.15:
                self.control()
            else:
                self.expression()
        results = [m for m in reversed(self.scope) if joined(m.shape, tile) == tile and m.name.startswith("v")][:3]
        for k, result in enumerate(results):
            output = self.random.choice([*FLOATS[:3], "float32", "int32", "int64", "uint8"])
            if result.dtype != "bool_" and self.random.random() < 0.5:
                output = result.dtype
            parts.append(f"out{k}: {short(output)}[{symbols}]")
            value = f"ct.broadcast_to({result.name}, {tile}).astype(ct.{output})"
            if self.random.random() < 0.25:
                lanes, mask = self.lanes(tile, moved=False)
                masked = f", mask={mask}" if self.random.random() < 0.5 else ""
                self.line(f"ct.scatter(out{k}, {lanes}, {value}{masked})")
            else:
                self.line(f"ct.store(out{k}, {index}, {value})")
        parts += ["n: i32", "f: f32", f"grid=({symbols[0]}/{tile[0]},)"]
        names = ", ".join([p.split(":")[0] for p in parts[:-1]])
        head = [f"# ferrotile: {', '.join(parts)}", "@ct.kernel", f"def {name}({names}):"]
        return "\n".join([*head, *self.lines]) + "\n"

"""The parts of random kernels that are about Python rather than arithmetic: helpers, tuples, ternaries, unrolled
loops, loops over tiles, early returns, and the rarer operations."""

from __future__ import annotations

from kernels import FLOATS, Made, Maker, joined


class LanguageMaker(Maker):
    """`Maker` with more kinds of statements; what it adds at module level goes into `module`."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.seed = seed
        self.module: list[str] = []

    def expression(self) -> None:
        if self.random.random() < 0.7:
            super().expression()
            return
        self.random.choice(
            [self.helper, self.ternary, self.swap, self.augmented, self.cumulative, self.argument, self.glue,
             self.part, self.unrolled, self.precise, self.power, self.nested_tuple, self.chained, self.raised]
        )()  # fmt: skip

    def number(self) -> Made:
        """A value that is no bool."""
        made = self.pick(lambda m: m.dtype != "bool_")
        return made if made.dtype != "bool_" else self.define("ct.full((1,), 2, ct.float32)", "float32", (1,))

    def helper(self) -> None:
        """A function of the module, called with values that combine, perhaps by keyword or with its default."""
        a = self.number()
        b = self.pick(lambda m: m.dtype == a.dtype and joined(a.shape, m.shape) is not None)
        shape = joined(a.shape, b.shape)
        if b.dtype != a.dtype or shape is None:
            return
        name = f"h{self.seed}_{len(self.module)}"
        body, call = self.random.choice(
            [
                ("(p, q):\n    return p * q + p", f"{a.name}, {b.name}"),
                ("(p, q, r=2):\n    s = p + q\n    return s * r", f"{a.name}, q={b.name}"),
                ("(p, q, *, up=True):\n    return p + q if up else p - q", f"{a.name}, {b.name}, up=False"),
                ("(p, q):\n    if DEEP > 2:\n        return ct.maximum(p, q)\n    return p", f"{a.name}, {b.name}"),
                ("(p, *rest):\n    return p - rest[0]", f"{a.name}, {b.name}"),
            ]
        )
        self.module.append(f"def {name}{body}")
        self.define(f"{name}({call})", a.dtype, shape)

    def ternary(self) -> None:
        a = self.number()
        b = self.pick(lambda m: m.dtype == a.dtype and m.shape == a.shape)
        if b.dtype == a.dtype and b.shape == a.shape:
            test = self.random.choice(["n > 2", "DEEP > 2", "i == 0", "n < 3 and i > 0", "DEEP == 1"])
            self.define(f"{a.name} if {test} else {b.name}", a.dtype, a.shape)

    def swap(self) -> None:
        a, b = self.number(), self.number()
        first = Made(self.fresh(), b.dtype, b.shape)
        second = Made(self.fresh(), a.dtype, a.shape)
        self.line(f"{first.name}, ({second.name},) = {b.name}, ({a.name},)")
        self.scope += [first, second]

    def augmented(self) -> None:
        a = self.number()
        made = self.define(a.name, a.dtype, a.shape)
        self.line(f"{made.name} {self.random.choice(['+=', '-=', '*='])} {self.literal(a.dtype)}")

    def cumulative(self) -> None:
        a = self.pick(lambda m: len(m.shape) > 0 and m.dtype in ("float32", "int32", "float16"))
        if a.shape and a.dtype in ("float32", "int32", "float16"):
            axis = self.random.randrange(len(a.shape))
            reverse = self.random.choice(["", ", reverse=True"])
            self.define(
                f"ct.{self.random.choice(['cumsum', 'cumprod'])}({a.name}, axis={axis}{reverse})", a.dtype, a.shape
            )

    def argument(self) -> None:
        a = self.pick(lambda m: len(m.shape) > 0 and m.dtype in ("float32", "int32", "float16"))
        if a.shape and a.dtype in ("float32", "int32", "float16"):
            axis = self.random.randrange(len(a.shape))
            shape = (*a.shape[:axis], *a.shape[axis + 1 :])
            self.define(f"ct.{self.random.choice(['argmax', 'argmin'])}({a.name}, axis={axis})", "int32", shape)

    def glue(self) -> None:
        a = self.pick(lambda m: len(m.shape) > 0 and m.shape[0] <= 16)
        b = self.pick(lambda m: m.dtype == a.dtype and m.shape == a.shape)
        if a.shape and b.dtype == a.dtype and b.shape == a.shape:
            axis = self.random.randrange(len(a.shape))
            shape = tuple(extent * (2 if n == axis else 1) for n, extent in enumerate(a.shape))
            self.define(f"ct.cat(({a.name}, {b.name}), {axis})", a.dtype, shape)

    def part(self) -> None:
        a = self.pick(lambda m: any(extent > 1 for extent in m.shape))
        if any(extent > 1 for extent in a.shape):
            shape = tuple(max(1, extent // 2) for extent in a.shape)
            index = ", ".join(self.random.choice("01") if extent > 1 else "0" for extent in a.shape)
            self.define(f"ct.extract({a.name}, ({index},), {shape})", a.dtype, shape)

    def unrolled(self) -> None:
        a = self.number()
        made = self.define(a.name, a.dtype, a.shape)
        steps = self.random.choice(["(1, 2, 3)", "range(3)", "(n, 2)"])
        self.line(f"for s{self.count} in ct.static_iter({steps}):")
        self.line(f"    {made.name} = ({made.name} + {a.name}).astype(ct.{a.dtype})")

    def precise(self) -> None:
        a = self.pick(lambda m: m.dtype in ("float32", "float64"))
        b = self.pick(lambda m: m.dtype == a.dtype and joined(a.shape, m.shape) is not None)
        shape = joined(a.shape, b.shape)
        if a.dtype not in ("float32", "float64") or b.dtype != a.dtype or shape is None:
            return
        mode = self.random.choice(["RN", "RZ", "RM", "RP"])
        function = self.random.choice(["add", "sub", "mul"])
        flush = ", flush_to_zero=True" if a.dtype == "float32" and self.random.random() < 0.3 else ""
        self.define(f"ct.{function}({a.name}, {b.name}, rounding_mode=ct.RoundingMode.{mode}{flush})", a.dtype, shape)

    def power(self) -> None:
        a = self.pick(lambda m: m.dtype in FLOATS)
        if a.dtype in FLOATS:
            self.define(f"{a.name} ** {self.random.choice(['2', '0.5', '3.0', 'DEEP'])}", a.dtype, a.shape)

    def nested_tuple(self) -> None:
        a, b = self.number(), self.number()
        pair = self.fresh()
        self.line(f"{pair} = ({a.name}, ({b.name}, DEEP))")
        self.define(f"{pair}[1][0]", b.dtype, b.shape)

    def chained(self) -> None:
        a = self.pick(lambda m: m.dtype == "int32")
        if a.dtype == "int32":
            self.define(f"(0 < {a.name}) & ({a.name} <= n)", "bool_", a.shape)

    def raised(self) -> None:
        """Another rank, and back."""
        a = self.pick(lambda m: len(m.shape) == 2)
        if len(a.shape) == 2:
            rows, columns = a.shape
            cube = self.define(f"ct.permute({a.name}[:, :, None], (2, 1, 0))", a.dtype, (1, columns, rows))
            self.define(f"ct.sum({cube.name}.astype(ct.float32), axis=(0, 2))", "float32", (columns,))

    def control(self) -> None:
        match self.random.randrange(4):
            case 0:
                self.over_tiles()
            case 1 if self.indent == 1:
                test = self.random.choice(["i > 2", "n == 7", "i == n"])
                self.line(f"if {test}:")
                self.line("    return")
            case _:
                super().control()

    def over_tiles(self) -> None:
        """A sum over all tiles of an array."""
        index = {1: "(t,)", 2: "(t, 0)"}[len(self.tile)]
        shape = self.tile if self.tile[1:] else f"({self.tile[0]},)"
        made = self.define(f"ct.zeros({shape}, ct.float32)", "float32", self.tile)
        last = self.random.choice([f"ct.num_tiles(x0, axis=0, shape={shape})", "n", "ct.cdiv(x0.shape[0], 16)"])
        self.line(f"for t in range({last}):")
        load = f"ct.load(x0, {index}, {shape}, padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)"
        term = self.random.choice([load, f"{load} * f", f"ct.where({load} > 0.5, {load}, 1.0)"])
        self.line(f"    {made.name} = {made.name} + {term}")

    def kernel(self, name: str) -> str:
        text = super().kernel(name)
        return "\n\n".join([*self.module, text])

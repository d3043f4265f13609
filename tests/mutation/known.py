"""What can be read off an entry without the prover: definitions, arrays, signs, exactness, what tokens stand behind."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ferrotile.signatures.model import ArrayArgument
from ferrotile_runner.parameter_words import Role, rust_words
from ferrotile_runner.tileir.model import Entry, Operation, Region, TileType, TokenType, Value, walk
from ferrotile_runner.tileir.operations import TABLE, Effect
from subjects import Pair

ACCESSES = frozenset({Effect.LOAD, Effect.STORE, Effect.ATOMIC})
WRITES = frozenset({Effect.STORE, Effect.ATOMIC})
_DIGITS = {"f8E8M0FNU": 1, "f8E5M2": 3, "f8E4M3FN": 4, "bf16": 8, "f16": 11, "tf32": 11, "f32": 24, "f64": 53}
_EXPONENTS = {"f8E8M0FNU": 8, "f8E5M2": 5, "f8E4M3FN": 4, "bf16": 8, "f16": 5, "tf32": 8, "f32": 8, "f64": 11}
LAUNCH = frozenset({"constant", "iota", "get_tile_block_id", "get_num_tile_blocks", "get_index_space_shape"})
"""What gives integers that the launch and the text say, whatever arrays hold."""
_PASSED = frozenset(["broadcast", "reshape", "permute", "assume", "exti"])
_KEEPS_SIGN = frozenset(
    [
        "addi",
        "muli",
        "divi",
        "remi",
        "maxi",
        "mini",
        "shri",
        "andi",
        "select",
        "broadcast",
        "reshape",
        "permute",
        "exti",
        "trunci",
    ]
)


class Sides:
    """Both entries of a pair, read, and what is known of the translation."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.python, self.rust = pair.python, pair.rust
        self.parameters, self.facts = pair.parameters, pair.facts
        self.known = Known(self.rust, pair)


class Known:
    """Facts of one entry of a pair's translation."""

    def __init__(self, entry: Entry, pair: Pair) -> None:
        self.entry = entry
        self.definitions: dict[int, Operation] = {}
        self.users: dict[int, list[Operation]] = {}
        self.sources: dict[int, tuple[Value, ...]] = {}
        """Region arguments: what they start from and are passed on."""
        self.loops: dict[int, Operation] = {}
        """Loop variables."""
        self.combined: dict[int, Operation] = {}
        """What the function of a reduction combines."""
        for operation in walk(entry.body):
            for value in operation.results:
                self.definitions[value.number] = operation
            for value in operation.operands:
                self.users.setdefault(value.number, []).append(operation)
            if operation.name in {"for", "loop"}:
                self._note_loop(operation)
            if operation.name in {"reduce", "scan"} and len(operation.operands) == 1:
                self.combined |= dict.fromkeys((a.number for a in operation.regions[0].arguments), operation)
        self.unit_axes = pair.facts.unit_axes
        self.grid = {axis: factors[0] for axis, factors in enumerate(pair.signature.grid or ()) if len(factors) == 1}
        """By axis the extent that blocks are counted along, and how many elements one has, where that is one number."""
        roles = rust_words(pair.translation)
        self.names = _names(entry, pair)
        self.sizes = frozenset(
            p.number
            for p, word in zip(entry.parameters, roles, strict=False)
            if word.role in (Role.EXTENT, Role.STRIDE)
        )
        self.accesses = [op for op in walk(entry.body) if TABLE[op.name].effect in ACCESSES]

    def _note_loop(self, operation: Operation) -> None:
        arguments = operation.regions[0].arguments
        if operation.name == "for":
            self.loops[arguments[0].number] = operation
            arguments = arguments[1:]
        nexts = [op for op in _of_this_loop(operation.regions[0]) if op.name == "continue"]
        for place, argument in enumerate(arguments):
            passed = [op.named["values"][place] for op in nexts if place < len(op.named.get("values", ()))]
            self.sources[argument.number] = (operation.named["initial"][place], *passed)

    # Arrays and tokens

    def array(self, access: Operation) -> int:
        """The parameter that an access goes to, by number; -1 where that is not plain."""
        value = access.one("view" if "view" in access.named else "pointer")
        while (made := self.definitions.get(value.number)) is not None and made.operands:
            value = made.operands[0]
        return value.number if any(value == p for p in self.entry.parameters) else -1

    def of_array(self, access: Operation) -> list[Operation]:
        array = self.array(access)
        return [other for other in self.accesses if self.array(other) in {array, -1}]

    def behind(self, token: Value | None, seen: frozenset[int] = frozenset()) -> frozenset[int]:
        """The accesses that a token stands behind, by `id`; through loops all that it may."""
        if token is None or token.number in seen:
            return frozenset()
        seen |= {token.number}
        made = self.definitions.get(token.number)
        if made is None:
            passed = self.sources.get(token.number, ())
            return frozenset[int]().union(*(self.behind(value, seen) for value in passed))
        own = frozenset({id(made)}) if TABLE[made.name].effect in ACCESSES else frozenset[int]()
        if made.name in {"for", "loop", "if"}:
            place = [r.number for r in made.results].index(token.number)
            ends = [op for region in made.regions for op in _of_this_loop(region)]
            passed = tuple(
                op.named["values"][place]
                for op in ends
                if op.name in {"yield", "continue", "break"} and place < len(op.named.get("values", ()))
            )
            if made.name != "if":
                passed = (*passed, made.named["initial"][place])
            return frozenset[int]().union(*(self.behind(value, seen) for value in passed))
        tokens = [v for v in made.operands if isinstance(v.type, TokenType)]
        return own.union(*(self.behind(value, seen) for value in tokens))

    # Values

    def size_name(self, value: Value) -> str | None:
        """What the signature calls an extent or scalar that is a parameter."""
        while (made := self.definitions.get(value.number)) is not None and made.name == "assume":
            value = made.operands[0]
        return self.names.get(value.number)

    def plain(self, value: Value) -> Value:
        """The value that it is, under what changes nothing: assumptions, shapes and types that stay, sums with 0."""
        while (made := self.definitions.get(value.number)) is not None:
            same = [v for v in made.operands if v.type == value.type]
            if made.name in {"assume", "reshape", "broadcast", "bitcast", "ftof", "trunci", "exti"} and same:
                value = same[0]
            elif made.name in {"addi", "xori", "ori"} and any(map(self.is_zero, made.operands)):
                value = made.operands[int(self.is_zero(made.operands[0]))]
            else:
                break
        return value

    def is_true(self, value: Value) -> bool:
        made = self.definitions.get(value.number)
        if made is None or made.name in {"broadcast", "reshape"}:
            return made is not None and self.is_true(made.operands[0])
        return made.name == "constant" and made.word("value") in {"true", "1", "-1"}

    def is_constant(self, value: Value) -> bool:
        made = self.definitions.get(value.number)
        if made is None:
            return False
        return made.name == "constant" or (made.name in _PASSED and self.is_constant(made.operands[0]))

    def is_zero(self, value: Value) -> bool:
        """0, false, the block id of an axis that has one block, whether a number that is never negative is below 0."""
        made = self.definitions.get(value.number)
        match made.name if made is not None else "":
            case "constant":
                return made is not None and made.word("value") in {"0", "false"}
            case "assume" | "broadcast" | "reshape":
                return made is not None and self.is_zero(made.operands[0])
            case "muli":
                return made is not None and any(map(self.is_zero, made.operands))
            case "get_tile_block_id":
                axis = [r.number for r in made.results].index(value.number) if made is not None else 0
                return "xyz"[axis] in self.unit_axes
            case "cmpi":
                assert made is not None
                below = made.word("predicate") == "less_than" and self.is_zero(made.one("rhs"))
                return below and self.never_negative(made.one("lhs"))
            case _:
                return False

    def alike(self, a: Value, b: Value) -> bool:
        """Whether two values are computed by the same operations from the same values; sizes of one name are one."""
        a, b = self.plain(a), self.plain(b)
        name = self.size_name(a)
        if a == b or (name is not None and name == self.size_name(b)) or (self.is_zero(a) and self.is_zero(b)):
            return True
        x, y = self.definitions.get(a.number), self.definitions.get(b.number)
        if x is None or y is None or x.name != y.name or x.regions or a.type != b.type:
            return False
        if TABLE[x.name].effect is Effect.LOAD:
            written = any(TABLE[op.name].effect in WRITES for op in self.of_array(x))
            if written or x.word("memory_ordering", "weak") != y.word("memory_ordering", "weak"):
                return False
        elif TABLE[x.name].effect is not Effect.NONE:
            return False
        places = [[r.number for r in op.results].index(v.number) for op, v in ((x, a), (y, b))]
        taken = [[v for v in op.operands if not isinstance(v.type, TokenType)] for op in (x, y)]
        same = places[0] == places[1] and dict(x.attributes) == dict(y.attributes) and len(taken[0]) == len(taken[1])
        return same and all(map(self.alike, *taken))

    def bits(self, value: Value) -> tuple[int, int]:
        """Numbers that are never negative: how many low bits are surely 0, and how many bits there are at most."""
        made = self.definitions.get(value.number)
        kind = value.type if isinstance(value.type, TileType) else TileType((), "i64")
        if made is None or not self.never_negative(value):
            return 0, 64
        match made.name:
            case "iota":
                return 0, (kind.shape[0] - 1).bit_length()
            case "constant":
                text = made.word("value")
                number = int(text, 0) if text not in {"true", "false"} else int(text == "true")
                return ((number & -number).bit_length() - 1 if number else 64), number.bit_length()
            case "muli":
                return sum(self.bits(v)[0] for v in made.operands), 64
            case name if name in _PASSED:
                return self.bits(made.operands[0])
            case _:
                return 0, 64

    # Numbers

    def never_negative(self, value: Value, seen: frozenset[int] = frozenset()) -> bool:
        """By what it is made from; sums and products do not overflow (H6)."""
        if value.number in self.sizes or value.number in seen:
            return True
        seen |= {value.number}
        loop = self.loops.get(value.number)
        if loop is not None:
            return self.never_negative(loop.one("lower"), seen)
        if value.number in self.sources:
            return all(self.never_negative(source, seen) for source in self.sources[value.number])
        made = self.definitions.get(value.number)
        if made is None and value.number in self.combined:
            reduction = self.combined[value.number]
            kept = all(op.name in _KEEPS_SIGN or op.name == "yield" for op in reduction.regions[0].operations)
            return kept and self.never_negative(reduction.operands[0], seen)
        if made is None:
            return False
        match made.name:
            case "get_tile_block_id" | "get_num_tile_blocks" | "get_index_space_shape" | "get_tensor_shape" | "iota":
                return True
            case "constant":
                text = made.word("value")
                return not text.startswith(("-", "[")) and text not in {"true"}
            case "assume" if made.word("predicate").startswith("bounded<0"):
                return True
            case "select":
                return all(self.never_negative(made.one(role), seen) for role in ("lhs", "rhs"))
            case "exti" if made.word("signedness") == "unsigned":
                return True
            case "maxi" | "andi":
                return any(self.never_negative(v, seen) for v in made.operands)
            case "subi":
                return self._remainder(made)
            case "for" | "loop" | "if":
                place = [r.number for r in made.results].index(value.number)
                return all(self.never_negative(v, seen) for v in self._passed(made, place))
            case name if name in _KEEPS_SIGN or name == "assume":
                return all(self.never_negative(v, seen) for v in made.operands)
            case _:
                return False

    def least(self, value: Value, seen: frozenset[int] = frozenset()) -> float:
        """A number that an integer is not below, by what it is made from; sums do not overflow (H6)."""
        if value.number in seen:
            return math.inf
        seen |= {value.number}
        if value.number in self.sizes:
            return 1
        if value.number in self.loops:
            return self.least(self.loops[value.number].one("lower"), seen)
        if value.number in self.sources:
            return min(self.least(source, seen) for source in self.sources[value.number])
        made = self.definitions.get(value.number)
        match made.name if made is not None else "":
            case "constant":
                assert made is not None
                text = made.word("value")
                return int(text, 0) if not text.startswith("[") and text not in {"true", "false"} else -math.inf
            case "assume" | "broadcast" | "reshape":
                assert made is not None
                return self.least(made.operands[0], seen)
            case "maxi" if made is not None and made.word("signedness", "signed") == "signed":
                return max(self.least(operand, seen) for operand in made.operands)
            case "mini" if made is not None and made.word("signedness", "signed") == "signed":
                return min(self.least(operand, seen) for operand in made.operands)
            case "addi" | "muli":
                assert made is not None
                low = [self.least(operand, seen) for operand in made.operands]
                if min(low) < 0:
                    return -math.inf
                return sum(low) if made.name == "addi" else 0 if 0 in low else math.prod(low)
            case "for" | "loop" | "if":
                assert made is not None
                place = [r.number for r in made.results].index(value.number)
                return min(self.least(v, seen) for v in self._passed(made, place))
            case _:
                return 0 if made is not None and self.never_negative(value) else -math.inf

    def most(self, value: Value) -> float:
        """A number that an integer is not above, by what it is made from."""
        made = self.definitions.get(value.number)
        match made.name if made is not None else "":
            case "constant":
                assert made is not None
                text = made.word("value")
                return int(text, 0) if not text.startswith("[") and text not in {"true", "false"} else math.inf
            case "assume" | "broadcast" | "reshape":
                assert made is not None
                return self.most(made.operands[0])
            case "mini" if made is not None and made.word("signedness", "signed") == "signed":
                return min(map(self.most, made.operands))
            case "maxi" if made is not None and made.word("signedness", "signed") == "signed":
                return max(map(self.most, made.operands))
            case _:
                return math.inf

    def runs_once(self, loop: Operation) -> bool:
        """Whether a loop has one round at most: it ends next to where it starts, or blocks have a row each."""
        low, high = loop.one("lower"), loop.one("upper")
        if self.most(high) <= self.least(low) + 1 or self._is_a_row_each(low, high):
            return True
        found = [high]
        while found:
            made = self.definitions.get(found.pop().number)
            if made is not None and made.name == "mini":
                found += made.operands
            elif made is not None and made.name == "addi":
                step = [self.definitions.get(v.number) for v in made.operands]
                if any(op is not None and op.word("value") == "1" for op in step) and low in made.operands:
                    return True
        return False

    def _is_a_row_each(self, low: Value, high: Value) -> bool:
        """From the block's id, of which there are as many, to an extent."""
        made = self.definitions.get(low.number)
        if made is None or made.name != "get_tile_block_id":
            return False
        factor = self.grid.get([r.number for r in made.results].index(low.number))
        return factor is not None and factor.tile == 1 and self.size_name(high) == str(factor.extent)

    def passed(self, value: Value) -> list[Value]:
        """What a result of a loop or branch may be."""
        made = self.definitions[value.number]
        return self._passed(made, [r.number for r in made.results].index(value.number))

    def _passed(self, made: Operation, place: int) -> list[Value]:
        """What the place-th result of a loop or branch may be."""
        ends = (op for region in made.regions for op in _of_this_loop(region))
        names = {"yield"} if made.name == "if" else {"continue", "break"}
        passed = (op.named.get("values", ()) for op in ends if op.name in names)
        found = [values[place] for values in passed if place < len(values)]
        return found if made.name == "if" else [made.named["initial"][place], *found]

    def _remainder(self, made: Operation) -> bool:
        """`a - b*(a/b)`."""
        product = self.definitions.get(made.one("rhs").number)
        if product is None or product.name != "muli":
            return False
        inner = (self.definitions.get(value.number) for value in product.operands)
        return any(op is not None and op.name == "divi" and op.operands[0] == made.one("lhs") for op in inner)

    def digits(self, value: Value) -> tuple[int, int]:
        """Significant bits and exponent bits that hold the value exactly, by what it is made from."""
        made = self.definitions.get(value.number)
        element = value.type.element if isinstance(value.type, TileType) else ""
        own = (_DIGITS.get(str(element), 99), _EXPONENTS.get(str(element), 99))
        if made is not None and made.name == "constant" and own[0] < 99:
            return _bits_of(made.word("value"), own)
        if isinstance(element, str) and element[:1] == "i":
            return int(element[1:]), 5 if int(element[1:]) < 16 else 8
        if made is not None and made.name in {*_PASSED, "ftof", "itof"}:
            inner = self.digits(made.operands[0])
            return min(own[0], inner[0]), min(own[1], inner[1])
        return own


def _bits_of(text: str, own: tuple[int, int]) -> tuple[int, int]:
    """Of a float constant: as few significant and exponent bits as have it."""
    if text.startswith(("[", "0x")):
        return own
    number = float(text)
    if number == 0 or number != number or number in (float("inf"), -float("inf")):
        return 1, 2
    numerator, _ = number.as_integer_ratio()
    exponent = abs(math.frexp(number)[1])
    return abs(numerator >> ((numerator & -numerator).bit_length() - 1)).bit_length(), exponent.bit_length() + 1


def _names(entry: Entry, pair: Pair) -> dict[int, str]:
    """What the signature calls the extents and scalars among the parameters."""
    arrays = {a.name: a.extents for a in pair.signature.arguments if isinstance(a, ArrayArgument)}
    found: dict[int, str] = {}
    for parameter, word in zip(entry.parameters, rust_words(pair.translation), strict=False):
        extents = arrays.get(word.argument, ())
        if word.role is Role.EXTENT and len(extents) == word.rank:
            found[parameter.number] = str(extents[word.axis])
        if word.role is Role.SCALAR:
            found[parameter.number] = f"scalar {word.argument}"
    return found


def _of_this_loop(region: Region) -> Iterator[Operation]:
    """Operations of a region and of `if`s in it, not of loops in it."""
    for operation in region.operations:
        yield operation
        if operation.name == "if":
            for inner in operation.regions:
                yield from _of_this_loop(inner)


def holds(element: str, digits: tuple[int, int]) -> bool:
    """Whether a float type has all numbers of so many significant and exponent bits."""
    return _DIGITS.get(element, 0) >= digits[0] and _EXPONENTS.get(element, 0) >= digits[1]

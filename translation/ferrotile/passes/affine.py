"""Index values as affine forms over block ids, loop variables and other values."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ferrotile.program.ir import For, Operation, Statement, Value


class Affine(Struct, frozen=True):
    """`constant + sum(coefficient * symbol)`; symbols are `bid0..2` or `v<id>`, sorted, without zero coefficients."""

    constant: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def plus(self, other: Affine, sign: int = 1) -> Affine:
        """The sum, or the difference for `sign` -1."""
        terms = dict(self.terms)
        for symbol, k in other.terms:
            terms[symbol] = terms.get(symbol, 0) + sign * k
        kept = tuple(sorted((s, k) for s, k in terms.items() if k))
        return Affine(self.constant + sign * other.constant, kept)

    def times(self, k: int) -> Affine:
        """The multiple."""
        return Affine(self.constant * k, tuple((s, c * k) for s, c in self.terms if k))

    @property
    def symbol(self) -> str | None:
        """The symbol, when the form is exactly one symbol."""
        return self.terms[0][0] if self.constant == 0 and len(self.terms) == 1 and self.terms[0][1] == 1 else None

    @property
    def block_axis(self) -> int | None:
        """k, when the form is exactly block id k."""
        symbol = self.symbol
        return int(symbol[3:]) if symbol is not None and symbol.startswith("bid") else None

    @property
    def known(self) -> int | None:
        """The value, when there are no symbols."""
        return None if self.terms else self.constant


def affine(value: Value, defined: Mapping[int, Statement], constants: Mapping[str, int]) -> Affine:
    """The affine form of a rank-0 integer; what is not affine becomes a symbol of its own."""
    source = defined.get(value.id)
    opaque = Affine(0, ((f"v{value.id}", 1),))
    if not isinstance(source, Operation):
        return opaque
    match source.opcode:
        case "block_id":
            return Affine(0, ((f"bid{source.attribute('axis')}", 1),))
        case "constant":
            number = source.attribute("value")
            return Affine(int(number)) if isinstance(number, int) else opaque
        case "const_param":
            return Affine(constants[name]) if (name := str(source.attribute("name"))) in constants else opaque
        case "exti":
            return affine(source.operands[0], defined, constants)
        case "addi" | "subi":
            a, b = (affine(v, defined, constants) for v in source.operands)
            return a.plus(b, 1 if source.opcode == "addi" else -1)
        case "muli":
            a, b = (affine(v, defined, constants) for v in source.operands)
            if (k := b.known) is not None:
                return a.times(k)
            if (k := a.known) is not None:
                return b.times(k)
            return opaque
        case _:
            return opaque


def non_negative(value: Value, defined: Mapping[int, Statement]) -> bool:
    """Whether an index value is at least 0, short of overflow in index arithmetic."""
    source = defined.get(value.id)
    if isinstance(source, For):
        return value.id == source.variable.id and non_negative(source.lower, defined)
    if not isinstance(source, Operation):
        return False
    match source.opcode:
        case "block_id" | "num_blocks" | "extent" | "num_tiles":
            return True
        case "constant":
            number = source.attribute("value")
            return isinstance(number, int) and number >= 0
        case "const_param":
            return True
        case "addi" | "muli" | "divi" | "mini" | "maxi" | "remi":
            return all(non_negative(v, defined) for v in source.operands)
        case _:
            return False

"""Element types of CUDA Tile IR, under the names that cuTile Rust uses."""

from __future__ import annotations

from enum import Enum
from typing import Generic, TypeVar, cast

from msgspec import Struct, field

T = TypeVar("T")


class Kind(Enum):
    """The promotion category of an element type."""

    BOOL = "bool"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    STORAGE = "storage"
    """Floats without arithmetic of their own: tf32, f8, f4."""


class DTypeVariableError(Exception):
    """Something depends on which element type a variable stands for: `left` and `right` were compared."""

    def __init__(self, left: DType, right: DType) -> None:
        super().__init__(f"whether {left} is {right} depends on the element type")
        self.left, self.right = left, right


class DType(Struct, frozen=True, eq=False):
    """An element type. `name` is its cuTile Rust name (`f32`, `u8`, `bool`), `bits` its storage width.

    `variable` names a type parameter (`E`) that `name` is one instance of: f16, bf16 or f32. Comparing it with one of
    those or with another variable raises `DTypeVariableError`, so that nothing can silently depend on the instance;
    `identical` compares without."""

    name: str
    kind: Kind
    bits: int
    variable: str | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DType):
            return NotImplemented
        if self.variable != other.variable:
            if self._may_be_variable and other._may_be_variable:
                raise DTypeVariableError(self, other)
            return False
        return self.variable is not None or self.name == other.name

    def __ne__(self, other: object) -> bool:
        # A struct's own compares by identity, for the class says `eq=False`.
        return not self == other

    def __hash__(self) -> int:
        return hash(self.variable or self.name)

    def identical(self, other: DType) -> bool:
        """Whether both are one type whatever the variables stand for."""
        return self.variable == other.variable and (self.variable is not None or self.name == other.name)

    @property
    def _may_be_variable(self) -> bool:
        return self.variable is not None or (self.kind is Kind.FLOAT and self.bits <= 32)

    @property
    def concrete(self) -> DType:
        """The instance itself."""
        return DType(self.name, self.kind, self.bits)

    @property
    def instance(self) -> str:
        """The name of the instance, for those whose text does not depend on it."""
        return self.name

    @property
    def is_integer(self) -> bool:
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_float(self) -> bool:
        return self.kind in (Kind.FLOAT, Kind.STORAGE)

    def __str__(self) -> str:
        return self.variable or self.name


class _Noted(Generic[T]):
    """A field of a type variable that notes that it was looked at."""

    def __init__(self, name: str) -> None:
        self._name, self._field = name, DType.__dict__[name]

    def __get__(self, dtype: TypeVariable, kind: type) -> T:
        dtype.asked.add(self._name)
        return cast(T, self._field.__get__(dtype))


class TypeVariable(DType, frozen=True, eq=False):
    """A variable that notes in `asked` what anyone looks at of its instance. Where nobody does, what is made of one
    instance is what would be made of each."""

    asked: set[str] = field(default_factory=set)

    name = _Noted[str]("name")
    bits = _Noted[int]("bits")

    @property
    def instance(self) -> str:
        return cast(str, DType.__dict__["name"].__get__(self))


class AssumedDType(DType, frozen=True, eq=False):
    """The element type of an array for which nothing gives one: the same as the plain type in every way, but values
    computed in it can be told from those that the program itself says to have that type. `array` is the array's
    name; `meetings` notes the pairs of arrays whose types are compared or promoted to one, which as type variables
    have to be one."""

    array: str = ""
    meetings: set[tuple[str, str]] = field(default_factory=set)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, AssumedDType):
            self.meet(other)
        return DType.__eq__(self, other)

    __hash__ = DType.__hash__

    def meet(self, other: AssumedDType) -> None:
        """Notes that the types of two arrays have to be one."""
        if self.array != other.array:
            self.meetings.add((self.array, other.array))


def met(a: DType, b: DType) -> DType:
    """Of two identical types the one that the program says, where one is only assumed."""
    return b if isinstance(a, AssumedDType) else a


BOOL = DType("bool", Kind.BOOL, 1)
I8, I16, I32, I64 = (DType(f"i{b}", Kind.SIGNED, b) for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (DType(f"u{b}", Kind.UNSIGNED, b) for b in (8, 16, 32, 64))
F16, F32, F64 = (DType(f"f{b}", Kind.FLOAT, b) for b in (16, 32, 64))
BF16 = DType("bf16", Kind.FLOAT, 16)
TF32 = DType("tf32", Kind.STORAGE, 32)
F8E4M3FN = DType("f8e4m3fn", Kind.STORAGE, 8)
F8E5M2 = DType("f8e5m2", Kind.STORAGE, 8)
F8E8M0FNU = DType("f8e8m0fnu", Kind.STORAGE, 8)
F4E2M1FN = DType("f4e2m1fn", Kind.STORAGE, 4)

ALL = (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, TF32, F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN)
BY_NAME = {d.name: d for d in ALL}

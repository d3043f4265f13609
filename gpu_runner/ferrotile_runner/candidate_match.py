"""Which parameter of foreign Rust is which argument of the Python: what is given, then equal names, then the order
among parameters of one kind. What is not certain is an error that says how to give it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature
from ferrotile.translation import ArrayWord
from msgspec import Struct

from ferrotile_runner.candidate_error import CandidateError
from ferrotile_runner.candidate_file import EntryText, Parameter

ARRAYS = frozenset({"tensor", "tensor_mut", "mapped", "pointer"})
_WORD = re.compile(r"([A-Za-z_]\w*)\.(shape|stride)s?\[(\d+)\]")


class Matched(Struct, frozen=True):
    """A parameter of the Rust: the array or scalar of the Python that it is, or what the launch passes for it."""

    parameter: Parameter
    argument: ArrayArgument | ScalarArgument | None
    passed: ArrayWord | int | float | None = None


class Matching(Struct, frozen=True):
    """All parameters, in the order of the Rust; the values of const generics, as the Python has them or as they are
    given; and how each was found."""

    parameters: tuple[Matched, ...]
    generics: Mapping[str, int | float | bool | tuple[object, ...]]
    words: tuple[str, ...]


def match(entry: EntryText, signature: Signature, outputs: frozenset[str] | None, given: Mapping[str, str]) -> Matching:
    """`outputs`: arrays that the Python writes, None where that is not known. `given`: names, words (`x.shape[0]`) and
    numbers of the Python -> names of the Rust. Raises CandidateError."""
    return _Matcher(entry, signature, outputs, given).matching()


class _Matcher:
    def __init__(
        self, entry: EntryText, signature: Signature, outputs: frozenset[str] | None, given: Mapping[str, str]
    ) -> None:
        self.entry, self.outputs, self.given = entry, outputs, given
        self.arrays = {a.name: a for a in signature.arguments if isinstance(a, ArrayArgument)}
        self.scalars = {a.name: a for a in signature.arguments if isinstance(a, ScalarArgument)}
        self.constants = {a.name: a for a in signature.arguments if isinstance(a, ConstantArgument)}
        self.parameters = {p.name: p for p in entry.parameters}
        self.types = {g.name for g in entry.generics if g.kind == "type"}
        self.numbers = [g for g in entry.generics if g.kind in ("const", "array")]
        self.found: dict[str, Matched] = {}
        self.values: dict[str, int | float | bool | tuple[object, ...]] = {}
        self.words: list[str] = []

    def matching(self) -> Matching:
        for parameter in self.entry.parameters:
            if parameter.kind == "other":
                raise CandidateError(f"`{parameter.name}` has a type that no entry can have", parameter.line)
        for generic in self.entry.generics:
            if generic.kind == "lifetime":
                raise CandidateError(f"an entry has no lifetimes: `{generic.name}`", self.entry.line)
        for python, names in self.given.items():
            for rust in names.split(","):
                self._take_given(python, rust.strip())
        self._by_name()
        self._rest(self.arrays, [p for p in self._open() if p.kind in ARRAYS], "array", self._arrays_fit)
        self._extents_by_name()
        self._rest(
            self.scalars,
            [p for p in self._open() if p.kind == "scalar"],
            "scalar",
            lambda a, p: self._scalar_fits(a, p),
        )
        self._constants()
        left = self._open()
        if left:
            raise self._ambiguous([], left)
        return Matching(tuple(self.found[p.name] for p in self.entry.parameters), self.values, tuple(self.words))

    def _open(self) -> list[Parameter]:
        return [p for p in self.entry.parameters if p.name not in self.found]

    def _taken(self) -> set[str]:
        return {m.argument.name for m in self.found.values() if m.argument is not None}

    # What is given.

    def _take_given(self, python: str, rust: str) -> None:
        parameter = self.parameters.get(rust)
        if parameter is None:
            if any(g.name == rust for g in self.numbers):
                self.values[rust] = self._given_number(python)
                self.words.append(f"{rust} is {python}")
                return
            raise CandidateError(f"`{python}={rust}`: the entry `{self.entry.name}` has no `{rust}`", self.entry.line)
        if rust in self.found:
            raise CandidateError(f"`{rust}` is given twice", parameter.line)
        if python in self.arrays or python in self.scalars:
            argument = self.arrays.get(python) or self.scalars[python]
            if argument.name in self._taken():
                raise CandidateError(f"`{python}` is given twice", parameter.line)
            trouble = self._trouble(argument, parameter)
            if trouble is not None:
                raise CandidateError(f"`{python}={rust}`: {trouble}", parameter.line)
            self._take(argument, parameter)
            return
        if parameter.kind != "scalar":
            raise CandidateError(f"`{python}={rust}`: the Python has no array `{python}`", parameter.line)
        word = _WORD.fullmatch(python.replace(" ", ""))
        if word is not None:
            self._take_word(parameter, word[1], int(word[3]), word[2] == "stride", "given")
            return
        number = self._given_number(python)
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise CandidateError(f"`{python}={rust}`: a launch passes a number for `{rust}`", parameter.line)
        self._pass(parameter, number, f"{rust} is {python}")

    def _given_number(self, text: str) -> int | float | bool | tuple[object, ...]:
        constant = self.constants.get(text)
        if constant is not None:
            return self._value(constant)
        if text in ("True", "False", "true", "false"):
            return text.lower() == "true"
        try:
            return int(text)
        except ValueError:
            pass
        try:
            return float(text)
        except ValueError:
            raise CandidateError(
                f"`{text}` is no argument of the Python, no `array.shape[0]` or `array.stride[0]`, and no number",
                self.entry.line,
            ) from None

    # Equal names.

    def _by_name(self) -> None:
        for parameter in self._open():
            argument = self.arrays.get(parameter.name) or self.scalars.get(parameter.name)
            if argument is None or argument.name in self._taken():
                continue
            trouble = self._trouble(argument, parameter)
            if trouble is not None:
                raise CandidateError(f"`{parameter.name}`: {trouble}", parameter.line)
            self._take(argument, parameter)

    def _extents_by_name(self) -> None:
        """A scalar that is called as an extent of the signature is."""
        for parameter in self._open():
            if parameter.kind != "scalar" or parameter.dtype not in ("i32", "i64"):
                continue
            places = [
                (a.name, a.extents.index(parameter.name)) for a in self.arrays.values() if parameter.name in a.extents
            ]
            if places:
                array, axis = places[0]
                self._take_word(parameter, array, axis, False, "it is called as the extent")

    # The rest.

    def _rest(
        self,
        arguments: Mapping[str, ArrayArgument] | Mapping[str, ScalarArgument],
        parameters: Sequence[Parameter],
        what: str,
        fits: Callable[[ArrayArgument | ScalarArgument, Parameter], bool],
    ) -> None:
        """By order: all that is left where each fits its counterpart; else group by group of those that fit alike."""
        left = [a for name, a in arguments.items() if name not in self._taken()]
        if not parameters or not left:
            return
        if len(left) == len(parameters) and all(fits(a, p) for a, p in zip(left, parameters, strict=True)):
            pairs = list(zip(left, parameters, strict=True))
        else:
            groups = [(a, [p for p in parameters if fits(a, p)]) for a in left]
            pairs = []
            for argument, fitting in groups:
                alike = [a for a, others in groups if others == fitting]
                disjoint = all(others == fitting or not any(p in fitting for p in others) for _, others in groups)
                if len(alike) != len(fitting) or not disjoint:
                    if what == "scalar" and not fitting:
                        continue  # the Rust may do without
                    raise self._ambiguous(left, parameters)
                pairs.append((argument, fitting[alike.index(argument)]))
        for argument, parameter in pairs:
            self._take(argument, parameter, " by its place" if len(pairs) > 1 else "")

    def _constants(self) -> None:
        """Const generics, and scalars that are passed what is a constant in the Python."""
        for parameter in self._open():
            constant = self.constants.get(parameter.name)
            value = None if constant is None else self._value(constant)
            if isinstance(value, int | float) and not isinstance(value, bool):
                self._pass(parameter, value, f"{parameter.name} is passed the constant {value}")
        self._extents()
        low = {name.lower(): name for name in self.constants}
        for generic in self.numbers:
            name = generic.name if generic.name in self.constants else low.get(generic.name.lower(), "")
            if generic.name not in self.values and name in self.constants:
                self.values[generic.name] = self._value(self.constants[name])
        open_generics = [g for g in self.numbers if g.name not in self.values]
        for generic in open_generics:
            if generic.name in self.scalars:
                raise CandidateError(
                    f"`{generic.name}` is a const generic here, and an argument of each launch in the Python",
                    self.entry.line,
                )
        if not open_generics:
            return
        used = {name.lower() for name in self.values}
        left = [c for c in self.constants.values() if c.name.lower() not in used and self._is_number(c)]
        left = [c for c in left if c.name not in self.parameters]
        values = {repr(c.value) for c in left}
        if left and (len(left) == len(open_generics) or len(values) == 1):
            for place, generic in enumerate(open_generics):
                constant = left[min(place, len(left) - 1)]
                self.values[generic.name] = self._value(constant)
                self.words.append(f"{generic.name} is {constant.name}, {constant.value}, by its place")
            return
        names = ", ".join(f"`{g.name}`" for g in open_generics)
        raise CandidateError(
            f"what {names} stands for cannot be told: give a constant of the Python or a number, "
            f"as in `--map 128={open_generics[0].name}`",
            self.entry.line,
        )

    def _extents(self) -> None:
        """A const generic that is the extent of a `&Tensor` whose extent is a number: no other launch has its type."""
        generics = {g.name for g in self.numbers if g.kind == "const"}
        for matched in self.found.values():
            argument, shape = matched.argument, matched.parameter.shape
            if (
                matched.parameter.kind != "tensor"
                or not isinstance(argument, ArrayArgument)
                or not isinstance(shape, tuple)
            ):
                continue
            count = min(len(shape), len(argument.extents)) - (len(shape) < len(argument.extents))
            for own, extent in zip(shape[::-1][:count], argument.extents[::-1][:count], strict=True):
                constant = self.constants.get(extent) if isinstance(extent, str) else None
                size = extent if constant is None else constant.value
                if own in generics and own not in self.values and isinstance(own, str) and isinstance(size, int):
                    self.values[own] = size
                    if own not in self.constants:
                        self.words.append(f"{own} is {size}, an extent of {argument.name}")

    @staticmethod
    def _is_number(constant: ConstantArgument) -> bool:
        return isinstance(constant.value, int)

    def _value(self, constant: ConstantArgument) -> int | float | bool | tuple[object, ...]:
        value = constant.value
        if isinstance(value, int | float | bool | tuple):
            return value
        raise CandidateError(f"the constant `{constant.name}` is {value!r}, which no const generic is", self.entry.line)

    # What fits.

    def _trouble(self, argument: ArrayArgument | ScalarArgument, parameter: Parameter) -> str | None:
        """Why a parameter cannot be an argument, in words."""
        if isinstance(argument, ScalarArgument):
            if parameter.kind != "scalar":
                return f"the Python passes a number for `{argument.name}`, the Rust takes a {_KINDS[parameter.kind]}"
            if not self._is_type(argument.dtype.name, parameter):
                return f"it is `{argument.dtype.name}` in the Python, `{parameter.dtype}` in the Rust"
            return None
        rank = len(argument.extents)
        if parameter.kind not in ARRAYS:
            return f"the Python passes an array for `{argument.name}`, the Rust takes a number"
        if not self._is_type(argument.dtype.name, parameter):
            return f"its elements are `{argument.dtype.name}` in the Python, `{parameter.dtype}` in the Rust"
        own = self.rank(parameter)
        if own is not None and own > rank:
            return f"it has {rank} axes in the Python, {own} in the Rust"
        return None

    def _is_type(self, name: str, parameter: Parameter) -> bool:
        return parameter.dtype in self.types or parameter.dtype == name

    def rank(self, parameter: Parameter) -> int | None:
        """The axes of a tensor; None for a pointer."""
        if isinstance(parameter.shape, str):
            return next((g.rank for g in self.numbers if g.name == parameter.shape), None)
        return None if parameter.shape is None else len(parameter.shape)

    def _arrays_fit(self, argument: ArrayArgument | ScalarArgument, parameter: Parameter) -> bool:
        assert isinstance(argument, ArrayArgument)
        if self._trouble(argument, parameter) is not None:
            return False
        if self.rank(parameter) not in (None, len(argument.extents)):
            return False
        if self.outputs is None:
            return True
        if argument.name in self.outputs:
            return parameter.kind in ("tensor_mut", "mapped") or not self._has_owners()
        return parameter.kind not in ("tensor_mut", "mapped")

    def _has_owners(self) -> bool:
        return any(p.kind in ("tensor_mut", "mapped") for p in self.entry.parameters)

    def _scalar_fits(self, argument: ArrayArgument | ScalarArgument, parameter: Parameter) -> bool:
        return self._trouble(argument, parameter) is None

    # What was found.

    def _take(self, argument: ArrayArgument | ScalarArgument, parameter: Parameter, how: str = "") -> None:
        self.found[parameter.name] = Matched(parameter, argument)
        if argument.name != parameter.name:
            self.words.append(f"{parameter.name} is {argument.name}{how}")

    def _take_word(self, parameter: Parameter, array: str, axis: int, stride: bool, how: str) -> None:
        argument = self.arrays.get(array)
        name = f"{array}.{'stride' if stride else 'shape'}[{axis}]"
        if argument is None or axis >= len(argument.extents):
            raise CandidateError(f"the Python has no `{name}`", parameter.line)
        if parameter.dtype not in ("i32", "i64"):
            raise CandidateError(f"`{name}` is a number, `{parameter.name}` is `{parameter.dtype}`", parameter.line)
        self._pass(parameter, ArrayWord(array, axis, stride), f"{parameter.name} is passed {name}: {how}")

    def _pass(self, parameter: Parameter, what: ArrayWord | int | float, words: str) -> None:
        if isinstance(what, float) and parameter.dtype not in ("f16", "bf16", "f32", "f64"):
            raise CandidateError(f"`{parameter.name}` is `{parameter.dtype}`, and is passed {what}", parameter.line)
        self.found[parameter.name] = Matched(parameter, None, what)
        self.words.append(words)

    def _ambiguous(
        self, arguments: Sequence[ArrayArgument | ScalarArgument], parameters: Sequence[Parameter]
    ) -> CandidateError:
        rust = ", ".join(f"`{p.name}`" for p in parameters)
        taken = self._taken()
        left = [name for name in (*self.arrays, *self.scalars) if name not in taken]
        what = f", of {', '.join(f'`{name}`' for name in left)}," if left else ""
        first = parameters[0]
        name = left[0] if left else "x.shape[0]"
        are = "is" if len(parameters) == 1 else "are"
        return CandidateError(
            f"which argument of the Python{what} {rust} {are} cannot be told: give it, as in "
            f"`--map '{name}={first.name}'` (a name of the Python, `x.shape[0]`, `x.stride[0]` or a number)",
            first.line,
        )


_KINDS: Mapping[str, str] = {
    "tensor": "tensor",
    "tensor_mut": "tensor",
    "mapped": "mapped partition",
    "pointer": "pointer",
    "scalar": "number",
}

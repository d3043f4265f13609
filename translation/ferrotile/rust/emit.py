"""A planned kernel as the text of a `#[cutile::module]`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.comments import Comments
from ferrotile.passes import naming
from ferrotile.passes.facts import Facts, facts_of
from ferrotile.passes.plan import ArrayPlan, Form, Plan
from ferrotile.program.dtypes import DType
from ferrotile.program.ir import EntryHint, Program, Value
from ferrotile.program.types import ArrayType, Shape, TileType
from ferrotile.rust import entry_hints
from ferrotile.rust.crowding import TooWide
from ferrotile.rust.expressions import Unsupported
from ferrotile.rust.journal import Journal
from ferrotile.rust.layout import WIDTH
from ferrotile.rust.remarks import Shown, rust_comment
from ferrotile.rust.safety import NAMES as HELPER_NAMES
from ferrotile.rust.safety import Helper
from ferrotile.rust.scope import Scope, Variable
from ferrotile.rust.statements import Body
from ferrotile.rust.static_extents import RUN_TIME
from ferrotile.rust.types import Spelling
from ferrotile.rust.values import Values
from ferrotile.rust.writer import Writer
from ferrotile.syntax.span import Span
from ferrotile.translation import Entry, Output, RustParameter, SourceMap, UnsafeCount

_TRIES = 400
_NONE = Comments()


class Parts(Struct, frozen=True):
    """An entry, by name, with its lines and its helpers as inside a module: what `render_file` merges. No places are in
    it, so that it stays what it is when the source moves."""

    name: str
    helpers: tuple[Helper, ...]
    body: tuple[str, ...]


class Emitted(Struct, frozen=True):
    """The text of one kernel's module and what callers need to know of it."""

    text: str
    entry: Entry
    source_map: SourceMap
    unsafe: UnsafeCount
    outputs: tuple[Output, ...]
    parts: Parts
    named: frozenset[int] = frozenset()
    """Values with a local for the sake of the lines' width."""


def emit(plan: Plan, comments: Comments = _NONE, named: frozenset[int] = frozenset()) -> Emitted:
    """The module of one kernel; `named` are values to give a local from the start, as `Emitted.named` of the same
    kernel for other types. Raises `Unsupported` for what the target cannot say."""
    facts = facts_of(plan.program)
    forced = set(named)
    shown = Shown(comments, plan.program)
    for _ in range(_TRIES):
        try:
            return _attempt(plan, facts, comments, shown, forced)
        except TooWide as wide:
            forced |= wide.values
    raise AssertionError("line breaking does not settle")


def _attempt(plan: Plan, facts: Facts, comments: Comments, shown: Shown, forced: set[int]) -> Emitted:
    program = plan.program
    for array in plan.arrays:
        if not array.rank:
            reason = f"`{array.name}` has rank 0, which no tensor of cutile 0.5 has: pass an array of one element."
            raise Unsupported("FT302", reason, program.name_span)
    named = plan
    plan = replace(plan, arrays=tuple(replace(a, name=naming.array(a.name)) for a in plan.arrays))
    generic = {c.name: str(c.value).lower() for c in program.constants if not c.pinned}
    rows = [s for a in plan.arrays for s, n in zip(a.tile, a.counts, strict=False) if n > 1 and s.symbol is not None]
    generic |= {s.symbol: str(s.value) for s in rows if s.symbol is not None}
    journal = Journal()
    spelling = Spelling(generic, journal.dict())
    arrays = {p.name for p in program.parameters if isinstance(p.value.type, ArrayType)}
    values = Values(facts, forced)
    hints = {v.name for s in values.defined.values() for v in s.results if v.name}
    scope = Scope({*map(naming.array, arrays), *map(naming.constant, generic), *HELPER_NAMES}, hints)
    writer = Writer(8)
    body = Body(plan, values, scope, spelling, writer, shown.queues(), forced, journal)
    apart = body.memory.loads.apart()
    if apart:
        forced |= apart
        values.forget()
    for parameter in program.parameters:
        if parameter.name in arrays:
            body.variables[parameter.value.id] = Variable(naming.array(parameter.name))
        else:
            last = values.lifetimes.lasting(parameter.value)
            body.variables[parameter.value.id] = scope.declare(parameter.name, 0, last)
    body.block(program.body)
    if body.crowding.found:
        raise TooWide(body.crowding.found)
    parameters = [
        Parameter(
            _parameter(p.value, body.variables[p.value.id].name, plan, spelling, body.memory.extents),
            comments.parameters.get(p.name, _said_of_copy(p.value, plan)),
        )
        for p in program.parameters
    ]
    used = [name for name in generic if name in spelling.used]
    types = _type_parameters(program)
    constants = {n: naming.constant(n) for n in used}
    name = naming.item(program.name, (*types, *constants.values()))
    generics = [*(f"{t}: ElementType" for t in types), *(_const_parameter(c, generic[n]) for n, c in constants.items())]
    said = [(constants[n], text) for n in used for text in comments.parameters.get(n, ())]
    entry_lines = [
        *(f"    // {name}:{rust_comment(text).removeprefix('//')}" for name, text in said),
        *([f"    // {', '.join(types)}: f16, bf16 or f32."] if types else []),
        *_entry(name, generics, parameters, writer.lines, program.hints),
    ]
    helpers = tuple(body.memory.helpers.functions.values())
    text, first = _module(name, helpers, entry_lines)
    offset = first + len(entry_lines) - len(writer.lines) - 1
    pairs = tuple((offset + k, span) for k, span in enumerate(writer.spans) if span != Span(0, 0))
    entry = Entry(
        name,
        name,
        tuple(_abi(p.value, p.name, plan) for p in program.parameters),
        (*(d.instance for d in types.values()), *(generic[n] for n in used)),
        plan.hypotheses,
    )
    outputs = tuple(Output(a.name, a.form.value, a.reason) for a in named.arrays if a.form is not Form.READ)
    count = text.count("unsafe {")
    assumed = body.memory.assumed
    head = ((first, program.name_span), *pairs)
    return Emitted(
        text,
        entry,
        SourceMap(head),
        UnsafeCount(count - assumed, assumed),
        outputs,
        Parts(entry.name, helpers, tuple(entry_lines)),
        frozenset(forced),
    )


class Parameter(Struct, frozen=True):
    """A parameter of an entry: its code, and what the author says of it."""

    code: str
    comments: tuple[str, ...]


def _parameter(value: Value, name: str, plan: Plan, spelling: Spelling, extents: Mapping[int, Shape]) -> str:
    if isinstance(value.type, ArrayType):
        array = plan.array(value.id)
        if array.form is Form.MAPPED:
            shapes = f"{spelling.braces(array.tile)}, {spelling.braces(array.map)}"
            return f"mut {name}: MappedPartitionMut<{array.dtype}, {shapes}>"
        if array.form in (Form.OWNED, Form.OWNED_ROW):
            return f"{name}: &mut Tensor<{array.dtype}, {spelling.braces(array.tile)}>"
        sizes = extents.get(value.id, (RUN_TIME,) * array.rank)
        return f"{name}: &Tensor<{array.dtype}, {spelling.braces(sizes)}>"
    assert isinstance(value.type, TileType)
    return f"{name}: {value.type.dtype}"


def _said_of_copy(value: Value, plan: Plan) -> tuple[str, ...]:
    """A comment for an array that the launcher copies."""
    before = plan.array(value.id).before if isinstance(value.type, ArrayType) else None
    return () if before is None else (f"# A copy of `{before}` from before the launch.",)


def _abi(value: Value, name: str, plan: Plan) -> RustParameter:
    if not isinstance(value.type, ArrayType):
        return RustParameter(name, "scalar")
    array: ArrayPlan = plan.array(value.id)
    strides = (*[-1] * (array.rank - 1), 1) if array.rank else ()
    rust = array.name if array.name != name else None
    if array.form in (Form.OWNED, Form.OWNED_ROW):
        return RustParameter(name, "tensor_mut", array.rank, strides, tuple(s.value for s in array.tile), rust)
    if array.form is Form.MAPPED:
        return RustParameter(name, "tensor_mut", array.rank, strides, rust=rust)
    return RustParameter(name, "tensor", array.rank, strides, rust=rust, copy_of=array.before)


def _type_parameters(program: Program) -> dict[str, DType]:
    """The type variables of the arrays, in their order, each with the instance that this is."""
    found: dict[str, DType] = {}
    for parameter in program.parameters:
        if isinstance(parameter.value.type, ArrayType) and parameter.value.type.dtype.variable is not None:
            found.setdefault(parameter.value.type.dtype.variable, parameter.value.type.dtype)
    return found


def _const_parameter(name: str, value: str) -> str:
    return f"const {name}: {'bool' if value in ('true', 'false') else 'i32'}"


def _entry(
    name: str,
    generics: list[str],
    parameters: list[Parameter],
    body: list[str],
    hints: Sequence[EntryHint],
) -> list[str]:
    angled = f"<{', '.join(generics)}>" if generics else ""
    lines = entry_hints.attribute(hints, 4)
    one = f"    fn {name}{angled}({', '.join(p.code for p in parameters)}) {{"
    if len(one) <= WIDTH and not any(p.comments for p in parameters):
        if not body and len(one) < WIDTH:
            return [*lines, f"{one}}}"]
        lines.append(one)
        return [*lines, *body, "    }"]
    if len(f"    fn {name}{angled}(") <= WIDTH - 3:
        lines.append(f"    fn {name}{angled}(")
    else:
        lines.extend([f"    fn {name}<", *(f"        {g}," for g in generics), "    >("])
    for parameter in parameters:
        lines.extend(f"        {rust_comment(text)}" for text in parameter.comments)
        lines.append(f"        {parameter.code},")
    lines.append("    ) {")
    return [*lines, *body, "    }"]


_TILEIR = ("make_gather_scatter_view(", "make_strided_view(")
_MODES = {"ordering::Weak": " Weak,", "scope::Device": "None::<Device>", "scope::TileBlock": " TileBlock,"}
"""Modes that helpers call by their last name, which keeps an access on one line, and how they stand in one."""


def _uses(lines: Sequence[str]) -> list[str]:
    """What a module imports: views with other than whole, disjoint tiles are in a module of their own."""
    special = any(name in line for line in lines for name in _TILEIR)
    modes = [path for path, text in _MODES.items() if any(text in line for line in lines)]
    core = f"{{{', '.join([*modes, '*'])}}}" if modes else "*"
    return [f"    use cutile::core::{core};", *(["    use cutile::tileir::*;"] if special else [])]


def _module(name: str, helpers: Sequence[Helper], entry: Sequence[str]) -> tuple[str, int]:
    every = [*(line for helper in helpers for line in helper.lines), *entry]
    lines = ["#[cutile::module]", f"mod {name} {{", *_uses(every)]
    for helper in helpers:
        lines.extend(["", *helper.lines])
    lines.append("")
    first = len(lines)
    lines.extend([*entry, "}"])
    return "\n".join(lines) + "\n", first


_CALL = re.compile(r"\b(\w+)(?=\(|::<)")
_ASSIGNMENT = re.compile(r"( *)(.*? =) (.*)")


_HEAD = re.compile(r"( *)((?:pub )?(?:unsafe )?fn [^(]*)\((.*)\)(.*) \{")


_OPENED = re.compile(r"( *)((?:pub )?(?:unsafe )?fn \w+)<(.*)>\(")


def broken_head(line: str) -> list[str]:
    """A function's head on one line, broken where it is too wide, as rustfmt does."""
    found = _HEAD.fullmatch(line) if len(line) > WIDTH else None
    if found is None:
        return _broken_generics(line)
    indent, name, inside, result = found.groups()
    parameters = re.split(r", (?=\w+: )", inside)
    heads = _broken_generics(f"{indent}{name}(")
    return [*heads, *(f"{indent}    {p}," for p in parameters), f"{indent}){result} {{"]


def _broken_generics(line: str) -> list[str]:
    """The line on which a function's parameters open, its generics broken where it is too wide."""
    found = _OPENED.fullmatch(line) if len(line) > WIDTH - 3 else None
    if found is None:
        return [line]
    indent, name, generics = found.groups()
    each = re.split(r", (?=(?:const )?\w+: )", generics)
    return [f"{indent}{name}<", *(f"{indent}    {g}," for g in each), f"{indent}>("]


def _place(helper: Helper, seen: dict[str, tuple[str, ...]]) -> str:
    """The name of a helper among those of other kernels: its own, or one with the next number; the same text is
    there once."""
    stem, name, number = re.sub(r"_\d$", "", helper.name), helper.name, 2
    while True:
        lines = (line.replace(f"fn {helper.name}", f"fn {name}") for line in helper.lines)
        text = tuple(part for line in lines for part in broken_head(line))
        if seen.setdefault(name, text) == text:
            return name
        name, number = f"{stem}_{number}", number + 1


def _with_names(line: str, names: Mapping[str, str]) -> list[str]:
    """A line with helpers under other names, broken where that made it too wide."""
    text = _CALL.sub(lambda m: names.get(m[1], m[1]), line)
    wide = _ASSIGNMENT.fullmatch(text) if len(text) > WIDTH >= len(line) else None
    return [text] if wide is None else [f"{wide[1]}{wide[2]}", f"{wide[1]}    {wide[3]}"]


def render_file(
    stem: str,
    parts: Iterable[Parts],
    visibility: str = "",
    imports: Sequence[str] = (),
    elsewhere: Collection[Helper] = (),
) -> str:
    """All kernels of a file in one module, shared helpers once; of entries with one name the first. `elsewhere`:
    helpers that `imports` bring in from another module."""
    unique: dict[str, Parts] = {}
    for kernel in parts:
        unique.setdefault(kernel.name, kernel)
    kernels = tuple(unique.values())
    own = [[h for h in kernel.helpers if h not in elsewhere] for kernel in kernels]
    bodies = [line for k, helpers in zip(kernels, own, strict=True) for h in helpers for line in h.lines]
    bodies += [line for kernel in kernels for line in kernel.body]
    head = [*(f"    {line}" for line in imports), *_uses(bodies)]
    lines = ["#[cutile::module]", f"{visibility}mod {naming.item(stem)} {{", *head]
    seen: dict[str, tuple[str, ...]] = {h.name: h.lines for h in elsewhere}
    renamed: list[list[str]] = []
    for kernel, helpers in zip(kernels, own, strict=True):
        names = {helper.name: _place(helper, seen) for helper in helpers}
        renamed.append([text for line in kernel.body for text in _with_names(line, names)])
    for helper_lines in (*list(seen.values())[len(elsewhere) :], *renamed):
        lines.extend(["", *helper_lines])
    return "\n".join([*lines, "}"]) + "\n"


__all__ = ["Emitted", "Parts", "Unsupported", "emit", "render_file"]

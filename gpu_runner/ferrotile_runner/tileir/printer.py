"""Prints a module in the syntax that `tileirdisasm` prints and `reader.read` reads; no locations, no hints.

Values are numbered in program order, so that two programs that differ in names alone have one text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from ferrotile_runner.tileir.model import (
    Entry,
    GatherScatterViewType,
    Module,
    Operation,
    PartitionViewType,
    PointerType,
    Region,
    StridedViewType,
    TensorViewType,
    TileType,
    Type,
    Value,
)
from ferrotile_runner.tileir.operations import TABLE, Typing

_KEYED = ("rounding", "overflow")


def print_module(module: Module) -> str:
    """All entries, one after the other."""
    return "".join(print_entry(entry) for entry in module.entries)


def print_entry(entry: Entry) -> str:
    """One entry with its body."""
    names = _Names()
    parameters = ", ".join(f"{names.define(value)}: {print_type(value.type)}" for value in entry.parameters)
    lines = [f"entry @{entry.name}({parameters}) {{"]
    lines += _region(entry.body, names, 1)
    return "\n".join((*lines, "}", ""))


def print_type(type_: Type) -> str:
    """A type as it stands behind a colon."""
    match type_:
        case TileType(shape, element):
            name = f"ptr<{element.pointee}>" if isinstance(element, PointerType) else element
            return f"tile<{'x'.join((*map(str, shape), name))}>"
        case TensorViewType(element, shape, strides):
            sizes = "x".join((*(_word(size) for size in shape), element))
            steps = f", strides=[{','.join(map(_word, strides))}]" if strides else ""
            return f"tensor_view<{sizes}{steps}>"
        case PartitionViewType() | StridedViewType() | GatherScatterViewType():
            return _view_type(type_)
        case _:
            return "token"


def _view_type(type_: PartitionViewType | StridedViewType | GatherScatterViewType) -> str:
    parts = [f"tile=({'x'.join(map(str, type_.tile))})"]
    if isinstance(type_, StridedViewType):
        parts.append(f"traversal_strides=[{','.join(map(str, type_.traversal_strides))}]")
    if type_.padding is not None:
        parts.append(f"padding_value = {type_.padding}")
    parts.append(print_type(type_.view))
    match type_:
        case GatherScatterViewType(sparse_dim=dim):
            return f"gather_scatter_view<{', '.join((*parts, f'sparse_dim={dim}'))}>"
        case PartitionViewType(dim_map=dim_map) | StridedViewType(dim_map=dim_map):
            if dim_map != tuple(range(len(dim_map))):
                parts.append(f"dim_map=[{', '.join(map(str, dim_map))}]")
            name = "strided_view" if isinstance(type_, StridedViewType) else "partition_view"
            return f"{name}<{', '.join(parts)}>"


def _word(size: int | None) -> str:
    return "?" if size is None else str(size)


class _Names(Struct):
    """Value number -> name in the text."""

    known: dict[int, str] = field(default_factory=dict)

    def define(self, value: Value) -> str:
        self.known[value.number] = f"%{len(self.known)}"
        return self.known[value.number]

    def group(self, values: Sequence[Value]) -> str:
        """`%3` or `%3, %4`."""
        return ", ".join(self.define(value) for value in values)

    def __getitem__(self, value: Value) -> str:
        return self.known[value.number]

    def list(self, values: Sequence[Value]) -> str:
        return ", ".join(self[value] for value in values)


def _region(region: Region, names: _Names, depth: int) -> Iterator[str]:
    for operation in region.operations:
        yield from _operation(operation, names, depth)


def _types(types: Sequence[Type]) -> str:
    return ", ".join(map(print_type, types))


def _operation(operation: Operation, names: _Names, depth: int) -> Iterator[str]:
    pad = "  " * depth
    match operation.name:
        case "for" | "loop" | "if":
            yield from _structured(operation, names, depth)
            return
        case "reduce" | "scan":
            text = _head(operation, names)
            yield f"{pad}{_results(operation, names)}{text}"
            region = operation.regions[0]
            arguments = ", ".join(f"{names.define(value)}: {print_type(value.type)}" for value in region.arguments)
            yield f"{pad}({arguments}) {{"
            yield from _region(region, names, depth + 1)
            yield f"{pad}}}"
        case _:
            text = _head(operation, names)
            yield f"{pad}{_results(operation, names)}{text}"


def _results(operation: Operation, names: _Names) -> str:
    return f"{names.group(operation.results)} = " if operation.results else ""


def _structured(operation: Operation, names: _Names, depth: int) -> Iterator[str]:
    pad = "  " * depth
    initial = operation.named.get("initial", ())
    carried = [names[value] for value in initial]
    # Operands are named before the results are numbered.
    match operation.name:
        case "for":
            bounds = [names[operation.one(role)] for role in ("lower", "upper", "step")]
            results = _results(operation, names)
            region = operation.regions[0]
            variable, *arguments = (names.define(value) for value in region.arguments)
            unsigned = "unsigned " if operation.flag("unsigned") else ""
            head = f"for {unsigned}{variable} in ({bounds[0]} to {bounds[1]}, step {bounds[2]})"
            head += f" : {print_type(region.arguments[0].type)}"
            if carried:
                head += f"{_initial(arguments, carried)} -> ({_types([v.type for v in operation.results])})"
        case "loop":
            results = _results(operation, names)
            arguments = [names.define(value) for value in operation.regions[0].arguments]
            head = "loop" + (_initial(arguments, carried) if carried else "")
            if carried or operation.results:
                types = _types([value.type for value in initial])
                head += f" : {types} -> {_types([v.type for v in operation.results]) or '()'}"
        case _:
            head = f"if {names[operation.one('condition')]}"
            results = _results(operation, names)
            if operation.results:
                head += f" -> ({_types([v.type for v in operation.results])})"
    yield f"{pad}{results}{head} {{"
    for number, region in enumerate(operation.regions):
        if number:
            yield f"{pad}}} else {{"
        yield from _region(region, names, depth + 1)
    yield f"{pad}}}"


def _initial(arguments: Sequence[str], values: Sequence[str]) -> str:
    pairs = ", ".join(f"{name} = {value}" for name, value in zip(arguments, values, strict=True))
    return f" iter_values({pairs})"


def _head(operation: Operation, names: _Names) -> str:
    """Name, words, operands, attributes and types."""
    row = TABLE[operation.name]
    parts = [operation.name, *_before(operation)]
    positional = [
        names[value] + (f"[{names.list(operation.named['index'])}]" if _indexed(operation, role) else "")
        for role, values in operation.named.items()
        if role not in {"index", "shape", "strides", "token"} or operation.name == "join_tokens"
        for value in values
    ]
    if "message" in operation.attributes:
        positional.insert(1 if operation.name == "assert" else 0, f'"{operation.word("message")}"')
    if "mode" in operation.attributes:
        positional.insert(1, operation.word("mode"))
    parts += [", ".join(positional)] if positional else []
    if operation.name == "make_tensor_view":
        parts[-1] += _view_words(operation, names)
    parts += _after(operation)
    if operation.named.get("token") and operation.name != "join_tokens":
        parts.append(f"token = {names[operation.one('token')]}")
    text = " ".join(parts)
    operands = _operand_types(operation)
    results = _types([value.type for value in operation.results])
    match row.typing:
        case Typing.RESULT:
            types = list(dict.fromkeys(print_type(value.type) for value in operation.results))
            return f"{text} : {', '.join(types)}" if types else text
        case Typing.ARROW if operation.name == "make_tensor_view" and not operands:
            return f"{text} : {results}"
        case Typing.ARROW:
            return f"{text} : {_types(operands)} -> {results}" if operands else f"{text} -> {results}"
        case Typing.NONE:
            return f"{text} -> {results}"
        case Typing.OPERANDS:
            return f"{text} : {_types(operands)}" if operands else text


def _indexed(operation: Operation, role: str) -> bool:
    """Whether the index stands behind the operand of this role."""
    if not operation.named.get("index"):
        return False
    match operation.name:
        case "extract":
            return role == "source"
        case "insert":
            return role == "dest"
        case _:
            return role == "view"


def _before(operation: Operation) -> Iterator[str]:
    if operation.name == "constant":
        element = operation.results[0].type
        name = element.element if isinstance(element, TileType) and isinstance(element.element, str) else ""
        yield f"<{name}: {operation.word('value')}>"
    if operation.name == "assume":
        yield f"{operation.word('predicate')},"
    for key in ("predicate", "ordering", "memory_ordering", "memory_scope"):
        if key in operation.attributes and operation.name != "assume":
            yield operation.word(key)


def _after(operation: Operation) -> Iterator[str]:
    attributes = operation.attributes
    if "signedness" in attributes:
        yield operation.word("signedness")
    if "reduction" in attributes:
        yield operation.word("reduction")
    for key in _KEYED:
        if key in attributes:
            word = operation.word(key)
            yield word if key == "overflow" and operation.name == "trunci" else f"{key}<{word}>"
    for key in ("flush_to_zero", "propagate_nan", "fast_acc", "saturating"):
        if operation.flag(key):
            yield key
    if operation.name == "permute":
        yield f"[{', '.join(map(str, operation.integers('permutation')))}]"
    if "dim" in attributes:
        yield f"dim={attributes['dim']}"
    if operation.name == "scan":
        yield f"reverse={'true' if operation.flag('reverse') else 'false'}"
    if "identities" in attributes:
        yield f"identities=[{', '.join(_identities(operation))}]"
    if any(operation.integers("inbounds")):
        yield f"inbounds = [{', '.join('true' if item else 'false' for item in operation.integers('inbounds'))}]"


def _identities(operation: Operation) -> Iterator[str]:
    texts = operation.attributes.get("identities", ())
    operands = operation.named.get("operands", ())
    for text, value in zip(texts if isinstance(texts, tuple) else (), operands, strict=True):
        element = value.type.element if isinstance(value.type, TileType) else ""
        yield f"{text} : {element}"


def _view_words(operation: Operation, names: _Names) -> str:
    view = operation.results[0].type
    if not isinstance(view, TensorViewType):
        return ""
    sizes, steps = iter(operation.named.get("shape", ())), iter(operation.named.get("strides", ()))
    shape = ", ".join(names[next(sizes)] if size is None else str(size) for size in view.shape)
    strides = ", ".join(names[next(steps)] if step is None else str(step) for step in view.strides)
    return f", shape = [{shape}], strides = [{strides}]"


def _operand_types(operation: Operation) -> list[Type]:
    """The types that stand before the arrow; one stands for operands that must agree."""
    named = operation.named
    if operation.name == "make_tensor_view":
        words = (*named.get("shape", ()), *named.get("strides", ()))
        return [words[0].type] if words else []
    if operation.name in {"cmpi", "cmpf"}:
        return [operation.one("lhs").type]
    if operation.name == "select":
        return [operation.one("condition").type, operation.one("lhs").type]
    found: list[Type] = []
    roles = list(named)
    if operation.name == "atomic_red_view_tko":
        roles = ["value", "view", "index"]
    for role in roles:
        values = named[role]
        if role == "token" or (role == "index" and operation.name in {"extract", "insert"}):
            continue
        found += [value.type for value in (values[:1] if role == "index" else values)]
    return found

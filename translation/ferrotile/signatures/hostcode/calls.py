"""Calls in host code: functions that are read, constructors, arithmetic, and launches."""

from __future__ import annotations

import ast

from ferrotile.signatures import numbers
from ferrotile.signatures.constructors import construct
from ferrotile.signatures.host import length, unbound_parameter
from ferrotile.signatures.hostcode import objects
from ferrotile.signatures.hostcode.known_globals import library_call
from ferrotile.signatures.hostcode.launches import is_launcher, launch, looks_like_launcher
from ferrotile.signatures.hostcode.neural import call_layer, is_module_method, layer, module_method
from ferrotile.signatures.hostcode.objects import annotated_fields, elements, home_of, plain
from ferrotile.signatures.hostcode.parsers import is_parser_method, make_parser, namespace_table, parser_method
from ferrotile.signatures.hostcode.run import KERNEL_MAKERS, Names, Run, Scope
from ferrotile.signatures.tensor_methods import OF_TENSORS, method
from ferrotile.signatures.tensors import Arguments, numel
from ferrotile.signatures.values import (
    UNKNOWN,
    Class,
    Function,
    Global,
    Instance,
    Int,
    Known,
    Method,
    Partial,
    Sequence,
    Shape,
    Table,
    Tensor,
    Unknown,
    Value,
)

_DEPTH = 16
_NAMESPACES = ("types.SimpleNamespace", "argparse.Namespace", "triton.testing.Benchmark")


def call(run: Run, node: ast.Call, scope: Scope) -> Value:
    """The result of a call expression; a launch is noted."""
    callee = run.evaluate(run, node.func, scope)
    arguments = _arguments(run, node, scope)
    if isinstance(callee, Global) and is_launcher(callee.dotted):
        return launch(run, callee.dotted, arguments, node, scope, call_value)
    result = call_value(run, callee, arguments, scope)
    if isinstance(callee, Global | Unknown | Method) and looks_like_launcher(run, node, arguments):
        return launch(run, "", arguments, node, scope, call_value)
    return result


def _arguments(run: Run, node: ast.Call, scope: Scope) -> Arguments:
    positional: list[Value] = []
    for one in node.args:
        if isinstance(one, ast.Starred):
            inner = elements(run.evaluate(run, one.value, scope))
            positional.extend((UNKNOWN,) if inner is None else inner)
        else:
            positional.append(plain(run.evaluate(run, one, scope)))
    named: dict[str, Value] = {}
    for keyword in node.keywords:
        value = plain(run.evaluate(run, keyword.value, scope))
        if keyword.arg is not None:
            named[keyword.arg] = value
        elif isinstance(value, Table):
            named.update({k: v for k, v in value.items.items() if isinstance(k, str)})
    return Arguments(tuple(positional), named)


def call_value(run: Run, callee: Value, arguments: Arguments, scope: Scope | None = None) -> Value:
    """Call a value."""
    match callee:
        case Function():
            return call_function(run, callee, arguments)
        case Partial(function=function, positional=first, named=named):
            whole = Arguments((*first, *arguments.positional), {**named, **arguments.named})
            return call_function(run, function, whole)
        case Class():
            return _instance(run, callee, arguments)
        case Method(owner=owner, name=name):
            return _method(run, owner, name, arguments)
        case Instance(of=None) if (made := call_layer(callee, arguments)) is not None:
            return made
        case Instance(of=Class() as of):
            for name in ("__call__", "forward"):
                found = objects.find_method(run, of, name)
                if found is not None:
                    return call_function(run, found[0], Arguments((callee, *arguments.positional), arguments.named))
            return UNKNOWN
        case Global(dotted=dotted):
            return _global(run, dotted, arguments)
        case _:
            _callbacks(run, arguments)
            return UNKNOWN


def _global(run: Run, dotted: str, arguments: Arguments) -> Value:
    if dotted in ("torch.device", "torch.cuda.device"):
        return Unknown(None, "device")
    made = library_call(dotted, arguments) or layer(dotted, arguments) or construct(dotted, arguments)
    if made is not None:
        if isinstance(made, Tensor) and run.default_changes and "dtype" not in arguments.named:
            return Tensor(None, made.rank, made.dims)
        return made
    first = arguments.get(0)
    if dotted in KERNEL_MAKERS and isinstance(first, Function):
        run.made_kernels.add(id(first.node))
        return first
    if dotted == "functools.partial":
        return _partial(first, arguments)
    if dotted == "argparse.ArgumentParser":
        return make_parser()
    if dotted in _NAMESPACES:
        return Instance(None, dict(arguments.named))
    if dotted.rpartition(".")[2] in ("namedtuple", "lru_cache", "cache", "wraps"):
        return UNKNOWN
    match dotted:
        case "builtins.len":
            return length(first)
        case "builtins.dict":
            base: dict[objects.TableKey, Value] = dict(first.items) if isinstance(first, Table) else {}
            base.update(arguments.named.items())
            return Table(base, first.stored if isinstance(first, Table) else None)
        case "builtins.list" | "builtins.tuple" | "builtins.sorted" | "builtins.reversed" | "builtins.iter":
            items = () if first is None else elements(first)
            return UNKNOWN if items is None else Sequence(items)
        case "builtins.vars":
            return namespace_table(first)
        case "builtins.range":
            return _range(arguments)
        case "builtins.zip" | "itertools.product":
            return _zip(arguments, dotted.endswith("product"))
        case "builtins.enumerate" if first is not None and (items := elements(first)) is not None:
            return Sequence(tuple(Sequence((Int(n), i)) for n, i in enumerate(items)))
        case "builtins.next" if first is not None and (items := elements(first)):
            return items[0]
        case "builtins.getattr" if isinstance(arguments.get(1), Known) and first is not None:
            return _getattr(run, first, arguments)
        case "builtins.isinstance":
            return _isinstance(first, arguments.get(1))
        case "builtins.str" | "builtins.repr":
            return first if isinstance(first, Known) and isinstance(first.value, str) else Unknown(None, "str")
        case _:
            pass
    if dotted.endswith(".numel") and isinstance(first, Tensor):
        return numel(first)
    if dotted.startswith("torch.") and isinstance(first, Tensor):
        return method(first, dotted.rpartition(".")[2], Arguments(arguments.positional[1:], arguments.named))
    result = numbers.call(dotted, arguments)
    if isinstance(result, Unknown) and result.ident is None and result.kind is None:
        _callbacks(run, arguments)
    return result


def _callbacks(run: Run, arguments: Arguments) -> None:
    """A callback handed to an unknown function (`benchmark(lambda: run(x))`) may be what launches."""
    for value in (*arguments.positional, *arguments.named.values()):
        if not isinstance(value, Function) or run.is_kernel(value, home_of(run, value.home)):
            continue
        if isinstance(value.node, ast.Lambda) or not _needed(value.node):
            call_function(run, value, Arguments((), {}))


def _needed(node: ast.FunctionDef) -> bool:
    return len(node.args.posonlyargs) + len(node.args.args) > len(node.args.defaults)


def _partial(first: Value | None, arguments: Arguments) -> Value:
    rest = arguments.positional[1:]
    match first:
        case Function():
            return Partial(first, rest, arguments.named)
        case Partial(function=function, positional=before, named=named):
            return Partial(function, (*before, *rest), {**named, **arguments.named})
        case _:
            return UNKNOWN


def _range(arguments: Arguments) -> Value:
    ends = [a.value if isinstance(a, Int) else None for a in arguments.positional]
    whole = [e for e in ends if e is not None]
    if len(whole) != len(ends) or not 1 <= len(whole) <= 3 or (len(whole) == 3 and whole[2] == 0):
        return Unknown(None, "range")
    found = range(*whole)
    if len(found) > 64 or any(isinstance(a, Int) and a.derived for a in arguments.positional):
        return Unknown(None, "range")
    return Sequence(tuple(Int(i) for i in found))


def _zip(arguments: Arguments, product: bool) -> Value:
    lists = [elements(a) for a in arguments.positional]
    known = [items for items in lists if items is not None]
    if len(known) != len(lists) or not known:
        return UNKNOWN
    if not product:
        return Sequence(tuple(Sequence(row) for row in zip(*known, strict=False)))
    rows: list[tuple[Value, ...]] = [()]
    for items in known:
        rows = [(*row, i) for row in rows for i in items][:256]
    return Sequence(tuple(Sequence(row) for row in rows))


def _getattr(run: Run, first: Value, arguments: Arguments) -> Value:
    name = arguments.get(1)
    if isinstance(name, Known) and isinstance(name.value, str) and isinstance(first, Instance):
        if name.value in first.fields or len(arguments.positional) < 3:
            return objects.attribute(run, first, name.value)
        default = arguments.get(2)
        return UNKNOWN if default is None or first.of is not None else default
    return UNKNOWN


def _isinstance(value: Value | None, kind: Value | None) -> Value:
    match value, kind:
        case Tensor(), Global(dotted="torch.Tensor"):
            return Known(True)
        case Int(), Global(dotted="builtins.int"):
            return Known(True)
        case ((Int() | Tensor() | Sequence()), Global(dotted="builtins.str" | "builtins.float")):
            return Known(False)
        case _:
            return Unknown(None, "bool")


def _method(run: Run, owner: Value, name: str, arguments: Arguments) -> Value:
    match owner:
        case Tensor():
            return method(owner, name, arguments)
        case Table():
            return objects.table_method(owner, name, arguments)
        case Function() | Partial():
            return owner  # `kernel.replace_hints(...)`
        case Class() if name == "apply":
            return _apply(run, owner, arguments)
        case Instance() if is_parser_method(owner, name):
            return parser_method(owner, name, arguments)
        case Instance() if is_module_method(run, owner, name):
            return module_method(owner, name, arguments)
        case Class() | Instance():
            if name == "save_for_backward" and isinstance(owner, Instance):
                owner.fields["saved_tensors"] = Sequence(arguments.positional)
            return Known(None)
        case Sequence(items=items):
            if name in ("index", "count"):
                return Int()
            return Sequence(items) if name == "copy" else UNKNOWN
        case Shape(tensor=tensor):
            return numel(tensor) if name == "numel" else UNKNOWN
        case Int() | Known():
            return numbers.method(owner, name)
        case Unknown() if name in OF_TENSORS:
            return method(Tensor(), name, arguments)
        case _:
            _callbacks(run, arguments)
            return UNKNOWN


def _instance(run: Run, of: Class, arguments: Arguments) -> Value:
    made = Instance(of)
    constructor = objects.find_method(run, of, "__init__")
    if constructor is not None:
        call_function(run, constructor[0], Arguments((made, *arguments.positional), arguments.named))
        return made
    for position, (name, default) in enumerate(annotated_fields(of.node)):
        value = arguments.get(position, name)
        if value is None and default is not None:
            value = run.evaluate(run, default, Scope({}, home_of(run, of.home)))
        made.fields[name] = UNKNOWN if value is None else value
    return made


def _apply(run: Run, of: Class, arguments: Arguments) -> Value:
    """`autograd.Function.apply`: the forward; then the backward, with gradients like what the forward gave."""
    context = Instance(None)
    forward, backward = objects.find_method(run, of, "forward"), objects.find_method(run, of, "backward")
    if forward is None:
        return UNKNOWN
    result = call_function(run, forward[0], Arguments((context, *arguments.positional), arguments.named))
    if backward is not None:
        outputs = result.items if isinstance(result, Sequence) else (result,)
        gradients = tuple(Tensor(o.dtype, o.rank, o.dims) if isinstance(o, Tensor) else UNKNOWN for o in outputs)
        call_function(run, backward[0], Arguments((context, *gradients), {}))
    return result


def _is_switch(value: Value) -> bool:
    return isinstance(value, Known) and (value.value is None or isinstance(value.value, bool))


def call_function(run: Run, function: Function, arguments: Arguments, entry: bool = False) -> Value:
    """Read a function's body with these arguments; those missing are what defaults and annotations say. `entry`: the
    call stands for all that are not seen."""
    node, home = function.node, home_of(run, function.home)
    if run.is_kernel(function, home) or run.depth >= _DEPTH:
        return UNKNOWN
    run.visited.add(id(node))
    summary = run.summary(node)
    names: Names = dict(function.names)
    scope = Scope(names, home)
    parameters = (*node.args.posonlyargs, *node.args.args)
    defaults = dict(zip([p.arg for p in reversed(parameters)], reversed(node.args.defaults), strict=False))
    defaults |= {p.arg: d for p, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None}
    for position, parameter in enumerate((*parameters, *node.args.kwonlyargs)):
        name = parameter.arg
        value = arguments.get(position if position < len(parameters) else -1, name)
        if value is None and name in defaults:
            value = run.evaluate(run, defaults[name], Scope({}, home))
            unbound = unbound_parameter(parameter, summary.tensors)
            if value == Known(None) and isinstance(unbound, Tensor) and entry:
                value = value if run.decisions.choose(True) else unbound
            elif run.switches and run.depth == 0 and _is_switch(value):
                value = Unknown(run.fresh(name), "bool", value == Known(True))
        if value is None:
            value = unbound_parameter(parameter, summary.tensors)
        names[name] = run.named(name, value)
    if node.args.vararg is not None:
        names[node.args.vararg.arg] = Sequence(arguments.positional[len(parameters) :])
    if node.args.kwarg is not None:
        known = {p.arg for p in (*parameters, *node.args.kwonlyargs)}
        extra: dict[objects.TableKey, Value] = {k: v for k, v in arguments.named.items() if k not in known}
        names[node.args.kwarg.arg] = Table(extra)
    run.depth += 1
    try:
        if isinstance(node, ast.Lambda):
            return plain(run.evaluate(run, node.body, scope))
        if summary.generator:
            scope.yields = []
            run.execute(run, node.body, scope)
            return Sequence(tuple(scope.yields))
        flow = run.execute(run, node.body, scope)
        value = getattr(flow, "value", None)
        return Known(None) if value is None else plain(value)
    finally:
        run.depth -= 1

"""Walking, rewriting and pruning of kernel programs: what every pass stands on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from operator import is_

from msgspec.structs import replace

from ferrotile.passes.liveness import Liveness, liveness
from ferrotile.program.ir import Block, End, For, If, Loop, Operation, Program, Statement, Terminator, Value
from ferrotile.program.types import ArrayType

Rewriter = Callable[[Statement], Sequence[Statement]]


def regions(statement: Statement) -> tuple[Block, ...]:
    """The blocks directly inside a statement."""
    if isinstance(statement, Operation):
        return ()
    if isinstance(statement, If):
        return (statement.then, statement.otherwise)
    return (statement.body,)


def operands(statement: Statement) -> tuple[Value, ...]:
    """Values that the statement itself reads, those of its regions left out."""
    match statement:
        case Operation():
            return statement.operands
        case If():
            return (statement.condition,)
        case For():
            return (statement.lower, statement.upper, statement.step, *statement.initial)
        case Loop():
            return statement.initial


def walk(block: Block) -> Iterator[Statement]:
    """Every statement, outer before inner, in program order."""
    for statement in block.statements:
        yield statement
        if not isinstance(statement, Operation):
            for region in regions(statement):
                yield from walk(region)


def operations(block: Block) -> Iterator[Operation]:
    """Every operation in program order."""
    for statement in block.statements:
        if isinstance(statement, Operation):
            yield statement
        else:
            for region in regions(statement):
                yield from operations(region)


def terminators(block: Block) -> Iterator[Terminator]:
    """Every terminator in the block, nested ones included."""
    for statement in block.statements:
        if not isinstance(statement, Operation):
            for region in regions(statement):
                yield from terminators(region)
    yield block.terminator


def loop_ends(body: Block) -> Iterator[Terminator]:
    """The terminators that act on the loop whose body this is."""
    for statement in body.statements:
        if isinstance(statement, If):
            for region in (statement.then, statement.otherwise):
                yield from (t for t in loop_ends(region) if t.kind in (End.CONTINUE, End.BREAK))
    yield body.terminator


def definitions(block: Block) -> dict[int, Statement]:
    """The statement that defines each value (region arguments map to their loop)."""
    found: dict[int, Statement] = {}
    _define(block, found)
    return found


def _define(block: Block, found: dict[int, Statement]) -> None:
    for statement in block.statements:
        for value in statement.results:
            found[value.id] = statement
        if isinstance(statement, Operation):
            continue
        if isinstance(statement, If):
            _define(statement.then, found)
            _define(statement.otherwise, found)
            continue
        for value in statement.arguments:
            found[value.id] = statement
        if isinstance(statement, For):
            found[statement.variable.id] = statement
        _define(statement.body, found)


def count_uses(block: Block) -> Counter[int]:
    """How often each value is read."""
    read = [v.id for statement in walk(block) for v in operands(statement)]
    read.extend(v.id for terminator in terminators(block) for v in terminator.values)
    return Counter(read)


def next_id(program: Program) -> int:
    """An id above every value's."""
    ids = [parameter.value.id for parameter in program.parameters]
    _collect_ids(program.body, ids)
    return max(ids, default=0) + 1


def _collect_ids(block: Block, ids: list[int]) -> None:
    for statement in block.statements:
        ids += [value.id for value in statement.results]
        if isinstance(statement, Operation):
            continue
        if isinstance(statement, If):
            _collect_ids(statement.then, ids)
            _collect_ids(statement.otherwise, ids)
            continue
        ids += [value.id for value in statement.arguments]
        if isinstance(statement, For):
            ids.append(statement.variable.id)
        _collect_ids(statement.body, ids)


def substitute(block: Block, mapping: Mapping[int, Value]) -> Block:
    """The block with values replaced wherever they are read."""
    if not mapping:
        return block

    def one(value: Value) -> Value:
        while value.id in mapping:
            value = mapping[value.id]
        return value

    def many(values: Sequence[Value]) -> tuple[Value, ...]:
        return tuple(map(one, values))

    def changes(values: Sequence[Value]) -> bool:
        return any(v.id in mapping for v in values)

    def statement(s: Statement) -> Statement:
        match s:
            case Operation():
                return replace(s, operands=many(s.operands)) if changes(s.operands) else s
            case If():
                then, otherwise = visit(s.then), visit(s.otherwise)
                if then is s.then and otherwise is s.otherwise and s.condition.id not in mapping:
                    return s
                return replace(s, condition=one(s.condition), then=then, otherwise=otherwise)
            case For():
                body = visit(s.body)
                if body is s.body and not changes((s.lower, s.upper, s.step, *s.initial)):
                    return s
                return replace(s, lower=one(s.lower), upper=one(s.upper), step=one(s.step),
                               initial=many(s.initial), body=body)  # fmt: skip
            case Loop():
                body = visit(s.body)
                if body is s.body and not changes(s.initial):
                    return s
                return replace(s, initial=many(s.initial), body=body)

    def visit(b: Block) -> Block:
        end = b.terminator
        if changes(end.values):
            end = replace(end, values=many(end.values))
        return _block(b, tuple(map(statement, b.statements)), end)

    return visit(block)


def _block(before: Block, statements: Sequence[Statement], end: Terminator) -> Block:
    """The block with other statements and end: itself where they are the same, so that what follows sees at once that
    nothing changed."""
    same = len(statements) == len(before.statements) and all(map(is_, statements, before.statements))
    return before if same and end is before.terminator else Block(tuple(statements), end)


def rewrite(block: Block, rewriter: Rewriter, opcodes: Container[str] | None = None) -> Block:
    """Inner regions first, then each statement replaced by what `rewriter` returns for it. It is not asked about
    operations whose opcode is not among `opcodes`, which stay."""
    out: list[Statement] = []
    for statement in block.statements:
        if isinstance(statement, Operation):
            if opcodes is not None and statement.opcode not in opcodes:
                out.append(statement)
                continue
        elif isinstance(statement, If):
            statement = _with_branches(
                statement,
                rewrite(statement.then, rewriter, opcodes),
                rewrite(statement.otherwise, rewriter, opcodes),
            )
        else:
            statement = _with_body(statement, rewrite(statement.body, rewriter, opcodes))
        out += rewriter(statement)
    return _block(block, out, block.terminator)


def _with_branches(s: If, then: Block, otherwise: Block) -> If:
    return s if then is s.then and otherwise is s.otherwise else replace(s, then=then, otherwise=otherwise)


def _with_body(s: For | Loop, body: Block) -> For | Loop:
    return s if body is s.body else replace(s, body=body)


def _keep(values: tuple[Value, ...], kept: Sequence[int]) -> tuple[Value, ...]:
    return tuple(values[k] for k in kept)


def _keep_ends(body: Block, kept: Sequence[int]) -> Block:
    """The loop body with only the kept positions in the terminators that act on the loop."""

    def visit(block: Block, top: bool) -> Block:
        statements = tuple(
            replace(s, then=visit(s.then, False), otherwise=visit(s.otherwise, False)) if isinstance(s, If) else s
            for s in block.statements
        )
        end = block.terminator
        if top or end.kind in (End.CONTINUE, End.BREAK):
            end = replace(end, values=_keep(end.values, kept))
        return Block(statements, end)

    return visit(body, True)


def _prune_loop(loop: For | Loop, live: Liveness, mapping: dict[int, Value] | None) -> For | Loop:
    ends = [t for t in loop_ends(loop.body) if t.kind is not End.RETURN]
    kept = []
    for k, argument in enumerate(loop.arguments):
        if mapping is not None and all(t.values[k].id == argument.id for t in ends):
            mapping[argument.id] = mapping[loop.results[k].id] = loop.initial[k]
        elif live.carries(loop, k):
            kept.append(k)
    if len(kept) == len(loop.arguments):
        return loop
    return replace(
        loop,
        initial=_keep(loop.initial, kept),
        arguments=_keep(loop.arguments, kept),
        results=_keep(loop.results, kept),
        body=_keep_ends(loop.body, kept),
    )


def _prune_if(statement: If, live: Liveness, mapping: dict[int, Value] | None) -> tuple[If, ...]:
    ends = [b.terminator.values for b in (statement.then, statement.otherwise) if b.terminator.kind is End.YIELD]
    if mapping is not None and len(ends) == 2:
        mapping.update((r.id, a) for r, a, b in zip(statement.results, *ends, strict=True) if a.id == b.id)
    kept = [k for k, r in enumerate(statement.results) if r.id in live.values and r.id not in (mapping or ())]

    def branch(block: Block) -> Block:
        if block.terminator.kind is not End.YIELD:
            return block
        return Block(block.statements, replace(block.terminator, values=_keep(block.terminator.values, kept)))

    pruned = statement
    if len(kept) < len(statement.results):
        pruned = replace(
            statement,
            then=branch(statement.then),
            otherwise=branch(statement.otherwise),
            results=_keep(statement.results, kept),
        )
    idle = all(not b.statements and b.terminator.kind is End.YIELD for b in (pruned.then, pruned.otherwise))
    return () if idle and not kept else (pruned,)


def eliminate_dead(program: Program, unchanged: bool = True) -> Program:
    """Without what no effect depends on: pure operations, loads, carried values, whole `if`s and loops; and, with
    `unchanged`, without carried values that never change."""
    while True:
        live = liveness(program.body, whole=True)
        mapping: dict[int, Value] = {}
        constant = mapping if unchanged else None

        def visit(block: Block, live: Liveness = live, constant: dict[int, Value] | None = constant) -> Block:
            out: list[Statement] = []
            for s in block.statements:
                if not live.runs(s):
                    pass
                elif isinstance(s, Operation):
                    out.append(s)
                elif isinstance(s, If):
                    out += _prune_if(_with_branches(s, visit(s.then), visit(s.otherwise)), live, constant)
                else:
                    out.append(_prune_loop(_with_body(s, visit(s.body)), live, constant))
            return _block(block, out, block.terminator)

        body = visit(program.body)
        if body is not program.body:
            program = replace(program, body=body)
        if not mapping:
            return program
        program = replace(program, body=substitute(body, mapping))


def array_of(value: Value, defined: Mapping[int, Statement]) -> Value | None:
    """The array parameter behind a view, pointer or slice."""
    while (statement := defined.get(value.id)) is not None:
        if not isinstance(statement, Operation) or not statement.operands:
            return None
        value = statement.operands[0]
    return value if isinstance(value.type, ArrayType) else None

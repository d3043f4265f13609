"""Why another step, predicate, treatment of NaN or map of axes comes to the same."""

from __future__ import annotations

from ferrotile_runner.tileir.model import Operation, PartitionViewType, TileType, Value
from given import Given, Reason, kinds
from known import LAUNCH, Known
from lanes import unspread


def _step_of_one_round(given: Given) -> bool:
    """All that the change reaches is how far apart the rounds of a loop are that has one at most."""
    if given.at.name == "for":
        return given.known.runs_once(given.at)
    users = given.known.users.get(given.at.results[0].number, [])
    steps = all(op.name == "for" and op.one("step") == given.at.results[0] for op in users)
    number = given.at.results[0]
    only = all(number not in (op.one("lower"), op.one("upper")) for op in users if op.name == "for")
    return bool(users) and steps and only and all(map(given.known.runs_once, users))


_TURNED = {"less_than_or_equal": "greater_than_or_equal", "greater_than_or_equal": "less_than_or_equal"}
_EXTREMES = {
    "minf": "less_than_or_equal",
    "mini": "less_than_or_equal",
    "maxf": "greater_than_or_equal",
    "maxi": "greater_than_or_equal",
}


def _beside_the_extreme(given: Given) -> bool:
    """Elements compared with the extreme of all of them: none is beyond it, so that `<=` is `==`."""
    new = given.new
    if given.at.name not in {"cmpf", "cmpi"} or new is None or given.at.word("predicate") != "equal":
        return False
    ordered = given.at.word("ordering", "ordered") == new.word("ordering", "ordered") == "ordered"
    predicate, (one, other) = new.word("predicate"), given.at.operands[:2]
    return ordered and (
        (_is_extreme(given, other, one, predicate)) or (_is_extreme(given, one, other, _TURNED.get(predicate, "")))
    )


def _is_extreme(given: Given, value: Value, of: Value, predicate: str) -> bool:
    made = given.known.definitions.get(unspread(given.known, value).number)
    if made is None or made.name != "reduce" or made.operands != (of,):
        return False
    combined = [op for op in made.regions[0].operations if op.name != "yield"]
    if len(combined) != 1 or _EXTREMES.get(combined[0].name) != predicate:
        return False
    return combined[0].word("signedness", "signed") == given.at.word("signedness", "signed")


def _axes_of_one_element(given: Given) -> bool:
    """Along the axes that are exchanged tiles have one element, at the same place along each."""
    old, new = given.at.results[0].type, given.new.results[0].type if given.new is not None else None
    if not isinstance(old, PartitionViewType) or not isinstance(new, PartitionViewType) or old.tile != new.tile:
        return False
    places = [place for place, (a, b) in enumerate(zip(old.dim_map, new.dim_map, strict=True)) if a != b]
    users = given.known.users.get(given.at.results[0].number, [])
    return all(old.tile[place] == 1 for place in places) and all(
        "index" in op.named and _one_place(given.known, [op.named["index"][place] for place in places]) for op in users
    )


def _one_place(known: Known, index: list[Value]) -> bool:
    same = {_constant(known, value) for value in index}
    return (len(same) == 1 and None not in same) or all(known.alike(index[0], value) for value in index)


def _constant(known: Known, value: Value) -> str | None:
    made = known.definitions.get(value.number)
    return made.word("value") if made is not None and made.name == "constant" else None


_CARRY_NAN = frozenset({"addf", "subf", "mulf", "divf", "fma", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "negf",
                        "absf", "tanh", "sin", "cos", "ftof", "broadcast", "reshape"})  # fmt: skip


def _all_is_nan(given: Given) -> bool:
    """With a NaN among what the extreme is of, everything that is stored of that row is NaN either way: a sum over the
    row comes into it."""
    at = given.known.combined
    around = next((at[v.number] for v in given.at.operands if v.number in at), None)
    if around is None or around.name != "reduce" or len(around.operands) != 1:
        return False
    state: dict[int, bool] = {around.operands[0].number: False}
    axes = {around.word("dim")}
    for op in given.known.entry.body.operations:
        if op.regions and op.name != "reduce":
            return False
        if op is around:
            continue
        found = [state[v.number] for v in op.operands if v.number in state]
        if op.name in {"store_view_tko", "store_ptr_tko"}:
            if op.one("value").number not in state or not state[op.one("value").number]:
                return False
        elif found and op.name == "reduce":
            axes.add(op.word("dim"))
            if len(axes) != 1 or not _sums(op):
                return False
            state[op.results[0].number] = True
        elif found and op.name in _CARRY_NAN and _is_float(op.results[0]):
            state[op.results[0].number] = any(found)
        elif found:
            return False
    return True


def _sums(reduction: Operation) -> bool:
    combined = [op.name for op in reduction.regions[0].operations if op.name != "yield"]
    return len(reduction.operands) == 1 and combined in (["addf"], ["mulf"])


def _is_float(value: Value) -> bool:
    return isinstance(value.type, TileType) and str(value.type.element)[0] in "fbt"


ROWS = (
    Reason("the step of a loop of one round", kinds("step of a loop", "integer constant"), _step_of_one_round),
    Reason("elements next to the extreme of all of them: none is beyond it", kinds("other predicate"),
           _beside_the_extreme),
    Reason("axes along which tiles have one element, at the same place", kinds("other axis map"),
           _axes_of_one_element),
    Reason("a row with NaN is NaN in all that is stored of it", kinds("NaN of extremes"), _all_is_nan),
)  # fmt: skip


def _behind_a_wait(given: Given) -> bool:
    """A token of a loop that carries nothing else: a block waits in it for another one."""
    loop = given.at
    return loop.name == "loop" and all(not isinstance(r.type, TileType) for r in loop.results)


_SUMMED = frozenset({"addi", "subi", "select", "mini", "maxi", "assume", "broadcast", "reshape", "exti"})


def _sum_of_counters(given: Given) -> bool:
    """An integer that is made by adding counters, constants and sizes, round by round."""
    wide = given.at.results[0].type
    f32 = isinstance(wide, TileType) and wide.element in {"f32", "f64"}
    return f32 and given.at.name == "itof" and _is_summed(given.known, given.at.operands[0], set())


def _is_summed(known: Known, value: Value, seen: set[int]) -> bool:
    if value.number in seen or value.number in known.loops or value.number in known.sizes:
        return True
    seen.add(value.number)
    if value.number in known.sources:
        return all(_is_summed(known, source, seen) for source in known.sources[value.number])
    made = known.definitions.get(value.number)
    if made is None:
        return False
    if made.name in LAUNCH:
        return True
    if made.name in {"for", "loop", "if"}:
        return all(_is_summed(known, one, seen) for one in known.passed(value))
    return made.name in _SUMMED and all(_is_summed(known, one, seen) for one in made.operands)


BEYOND = (
    Reason("the rounding of a sum of counters, exact below 2^24: no loop of a run is as long", kinds("other rounding"),
           _sum_of_counters),
    Reason("the order behind a loop that waits for another block: only blocks that run at once show it",
           kinds("result of a loop", "lost carry", "other passed value", "other token", "dropped token"),
           _behind_a_wait),
)  # fmt: skip

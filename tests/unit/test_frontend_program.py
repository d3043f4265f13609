"""Whole kernels: shapes with names, pinned constants, control flow, helpers. Expected text is derived by hand."""

from __future__ import annotations

from frontend_support import HEAD, lower, text_of


def test_vector_add() -> None:
    source = """
@ct.kernel
def add(x, y, z, TILE: ct.Constant[int]):
    i = ct.bid(0)
    tx = ct.load(x, index=(i,), shape=(TILE,))
    ty = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(z, index=(i,), tile=tx + ty)
"""
    assert text_of(source, x="f32[1]", y="f32[1]", z="f32[1]", TILE=1024) == [
        "kernel @add(%x: array<?xf32>, %y: array<?xf32>, %z: array<?xf32>) constants(TILE = 1024) {",
        "%i = block_id {axis = 0} : tile<i32>",
        "%0 = make_view %x : view<TILExf32>",
        "%tx = load_view %0, %i : tile<TILExf32>",
        "%1 = make_view %y : view<TILExf32>",
        "%ty = load_view %1, %i : tile<TILExf32>",
        "%2 = addf %tx, %ty : tile<TILExf32>",
        "%3 = make_view %z : view<TILExf32>",
        "store_view %3, %2, %i",
        "return",
        "}",
    ]


def test_matmul_carries_the_accumulator() -> None:
    source = """
@ct.kernel
def matmul(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        ta = ct.load(a, (i, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        tb = ct.load(b, (k, j), (TK, TN), order="F", padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(ta, tb, acc)
    ct.store(c, (i, j), acc.astype(c.dtype))
"""
    lines = text_of(source, a="f16[2]", b="f16[2]", c="f16[2]", TM=64, TN=32, TK=16)
    assert lines[0].endswith("constants(TM = 64, TN = 32, TK = 16) {")
    assert "%acc_3 = for %k in %2 to %1 step %3 carry(%acc_2 = %acc) {" in lines
    assert "%acc_4 = mmaf %ta, %tb, %acc_2 : tile<TMxTNxf32>" in lines
    assert "yield %acc_4" in lines
    assert "%5 = make_view %b : view<TKxTNxf16, dim_map=[1, 0], padding=zero>" in lines
    assert "%6 = ftof %acc_3 : tile<TMxTNxf16>" in lines


def test_softmax_reshapes_then_broadcasts() -> None:
    source = """
@ct.kernel
def softmax(x, y, TN: ct.Constant[int]):
    row = ct.bid(0)
    t = ct.load(x, (row, 0), (1, TN), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(y, (row, 0), e / ct.sum(e, axis=-1, keepdims=True))
"""
    lines = text_of(source, x="f32[2]", y="f32[2]", TN=1024)
    at = lines.index("%2 = reduce %t {axis = 1, function = max} : tile<1xf32>")
    assert lines[at + 1 : at + 4] == [
        "%3 = reshape %2 : tile<1x1xf32>",
        "%4 = broadcast %3 : tile<1xTNxf32>",
        "%5 = subf %t, %4 : tile<1xTNxf32>",
    ]


def _constants(source: str, **arguments: str | int) -> dict[str, bool]:
    program = lower(source, **arguments).program
    assert program is not None
    return {c.name: c.pinned for c in program.constants}


def test_what_pins_a_constant() -> None:
    head = "@ct.kernel\ndef k(x, n, A: ct.Constant[int], B: ct.Constant[int]):\n"
    arguments: dict[str, str | int] = {"x": "f32[1]", "n": "i32", "A": 16, "B": 16}
    free = head + "    ct.store(x, n * B, ct.full((A,), 1.0, x.dtype))\n"
    assert _constants(free, **arguments) == {"A": False, "B": False}
    folded = head + "    ct.store(x, n, ct.full((A,), A * 2, x.dtype))\n"
    assert _constants(folded, **arguments) == {"A": True}
    unified = head + "    ct.store(x, n, ct.full((A,), 1.0, x.dtype) + ct.zeros((B,), x.dtype))\n"
    assert _constants(unified, **arguments) == {"A": True, "B": True}
    decided = head + "    if A > 3:\n        ct.store(x, n, ct.full((A,), 1.0, x.dtype))\n"
    assert _constants(decided, **arguments) == {"A": True}


def test_break_and_continue_hand_on_the_carries() -> None:
    source = """
@ct.kernel
def k(x, n):
    s = 0
    for j in range(n):
        if j == 5:
            break
        if j == 3:
            continue
        s += j
    ct.store(x, 0, s)
"""
    lines = text_of(source, x="i32[1]", n="i32")
    assert "break %s" in lines
    assert "continue %s" in lines
    assert "yield %s_3" in lines


def test_while_breaks_at_its_head() -> None:
    source = """
@ct.kernel
def k(x, n):
    j = 0
    while j < n:
        j += 2
    ct.store(x, 0, j)
"""
    assert text_of(source, x="i32[1]", n="i32")[1:13] == [
        "%0 = constant {value = 0} : tile<i32>",
        "%j_2 = loop carry(%j = %0) {",
        "%1 = cmpi %j, %n {predicate = less_than} : tile<bool>",
        "if %1 {",
        "yield",
        "} else {",
        "break %j",
        "}",
        "%2 = constant {value = 2} : tile<i32>",
        "%j_3 = addi %j, %2 : tile<i32>",
        "continue %j_3",
        "} : tile<i32>",
    ]


def test_early_return_and_short_circuit() -> None:
    source = """
@ct.kernel
def k(x, n):
    if n > 3 and n < 9:
        return
    ct.store(x, 0, n)
"""
    lines = text_of(source, x="i32[1]", n="i32")
    assert lines.count("return") == 2
    assert "yield %1" in lines, "the left side is what `and` gives when it is false"


def test_helpers_are_inlined_with_early_returns() -> None:
    source = """
def pick(a, b, *, k=2):
    if a > b:
        return a, k
    return a + b, k + 1

@ct.kernel
def k(x, n):
    v, w = pick(n, ct.bid(0))
    ct.store(x, w, v)
"""
    lines = text_of(source, x="i32[1]", n="i32")
    assert "%v, %w = if %1 {" in lines
    assert "yield %n, %2" in lines


def test_constant_branches_are_pruned_and_static_loops_unrolled() -> None:
    source = """
@ct.kernel
def k(x, F: ct.Constant[bool]):
    s = ct.bid(0)
    if F:
        for d in ct.static_iter(range(1, 3)):
            s = s * (d + 1)
    else:
        nonsense(s)
    ct.store(x, 0, s)
"""
    lines = text_of(source, x="i32[1]", F=True)
    assert [line.split("= ", 1)[1].split(" ")[0] for line in lines if "muli" in line] == ["muli", "muli"]


def test_spans_are_the_python_expressions() -> None:
    source = "@ct.kernel\ndef k(x):\n    é = ct.bid(0) + 1\n    ct.store(x, é, 1.0)\n"
    program = lower(source, x="f32[1]").program
    assert program is not None
    data = (HEAD + source).encode()
    spans = [data[s.span.start : s.span.end].decode() for s in program.body.statements]
    assert spans[0] == "ct.bid(0)"
    assert "ct.bid(0) + 1" in spans
    assert spans[-1] == "ct.store(x, é, 1.0)"

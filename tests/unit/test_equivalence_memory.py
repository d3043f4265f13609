"""Pointers, masks, slices, strided and gathering views, atomics, synchronisation, prints; each rule with mutants."""

# ruff: noqa: E501  (one Tile IR operation is one line)

from __future__ import annotations

import pytest
from tileir_support import kernel, load, proof_of, store

WORDS = "x:N y:N"
LAUNCH = ("extents >= 1", "index arithmetic does not overflow", "grid.x = cdiv(N, 16)")
STRIDED = "strided_view<tile=(16), traversal_strides=[{step}], padding_value = zero, tensor_view<?xf32, strides=[1]>>"
GATHER = "gather_scatter_view<tile=(16), padding_value = zero, tensor_view<?xf32, strides=[1]>, sparse_dim=0>"


def text(*parts: str) -> str:
    return kernel("\n".join(parts))


def lanes(first: str = "%bx", size: int = 16) -> str:
    """`%at` (i64): first * size + lane."""
    return f"""  %size = constant <i32: {size}> : tile<i32>
  %first = muli {first}, %size : tile<i32>
  %f1 = reshape %first : tile<i32> -> tile<1xi32>
  %f16 = broadcast %f1 : tile<1xi32> -> tile<16xi32>
  %lane = iota : tile<16xi32>
  %place = addi %f16, %lane : tile<16xi32>
  %at = exti %place signed : tile<16xi32> -> tile<16xi64>"""


def mask(name: str, extent: str, predicate: str = "less_than", sign: str = "unsigned") -> str:
    return f"""  %w{name} = exti {extent} signed : tile<i32> -> tile<i64>
  %w1{name} = reshape %w{name} : tile<i64> -> tile<1xi64>
  %w16{name} = broadcast %w1{name} : tile<1xi64> -> tile<16xi64>
  %{name} = cmpi {predicate} %at, %w16{name}, {sign} : tile<16xi64> -> tile<16xi1>"""


def pointers(array: str) -> str:
    return f"""  %p1{array} = reshape %{array} : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p16{array} = broadcast %p1{array} : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %p{array} = offset %p16{array}, %at : tile<16xptr<f32>>, tile<16xi64> -> tile<16xptr<f32>>"""


ZERO = "  %zero = constant <f32: 0.000000e+00> : tile<16xf32>"
GATHERED = "  %g, %g_t = load_ptr_tko weak %px, %in, %zero token=%t : tile<16xptr<f32>>, tile<16xi1>, tile<16xf32> -> tile<16xf32>, token"
SCATTERED = (
    "  %st = store_ptr_tko weak %py, {value}, %out token=%t : tile<16xptr<f32>>, tile<16xf32>, tile<16xi1> -> token"
)


def by_pointers(**changes: str) -> str:
    """y[i] = x[i] for 16 lanes a block, with bounds, by gather and scatter."""
    parts = {"lanes": lanes(), "in": mask("in", "%n"), "out": mask("out", "%m"), "value": "%g", **changes}
    return text(
        parts["lanes"], parts["in"], parts["out"], pointers("x"), pointers("y"), ZERO, GATHERED,
        SCATTERED.format(value=parts["value"]),
    )  # fmt: skip


def by_views(padding: str = "zero", index: str = "%bx") -> str:
    return text(load("a", "xv", index, padding=padding), store("%a", "yv", index))


def test_an_aligned_gather_with_its_bounds_is_a_view_load() -> None:
    assert proof_of(by_pointers(), by_views(), WORDS, *LAUNCH).equal
    assert proof_of(by_pointers(), by_pointers(), WORDS, *LAUNCH).equal


@pytest.mark.parametrize("missing", range(3))
def test_lifting_needs_the_launch(missing: int) -> None:
    """Without the grid the tile may lie wholly outside: nothing for pointers, undefined for a view."""
    facts = [fact for number, fact in enumerate(LAUNCH) if number != missing]
    assert proof_of(by_pointers(), by_views(), WORDS, *facts).equal is (missing == 0)
    if missing == 2:
        assert "where the Python may not" in proof_of(by_pointers(), by_views(), WORDS, *facts).reason


@pytest.mark.parametrize(
    "python",
    [
        by_pointers(**{"in": mask("in", "%n", "less_than_or_equal")}),
        by_pointers(**{"in": mask("in", "%xs")}),
        by_pointers(out=mask("out", "%n", "less_than_or_equal")),
        by_pointers(lanes=lanes(size=15)),
        by_pointers(lanes=lanes(size=17)),
        by_pointers(value="%zero"),
        by_pointers().replace("0.000000e+00", "1.000000e+00"),
    ],
)
def test_gathers_that_read_or_mask_otherwise_are_no_view_load(python: str) -> None:
    assert not proof_of(python, by_views(), WORDS, *LAUNCH).equal


def test_padding_and_index_of_the_view_must_fit_the_gather() -> None:
    assert not proof_of(by_pointers(), by_views("neg_inf"), WORDS, *LAUNCH).equal
    assert not proof_of(by_pointers(), by_views(""), WORDS, *LAUNCH).equal
    assert not proof_of(by_pointers(), by_views(index="%by"), WORDS, *LAUNCH).equal


def sliced(start: int, token: str = "%t") -> str:
    """A view that starts behind the array's pointer; the array is then written as a whole."""
    return text(
        f"  %s0 = constant <i64: {start}> : tile<i64>",
        "  %sp = offset %x, %s0 : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>",
        "  %sv = make_tensor_view %sp, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>",
        load("a", "sv"),
        "  %r = negf %a : tile<16xf32>",
        store("%r", "xv", token=token),
    )


def test_a_slice_is_the_array_that_it_is_of() -> None:
    assert proof_of(sliced(3, "%a_t"), sliced(3, "%a_t"), WORDS).equal
    unordered = proof_of(sliced(3, "%a_t"), sliced(3), WORDS)
    assert not unordered.equal and "nothing orders" in unordered.reason
    assert not proof_of(sliced(3, "%a_t"), sliced(4, "%a_t"), WORDS).equal


def strided(step: int, second: str = "%a_t") -> str:
    kind = STRIDED.format(step=step)
    return text(
        f"  %v = make_strided_view %xv : {kind}",
        f"  %a, %a_t = load_view_tko weak %v[%bx] token = %t : {kind}, tile<i32> -> tile<16xf32>, token",
        store("%a", "xv", token=second),
    )


def test_strided_views_go_by_their_steps_and_overlap() -> None:
    assert proof_of(strided(8), strided(8), WORDS).equal
    assert not proof_of(strided(8), strided(4), WORDS).equal
    one = "  %one = constant <i32: 1> : tile<i32>\n  %next = addi %bx, %one : tile<i32>"
    kind = STRIDED.format(step=8)

    def two(token: str) -> str:
        return text(
            one,
            f"  %v = make_strided_view %yv : {kind}",
            load("a", "xv"),
            f"  %s1 = store_view_tko weak %a, %v[%bx] token = %t : tile<16xf32>, {kind}, tile<i32> -> token",
            f"  %s2 = store_view_tko weak %a, %v[%next] token = {token} : tile<16xf32>, {kind}, tile<i32> -> token",
        )

    assert proof_of(two("%s1"), two("%s1"), WORDS).equal
    assert not proof_of(two("%s1"), two("%t"), WORDS).equal


def test_gathering_views_go_by_their_indices() -> None:
    def gathering(index: str) -> str:
        return text(
            lanes(),
            "  %other = addi %lane, %lane : tile<16xi32>",
            f"  %v = make_gather_scatter_view %xv : {GATHER}",
            f"  %a, %a_t = load_view_tko weak %v[{index}] token = %t : {GATHER}, tile<16xi32> -> tile<16xf32>, token",
            store("%a", "yv"),
        )

    assert proof_of(gathering("%place"), gathering("%place"), WORDS).equal
    assert not proof_of(gathering("%place"), gathering("%lane"), WORDS).equal
    assert not proof_of(gathering("%other"), gathering("%lane"), WORDS).equal


def atomics(first: str = "addf", second: str = "xchg", token: str = "%b_t", how: str = "relaxed device") -> str:
    types = "tile<16xptr<f32>>, tile<16xf32>, tile<16xi1> -> tile<16xf32>, token"
    return text(
        lanes(), mask("in", "%n"), pointers("x"), load("a", "yv"),
        f"  %b, %b_t = atomic_rmw_tko {how} %px, {first}, %a, %in token=%t : {types}",
        f"  %c, %c_t = atomic_rmw_tko {how} %px, {second}, %a, %in token={token} : {types}",
        store("%b", "yv", token="%a_t"),
    )  # fmt: skip


def test_atomics_of_one_array_keep_their_order() -> None:
    assert proof_of(atomics(), atomics(), WORDS).equal
    unordered = proof_of(atomics(), atomics(token="%t"), WORDS)
    assert not unordered.equal and "nothing orders" in unordered.reason
    assert proof_of(atomics(token="%t"), atomics(token="%t"), WORDS).equal  # the Python leaves them open as well
    for other in (
        atomics("xchg", "addf"),
        atomics(second="addf"),
        atomics(how="relaxed sys"),
        atomics(how="acq_rel device"),
    ):
        assert not proof_of(atomics(), other, WORDS).equal


def released(order: str = "release", token: str = "%s", store_first: bool = True) -> str:
    """A store to `y`, then a flag in `x` that tells other blocks so."""
    types = "tile<16xptr<f32>>, tile<16xf32>, tile<16xi1> -> tile<16xf32>, token"
    data = store("%zero", "yv")
    flag = f"  %b, %b_t = atomic_rmw_tko {order} device %px, xchg, %zero, %in token={token} : {types}"
    body = (data, flag) if store_first else (flag, data)
    return text(lanes(), mask("in", "%n"), pointers("x"), ZERO, *body)


def test_a_release_comes_after_the_stores_that_it_publishes() -> None:
    assert proof_of(released(), released(), WORDS).equal
    loose = proof_of(released(), released(token="%t"), WORDS)
    assert not loose.equal and "nothing orders" in loose.reason
    assert not proof_of(released(), released(token="%t", store_first=False), WORDS).equal
    assert not proof_of(released(), released("relaxed"), WORDS).equal
    assert proof_of(released("relaxed", "%t"), released("relaxed", "%t"), WORDS).equal


def printing(first: str = "one", second: str = "two", token: str = "%p1") -> str:
    return text(
        f'  %p1 = print_tko "{first} %d", %bx token=%t : tile<i32> -> token',
        f'  %p2 = print_tko "{second}" token={token} -> token',
    )


def test_prints_keep_text_values_and_order() -> None:
    assert proof_of(printing(), printing(), WORDS).equal
    for other in (
        printing("two", "one"),
        printing(second="three"),
        printing().replace("%bx token", "%by token"),
    ):
        assert not proof_of(printing(), other, WORDS).equal
    loose = proof_of(printing(), printing(token="%t"), WORDS)
    assert loose.equal and any("prints stay in the order" in text for text in loose.hypotheses_used)
    assert not any("prints" in text for text in proof_of(printing(), printing(), WORDS).hypotheses_used)


def test_index_arithmetic_of_loaded_values_may_wrap() -> None:
    """No launch check bounds what an array holds, so `exti` of a sum of loaded numbers is no sum of `exti`s."""
    view = "tensor_view<?xi32, strides=[1]>"
    part = f"partition_view<tile=(16), {view}>"
    head = f"""  %iv = make_tensor_view %ip, shape = [%ik], strides = [1] : tile<i32> -> {view}
  %pi = make_partition_view %iv : {part}
  %k, %k_t = load_view_tko weak %pi[%bx] token = %t : {part}, tile<i32> -> tile<16xi32>, token"""
    narrow = "  %s = addi %k, %k : tile<16xi32>\n  %at = exti %s signed : tile<16xi32> -> tile<16xi64>"
    wide = "  %w = exti %k signed : tile<16xi32> -> tile<16xi64>\n  %at = addi %w, %w : tile<16xi64>"

    def updating(sum_: str) -> str:
        body = (
            head,
            sum_,
            mask("in", "%n"),
            pointers("x"),
            pointers("y"),
            ZERO,
            GATHERED,
            SCATTERED.format(value="%g"),
        )
        made = kernel("\n".join((*body[:3], mask("out", "%m"), *body[3:])))
        return made.replace("%ys: tile<i32>)", "%ys: tile<i32>, %ip: tile<ptr<i32>>, %ik: tile<i32>, %is: tile<i32>)")

    words = "x:N y:N i:K"
    first, second = updating(narrow), updating(wide)
    assert proof_of(first, first, words, *LAUNCH[:2]).equal
    assert not proof_of(first, second, words, *LAUNCH[:2]).equal


def test_lanes_that_two_loads_leave_open_are_not_the_same() -> None:
    def masked(*names: str) -> str:
        loads = [
            GATHERED.replace("%g, %g_t", f"%{n}, %{n}_t")
            .replace(", %zero", "")
            .replace("tile<16xi1>, tile<16xf32>", "tile<16xi1>")
            for n in names
        ]
        difference = f"  %d = subf %{names[0]}, %{names[-1]} : tile<16xf32>"
        return text(lanes(), mask("in", "%n"), pointers("x"), *loads, difference, store("%d", "yv"))

    assert proof_of(masked("g"), masked("g"), WORDS, *LAUNCH).equal
    assert not proof_of(masked("g"), masked("g", "h"), WORDS, *LAUNCH).equal


def two_tiles(strides: tuple[str, str], second: str) -> str:
    """y[0, 0:16] = x[0], then y[1, 0:16] = 2 * x[0], of a view with the given strides, behind `second`."""
    written = ",".join("?" if stride[0] == "%" else stride for stride in strides)
    view = f"tensor_view<?x?xf32, strides=[{written}]>"
    kind = f"partition_view<tile=(1x16), {view}>"
    store_ = f"weak %VALUE, %q[%INDEX, %c0] token = TOKEN : tile<1x16xf32>, {kind}, tile<i32> -> token"
    made = kernel(f"""  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
{load("a", "xv", "%c0")}
  %b = addf %a, %a : tile<16xf32>
  %a1 = reshape %a : tile<16xf32> -> tile<1x16xf32>
  %b1 = reshape %b : tile<16xf32> -> tile<1x16xf32>
  %v = make_tensor_view %z, shape = [%z0, %z1], strides = [{", ".join(strides)}] : tile<i32> -> {view}
  %q = make_partition_view %v : {kind}
  %s = store_view_tko {store_.replace("%VALUE", "%a1").replace("%INDEX", "%c0").replace("TOKEN", "%t")}
  %s2 = store_view_tko {store_.replace("%VALUE", "%b1").replace("%INDEX", "%c1").replace("TOKEN", second)}""")
    array = ", ".join(f"%z{word}: tile<i32>" for word in ("0", "1", "s0", "s1"))
    return made.replace("%ys: tile<i32>)", f"%ys: tile<i32>, %z: tile<ptr<f32>>, {array})")


@pytest.mark.parametrize(("strides", "apart"), [(("%zs0", "1"), True), (("1", "1"), False)])
def test_tiles_along_other_strides_than_the_arrays_may_overlap(strides: tuple[str, str], apart: bool) -> None:
    """With strides (1, 1) element [0, 1] is element [1, 0]."""
    python = two_tiles(strides, "%s")
    assert proof_of(python, python, "x:N y:N z:M,K", *LAUNCH).equal
    assert proof_of(python, two_tiles(strides, "%t"), "x:N y:N z:M,K", *LAUNCH).equal is apart


@pytest.mark.parametrize("operation", ["gdc_wait_tko", "gdc_launch_dependents_tko"])
def test_another_launch_writes_what_this_one_only_reads(operation: str) -> None:
    def waiting(before_load: str) -> str:
        wait = f"  %g = {operation} token = %t -> token"
        return text(wait, load("a", "xv", token=before_load), store("%a", "yv", token="%g"))

    assert proof_of(waiting("%g"), waiting("%g"), WORDS, *LAUNCH).equal
    found = proof_of(waiting("%g"), waiting("%t"), WORDS, *LAUNCH)
    assert not found.equal and "before the load of `x`" in found.reason

"""Conformance of `unsafe = "never"`: forms without a single `unsafe` block, and what has none."""

from __future__ import annotations

from rows import PROVED, SIMULATED, Row, file_of

_LANES = "o = {} * T + ct.arange(T, dtype=ct.int32)\n"


def _never(name: str, directive: str, parameters: str, text: str, expect: str, at: str = "") -> Row:
    return Row(name, file_of(directive, parameters, text), expect, at, unsafe="never")


def _element_rows() -> list[Row]:
    """Gathers and scatters whose tiles may lie outside the array, wholly or in part."""
    rows = "i = ct.bid(0)\nfor c in range(C):\n    " + _LANES.format("c")
    return [
        _never(
            "never-rows-of-other-lengths",
            "x: f32[M, N], y: f32[M, K], T=16, C=4, grid=(M)",
            "x, y, T: ct.Constant[int], C: ct.Constant[int]",
            rows + "    v = ct.gather(x, (i, o), check_bounds=True, padding_value=2.5)\n"
            "    ct.scatter(y, (i, o), v * 2.0, check_bounds=True)\n",
            SIMULATED,
        ),
        _never(
            "never-a-later-tile",
            "x: f32[N], y: f32[M], T=16, grid=(M/T)",
            "x, y, T: ct.Constant[int]",
            _LANES.format("1") + "ct.store(y, (ct.bid(0),), ct.gather(x, o, padding_value=2.5))\n",
            SIMULATED,
        ),
        _never(
            "never-an-element-by-number",
            "x: f32[N], i: i32[M], y: f32[M], grid=(M)",
            "x, i, y",
            "j = ct.load(i, (ct.bid(0),), (1,))\nw = ct.load(x, (0,), (8,))\n"
            "ct.store(y, (ct.bid(0),), ct.gather(x, j, check_bounds=False) + ct.sum(w))\n",
            SIMULATED,
        ),
        _never(
            "never-a-vector-in-pieces",
            "x: f32[N], y: f32[M], S=8, T=32, grid=(M/T)",
            "x, y, S: ct.Constant[int], T: ct.Constant[int]",
            "i = ct.bid(0)\no = i * S + ct.arange(T, dtype=ct.int32)\n"
            "ct.store(y, (i,), ct.gather(x, o, check_bounds=True, padding_value=3.0))\n",
            SIMULATED,
        ),
        _never(
            "never-real-indirection",
            "x: f32[N], i: i32[M], y: f32[M], T=16, grid=(M/T)",
            "x, i, y, T: ct.Constant[int]",
            "j = ct.load(i, (ct.bid(0),), (T,))\nct.store(y, (ct.bid(0),), ct.gather(x, j))\n",
            "FT303",
            "ct.gather(x, j)",
        ),
    ]


def _row_rows() -> list[Row]:
    """A block stores as many tiles as its row has."""
    tiles = "i = ct.bid(0)\nn = ct.num_tiles(x, 1, (1, T))\n"
    return [
        _never(
            "never-row-of-tiles",
            "x: f32[M, N], y: f32[M, N], s: f32[M], T=16, grid=(M)",
            "x, y, s, T: ct.Constant[int]",
            tiles + "a = ct.full((1, T), 0.0, ct.float32)\nfor j in range(n):\n"
            "    a = a + ct.load(x, (i, j), (1, T), padding_mode=ct.PaddingMode.ZERO)\n"
            "ct.store(s, (i,), ct.sum(a, 1))\nfor j in range(n):\n"
            "    ct.store(y, (i, j), ct.load(x, (i, j), (1, T)) - ct.sum(a, 1, keepdims=True))\n",
            PROVED,
        ),
        _never(
            "never-rows-of-two-outputs",
            "x: f32[M, N], y: f32[M, N], z: f32[M, N], T=16, grid=(M)",
            "x, y, z, T: ct.Constant[int]",
            tiles + "for j in range(n):\n    ct.store(y, (i, j), ct.load(x, (i, j), (1, T)) + 1.0)\n"
            "for j in range(n):\n    ct.store(z, (i, j), ct.load(x, (i, j), (1, T)) * 2.0)\n",
            PROVED,
        ),
        _never(
            "never-two-outputs-in-one-loop",
            "x: f32[M, N], y: f32[M, N], z: f32[M, N], T=16, grid=(M)",
            "x, y, z, T: ct.Constant[int]",
            tiles + "for j in range(n):\n    a = ct.load(x, (i, j), (1, T))\n"
            "    ct.store(y, (i, j), a + 1.0)\n    ct.store(z, (i, j), a * 2.0)\n",
            PROVED,
        ),
        _never(
            "never-row-of-matrices",
            "x: f32[B, M, N], y: f32[B, M, N], T=16, grid=(B)",
            "x, y, T: ct.Constant[int]",
            "i = ct.bid(0)\nfor k in range(ct.cdiv(x.shape[1], 4)):\n    for j in range(ct.cdiv(x.shape[2], T)):\n"
            "        ct.store(y, (i, k, j), ct.load(x, (i, k, j), (1, 4, T)) + 1.0)\n",
            PROVED,
        ),
        _never(
            "never-row-of-another-axis",
            "x: f32[M, N], y: f32[M, N], T=16, grid=(M)",
            "x, y, T: ct.Constant[int]",
            "i = ct.bid(0)\nfor j in range(ct.cdiv(x.shape[0], T)):\n"
            "    ct.store(y, (i, j), ct.load(x, (i, j), (1, T)) + 1.0)\n",
            "FT303",
            "ct.store(y, (i, j), ct.load(x, (i, j), (1, T)) + 1.0)",
        ),
        _never(
            "never-row-that-blocks-share",
            "x: f32[M, N], y: f32[K, N], T=16, grid=(M)",
            "x, y, T: ct.Constant[int]",
            "i = ct.bid(0) // 2\nfor j in range(ct.cdiv(x.shape[1], T)):\n"
            "    ct.store(y, (i, j), ct.load(x, (i, j), (1, T)) + 1.0)\n",
            "FT303",
            "ct.store(y, (i, j), ct.load(x, (i, j), (1, T)) + 1.0)",
        ),
    ]


def _trip_rows() -> list[Row]:
    """Persistent loops with several outputs, one trip a block."""
    head = "for t in range(ct.bid(0), ct.cdiv(x.shape[0], T), ct.num_blocks(0)):\n    a = ct.load(x, (t,), (T,))\n"
    return [
        _never(
            "never-persistent-outputs",
            "x: f32[N], y: f32[N], z: f32[N], T=16",
            "x, y, z, T: ct.Constant[int]",
            head + "    ct.store(y, (t,), a + 1.0)\n    ct.store(z, (t,), a * a)\n",
            SIMULATED,
        ),
        _never(
            "never-persistent-neighbours",
            "x: f32[N], y: f32[N], z: f32[N], T=16",
            "x, y, z, T: ct.Constant[int]",
            head + "    ct.store(y, (t // 2,), a + 1.0)\n    ct.store(z, (t,), a * a)\n",
            "FT303",
            "ct.store(y, (t // 2,), a + 1.0)",
        ),
    ]


def _joined_rows() -> list[Row]:
    """Rows that two block ids number together."""
    row = "i, b = ct.bid(0), ct.bid(1)\nr = b * L + i\n"
    tile = row + "a = ct.load(x, (r, ct.bid(2)), (1, T))\nct.store(y, (r, ct.bid(2)), a * i + b)\n"
    parameters = "x, y, L: ct.Constant[int], T: ct.Constant[int]"
    arrays = "x: f32[8, N], y: f32[8, N], L=4, T=16, "
    return [
        _never("never-joined-ids", arrays + "grid=(4, 2, N/T)", parameters, tile, PROVED),
        _never(
            "never-joined-ids-of-an-unknown-grid",
            "x: f32[R, N], y: f32[R, N], L=4, T=16",
            parameters,
            row + "for c in range(2):\n    a = ct.load(x, (r, c), (1, T), padding_mode=ct.PaddingMode.ZERO)\n"
            "    ct.store(y, (r, c), a * i + b)\n",
            PROVED,
        ),
        _never(
            "never-joined-ids-of-another-grid",
            arrays + "grid=(2, 4, N/T)",
            parameters,
            tile,
            "FT303",
            "ct.store(y, (r, ct.bid(2)), a * i + b)",
        ),
    ]


def _copy_rows() -> list[Row]:
    """Arrays that are read and written, read from copies."""
    return [
        _never(
            "never-in-place",
            "q: f32[M, N], T=16, grid=(M)",
            "q, T: ct.Constant[int]",
            "i = ct.bid(0)\na = ct.load(q, (i, 0), (1, T))\nct.store(q, (i, 0), a / ct.sum(a, 1, keepdims=True))\n",
            SIMULATED,
        ),
        _never(
            "never-in-place-by-chunks",
            "a: f32[M, N], g: f32[M, N], T=16, C=4, grid=(M)",
            "a, g, T: ct.Constant[int], C: ct.Constant[int]",
            "i = ct.bid(0)\nfor c in range(C):\n    "
            + _LANES.format("c")
            + "    v = ct.gather(a, (i, o), check_bounds=True, padding_value=0.0)\n"
            "    ct.scatter(a, (i, o), v * ct.gather(g, (i, o), check_bounds=True), check_bounds=True)\n",
            SIMULATED,
        ),
        _never(
            "never-in-place-columns",
            "s: f32[M, 4], T=16, grid=(M/T)",
            "s, T: ct.Constant[int]",
            _LANES.format("ct.bid(0)") + "a = ct.gather(s, (o, 1), check_bounds=True)\n"
            "ct.scatter(s, (o, 0), a, check_bounds=True)\nct.scatter(s, (o, 1), a * 2.0, check_bounds=True)\n",
            SIMULATED,
        ),
        _never(
            "never-in-place-twice",
            "x: f32[N], T=16, grid=(N/T)",
            "x, T: ct.Constant[int]",
            "i = ct.bid(0)\nct.store(x, (i,), ct.load(x, (i,), (T,)) + 1.0)\n"
            "ct.store(x, (i,), ct.load(x, (i,), (T,)) * 2.0)\n",
            "FT303",
            "ct.store(x, (i,), ct.load(x, (i,), (T,)) + 1.0)",
        ),
        _never(
            "never-in-place-in-rounds",
            "x: f32[N], T=16, grid=(N/T)",
            "x, T: ct.Constant[int]",
            "i = ct.bid(0)\nfor _ in range(3):\n    ct.store(x, (i,), ct.load(x, (i,), (T,)) * 2.0)\n",
            "FT303",
            "ct.store(x, (i,), ct.load(x, (i,), (T,)) * 2.0)",
        ),
    ]


ROWS = (
    *_element_rows(),
    *_row_rows(),
    *_trip_rows(),
    *_joined_rows(),
    *_copy_rows(),
    _never(
        "never-approximate",
        "x: f32[M, N], y: f32[M, N], s: f32, T=16, grid=(M)",
        "x, y, s, T: ct.Constant[int]",
        "m = ct.RoundingMode.APPROX\nv = ct.load(x, (ct.bid(0), 0), (1, T))\n"
        "e = ct.exp(v - ct.max(v, 1, keepdims=True), rounding_mode=m)\n"
        "b = ct.tanh(e * s, rounding_mode=m) + ct.exp(ct.reshape(v, (T,)), rounding_mode=m)\n"
        "ct.store(y, (ct.bid(0), 0), b * ct.exp(s, rounding_mode=m))\n",
        PROVED,
    ),
)

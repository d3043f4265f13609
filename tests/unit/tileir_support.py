"""Fixtures: Tile IR of our examples, as both compilers emitted it (tests/fixtures/tileir), and small texts."""

from __future__ import annotations

from pathlib import Path

from ferrotile_runner.tileir.equivalence import Proof, prove
from ferrotile_runner.tileir.hypotheses import Array, ParameterMap, Scalar, parse
from ferrotile_runner.tileir.reader import read

FOLDER = Path(__file__).parent.parent / "fixtures" / "tileir"
COMMON = ("extents >= 1", "index arithmetic does not overflow")


def parameters(text: str) -> ParameterMap:
    """`x:M,N y:M,N* s`: arrays with extents (`*`: `&mut` in the Rust) and scalars."""
    found: list[Array | Scalar] = []
    for word in text.split():
        name, _, extents = word.partition(":")
        if not extents:
            found.append(Scalar(name))
            continue
        axes = tuple(int(e) if e.isdigit() else e for e in extents.rstrip("*").split(","))
        found.append(Array(name, axes, rust_is_mut=extents.endswith("*")))
    return ParameterMap(tuple(found))


PAIRS: dict[str, tuple[str, tuple[str, ...]]] = {
    "vector_add": ("x:N y:N z:N*", ("bid.y = 0", "bid.z = 0")),
    "silu_mul": ("gate:M,N up:M,N out:M,N*", ("bid.z = 0",)),
    "batch_matmul": ("a:Q,M,K b:Q,N,K c:Q,M,N*", ()),
    "matmul": ("a:M,K b:K,N c:M,N*", ("bid.z = 0",)),
    "softmax": ("x:M,N y:M,N*", ("bid.y = 0", "bid.z = 0", "cdiv(N, 1024) = 1")),
    "adamw": ("p:N* g:N m:N* v:N* lr beta1 beta2 eps decay", ("bid.y = 0", "bid.z = 0")),
    "layer_norm": ("x:M,1000 w:1000 b:1000 y:M,1000* eps", ("bid.y = 0", "bid.z = 0")),
    "attention": ("q:B,H,S,64 k:B,H,S,64 v:B,H,S,64 out:B,H,S,64 scale", ()),
}


def text(name: str, side: str) -> str:
    return (FOLDER / f"{name}.{side}.ir").read_text()


def proof_of(python: str, rust: str, words: str, *hypotheses: str) -> Proof:
    return prove(read(python).entry(), read(rust).entry(), parameters(words), parse(hypotheses))


def kernel(body: str, words: int = 6) -> str:
    """An entry over two rank-1 f32 arrays (`%x`, `%y`, views `%xv`, `%yv`), by default without `&mut` words."""
    arrays = "%x: tile<ptr<f32>>, %n: tile<i32>, %xs: tile<i32>, %y: tile<ptr<f32>>, %m: tile<i32>, %ys: tile<i32>"
    extra = "".join(f", %e{k}: tile<i32>" for k in range(words - 6))
    view = "tile<i32> -> tensor_view<?xf32, strides=[1]>"
    return f"""entry @k({arrays}{extra}) {{
  %t = make_token : token
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %xv = make_tensor_view %x, shape = [%n], strides = [1] : {view}
  %yv = make_tensor_view %y, shape = [%m], strides = [1] : {view}
{body}
  return
}}
"""


def part(view: str, padding: str = "") -> str:
    """The type of a partition view of 16 elements."""
    pad = f"padding_value = {padding}, " if padding else ""
    return f"partition_view<tile=(16), {pad}tensor_view<?xf32, strides=[1]>>"


def load(name: str, view: str, index: str = "%bx", token: str = "%t", padding: str = "") -> str:
    kind = part(view, padding)
    results = "tile<i32> -> tile<16xf32>, token"
    return f"""  %p{name} = make_partition_view %{view} : {kind}
  %{name}, %{name}_t = load_view_tko weak %p{name}[{index}] token = {token} : {kind}, {results}"""


def store(value: str, view: str, index: str = "%bx", token: str = "%t", name: str = "s") -> str:
    kind = part(view)
    return f"""  %q{name} = make_partition_view %{view} : {kind}
  %{name} = store_view_tko weak {value}, %q{name}[{index}] token = {token} : tile<16xf32>, {kind}, tile<i32> -> token"""

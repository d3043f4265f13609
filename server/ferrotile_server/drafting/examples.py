"""The nearest translated example: of the kernels that come with ferrotile, the one that shares most with another."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

FOLDER = Path(__file__).resolve().parents[1] / "data" / "examples"


class Example(Struct, frozen=True):
    """A kernel with its signature and its Rust. `python`: the kernel and what it uses."""

    name: str
    signature: str
    python: str
    rust: str


Translate = Callable[[str], "tuple[Example, ...]"]
"""From a file's text to its kernels that are translated."""


def nearest(source: str, translate: Translate, folder: Path = FOLDER) -> Example | None:
    """The example whose operations and statements are most like those of `source`, the smallest of several; None where
    nothing comes with this ferrotile, or nothing has anything in common."""
    wanted = traits(source)
    texts = {path.name: path.read_text(encoding="utf-8") for path in _files(folder)}
    known = {name: traits(text) for name, text in texts.items()}
    often = Counter(trait for found in known.values() for trait in found)
    ranked = sorted((-_likeness(wanted, found, often), len(texts[name]), name) for name, found in known.items())
    if not ranked or not ranked[0][0]:
        return None
    made = translate(texts[ranked[0][2]])
    return max(made, key=lambda one: _likeness(wanted, traits(one.python), often), default=None)


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(p for p in folder.glob("*.py") if p.stem != "refused")


def traits(source: str) -> frozenset[str]:
    """What kernels are compared by: functions of the dialect, loops, branches, matrix products. Host functions, which
    launch kernels, do not count; empty for what does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    found: set[str] = set()
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        own = {trait for node in ast.walk(function) if (trait := _trait(node))}
        found |= set() if "ct.launch" in own or own <= _OF_HOSTS else own
    return frozenset(found - {"ct.kernel", "ct.Constant"})


_OF_HOSTS = frozenset({"For", "While", "If", "IfExp", ".shape", ".reshape"})


def _trait(node: ast.AST) -> str:
    match node:
        case ast.Attribute(value=ast.Name(id="ct"), attr=name):
            return f"ct.{name}"
        case ast.For() | ast.While() | ast.If() | ast.IfExp() | ast.MatMult():
            return type(node).__name__
        case ast.Attribute(attr=("astype" | "shape" | "reshape" | "load" | "store" | "tiled_view") as name):
            return f".{name}"
    return ""


def _likeness(a: frozenset[str], b: frozenset[str], often: Mapping[str, int]) -> float:
    """The share of common traits, of which those count more that few examples have."""
    weights = {trait: 1 / (1 + often.get(trait, 0)) for trait in a | b}
    return sum(weights[trait] for trait in a & b) / sum(weights.values()) if weights else 0.0

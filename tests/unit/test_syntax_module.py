"""What the top level means, and that a broken item stays alone."""

from __future__ import annotations

import ast

import pytest
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import Module, parse_module
from ferrotile.syntax.parsed import ParseCache

THREE = "import cuda.tile as ct\n" + "".join(
    f"\n@ct.kernel\ndef k{i}(x):\n    '''doc {i}'''\n    a = ct.bid(0)\n    ct.store(x, (a,), a)\n" for i in (1, 2, 3)
)


def module_of(text: str) -> Module:
    return parse_module(Document(text))


def names(module: Module) -> list[str]:
    return [f.name for f in module.functions]


@pytest.mark.parametrize(
    ("prelude", "expression", "expected"),
    [
        ("import cuda.tile as ct", "ct.load", "cuda.tile.load"),
        ("from cuda import tile as ct", "ct.load", "cuda.tile.load"),
        ("from cuda.tile import load as ld", "ld", "cuda.tile.load"),
        ("import cuda.tile", "cuda.tile.load", "cuda.tile.load"),
        ("import math", "math.inf", "math.inf"),
        ("import cuda.tile as ct\nCI = ct.Constant", "CI", "cuda.tile.Constant"),
        ("from cuda.tile import *", "load", "cuda.tile.load"),
        ("try:\n    import cuda.tile as ct\nexcept ImportError:\n    pass", "ct.load", "cuda.tile.load"),
        ("a = b\nb = a", "a", None),
        ("", "x.y", None),
        ("import cuda.tile as ct", "ct.load()", None),
    ],
)
def test_resolve(prelude: str, expression: str, expected: str | None) -> None:
    assert module_of(prelude + "\n").resolve(ast.parse(expression, mode="eval").body) == expected


def test_spans_are_file_bytes_after_non_ascii_text() -> None:
    module = module_of("# é😀\nx = 'é'; y = 2\ndef f(a):\n    return a + 'é'  # é\n")
    document = module.document
    assert document.slice(module.span_of(module.constants["y"])) == "2"
    function = module.functions[0]
    assert document.slice(function.name_span) == "f"
    assert document.slice(module.span_of(function.node.body[0])) == "return a + 'é'"


def test_equal_items_have_nodes_of_their_own() -> None:
    module = module_of("def f():\n    return 1\ndef f():\n    return 1\n")
    spans = [module.span_of(f.node) for f in module.functions]
    assert spans[0].end < spans[1].start


def test_unchanged_items_are_not_parsed_again() -> None:
    cache = ParseCache()
    document = Document(THREE)
    before = parse_module(document, cache)
    at = document.data.index(b"doc 2")
    after = parse_module(document.edit(at, at, "my "), cache)
    assert before.functions[0].node is after.functions[0].node
    assert before.functions[1].node is not after.functions[1].node
    assert before.functions[2].node is after.functions[2].node
    moved = after.functions[2]
    assert after.document.slice(after.span_of(moved.node)).startswith("def k3")


@pytest.mark.parametrize("broken", ["(", "[", '"""', "'", "def", "x = = 1", "if", "\0", "$"])
@pytest.mark.parametrize("which", [1, 2, 3])
def test_neighbours_of_a_broken_kernel_stay(broken: str, which: int) -> None:
    document = Document(THREE)
    at = document.data.index(b"a = ct", document.data.index(b"def k%d" % which))
    module = parse_module(document.edit(at, at, broken + " "))
    assert set(names(module)) >= {f"k{i}" for i in (1, 2, 3) if i != which}
    assert [d.code for d in module.diagnostics] == ["FT001"]


@pytest.mark.parametrize("broken", ["@ct.\n", "@ct.kernel(\n", "@\n", "def \n", "from x import (\n", "x = (\n"])
def test_half_typed_lines_between_kernels(broken: str) -> None:
    document = Document(THREE)
    at = document.data.index(b"\n@ct.kernel\ndef k2")
    module = parse_module(document.edit(at, at, "\n" + broken + "\n"))
    assert {"k1", "k3"} <= set(names(module))
    assert module.diagnostics and {d.code for d in module.diagnostics} == {"FT001"}


def test_a_syntax_error_is_told_at_its_place() -> None:
    module = module_of("# é\ndef f():\n    x = 'é' + + * 2\n")
    (found,) = module.diagnostics
    assert module.document.slice(found.span) == "*"


@pytest.mark.parametrize(
    "text", ["x = " + "(" * 5000, "x = " + "-" * 100_000 + "1", "x = " + "1+" * 50_000 + "1", "\0"]
)
def test_hostile_text_gives_diagnostics(text: str) -> None:
    for found in module_of(text).diagnostics:
        assert found.code == "FT001"


def test_python_errors_that_tree_sitter_accepts() -> None:
    for text in ("def f():\n", "def f():\n    x\n  y\n", "print x\n", "  x = 1\n"):
        assert [d.code for d in module_of(text).diagnostics] == ["FT001"], text


def test_constants_bound_twice_are_not_constant() -> None:
    module = module_of("A = 1\nB = 2\nB = 3\nC, D = 4, 5\nE = 1\nE += 1\ndef f():\n    global A\n    A = 2\n")
    assert set(module.constants) == {"C", "D"}


def test_nested_functions_know_what_is_around_them() -> None:
    module = module_of("class C:\n    def m(self):\n        def inner(): ...\n\ndef top(): ...\n")
    assert names(module) == ["top"]
    assert [(f.name, f.enclosing) for f in module.nested] == [("m", ("C",)), ("inner", ("C", "m"))]


def test_crlf_cr_and_bom() -> None:
    for text in (THREE.replace("\n", "\r\n"), THREE.replace("\n", "\r"), "\ufeff" + THREE):
        module = module_of(text)
        assert names(module) == ["k1", "k2", "k3"] and not module.diagnostics
        assert module.document.slice(module.functions[1].name_span) == "k2"


def test_too_large_a_file_is_refused() -> None:
    module = module_of("#" * (8 * 1024 * 1024 + 1))
    assert [d.code for d in module.diagnostics] == ["FT002"]


def test_a_file_of_more_items_than_a_cache_holds_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ferrotile.syntax.parsed.MOST", 8)
    cache = ParseCache()
    document = Document("".join(f"a{n} = {n}\n" for n in range(40)))
    before = parse_module(document, cache)
    cache.end_round()
    after = parse_module(document.edit(0, 0, "# above\n"), cache)
    assert len(before.constants) == 40
    assert all(after.constants[name] is node for name, node in before.constants.items())

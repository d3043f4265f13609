"""Kept translations: equal to fresh ones wherever their source has moved, and made anew only where it changed."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from random import Random

import ferrotile.translate
import pytest
from ferrotile.cache import Cache
from ferrotile.syntax.document import Document
from ferrotile.translate import DocumentTranslation, translate_document
from ferrotile.translation import KernelTranslation
from msgspec.structs import fields

EXAMPLES = sorted(Path(__file__).parents[2].joinpath("examples").glob("*.py"))
TEXTS = {p.stem: p.read_text(encoding="utf-8") for p in EXAMPLES}
PAIRS = [f"{a}+{b}" for a, b in permutations(TEXTS, 2)]
HELPED = """import cuda.tile as ct

def twice(x):
    return x * SCALE

# ferrotile: x: f32[N], y: f32[N], T=64, grid=(N/T)
@ct.kernel
def one(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=twice(ct.load(x, index=(i,), shape=(T,))))  # twice

SCALE = 2.0

# ferrotile: x: f32[N], y: f32[N], T=64, grid=(N/T)
@ct.kernel
def two(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=twice(ct.load(x, index=(i,), shape=(T,))) + 1.0)
"""


def _text(name: str) -> str:
    return "\n\n".join(TEXTS[n] for n in name.split("+"))


def _edits(document: Document) -> list[Document]:
    """At the top, in the middle (between items), and taking a line out again."""
    top = document.edit(0, 0, "# a comment\n\n")
    middle = top.items[len(top.items) // 2].span.end
    between = top.edit(middle, middle, "\n\nOTHER = 3\n")
    gap = between.items[1].span.end
    spaced = between.edit(gap, gap, "\n# é\n")
    return [top, between, spaced, spaced.edit(0, len("# a comment\n"), "")]


@pytest.mark.parametrize("name", [*TEXTS, *PAIRS])
def test_a_kept_translation_equals_a_fresh_one(name: str) -> None:
    _same(_text(name))


def test_spans_in_helpers_move_with_the_helpers() -> None:
    _same(HELPED)


def _same(text: str) -> None:
    cache = Cache()
    document = Document(text)
    translate_document(document, cache=cache)
    for edited in _edits(document):
        kept = translate_document(edited, cache=cache)
        fresh = translate_document(Document(edited.text))
        _equal(kept, fresh)
        assert _text_of(kept.kernels) == _text_of(fresh.kernels)
        assert kept.render_file("k") == fresh.render_file("k")


def _equal(kept: DocumentTranslation, fresh: DocumentTranslation) -> None:
    assert kept.kernels == fresh.kernels
    assert kept.diagnostics == fresh.diagnostics
    assert kept.parts == fresh.parts
    assert kept.consulted == fresh.consulted


def _text_of(kernels: tuple[KernelTranslation, ...]) -> str:
    """Every field in words, so that 0.0 and -0.0 differ."""
    return repr([[(f.name, getattr(k, f.name)) for f in fields(KernelTranslation)] for k in kernels])


def _calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lowered: list[str] = []
    real = ferrotile.translate.lower_kernel

    def counted(module, kernel, signature, syntax):  # type: ignore[no-untyped-def]
        lowered.append(kernel.name)
        return real(module, kernel, signature, syntax)

    monkeypatch.setattr(ferrotile.translate, "lower_kernel", counted)
    return lowered


def test_only_the_edited_kernel_is_lowered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = _calls(monkeypatch)
    cache = Cache()
    document = Document(HELPED)
    translate_document(document, cache=cache)
    assert lowered == ["one", "two"]
    lowered.clear()
    above = document.edit(0, 0, "# above\n")
    translate_document(above, cache=cache)
    assert lowered == []
    at = above.data.index(b"i = ct.bid")
    translate_document(above.edit(at, at, "# in one\n    "), cache=cache)
    assert lowered == ["one"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SCALE = 2.0", "SCALE = 3.0"),
        ("x * SCALE", "x + SCALE"),
        ("import cuda.tile as", "import cuda.tile as ct, math as"),
    ],
)
def test_what_kernels_share_makes_all_anew(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    lowered = _calls(monkeypatch)
    cache = Cache()
    translate_document(Document(HELPED), cache=cache)
    lowered.clear()
    new_text = HELPED.replace(old, new) if "math" not in new else HELPED.replace("as ct\n", "as ct, math\n", 1)
    kept = translate_document(Document(new_text), cache=cache)
    assert lowered == ["one", "two"]
    _equal(kept, translate_document(Document(new_text)))


def test_a_launch_site_at_the_top_level_counts() -> None:
    launch = "import torch\nx = torch.empty(1024)\nct.launch(0, (16,), one_kernel, (x, x, 64))\n"
    text = HELPED.replace("def one", "def one_kernel").replace(
        "# ferrotile: x: f32[N], y: f32[N], T=64, grid=(N/T)\n", ""
    )
    cache = Cache()
    translate_document(Document(text + launch), cache=cache)
    changed = text + launch.replace("64", "32")
    _equal(translate_document(Document(changed), cache=cache), translate_document(Document(changed)))


def test_the_cache_is_bounded() -> None:
    cache = Cache(3)
    for n in range(5):
        translate_document(Document(HELPED.replace("1.0", f"{n}.5")), cache=cache)
    assert len(cache) == 3


def test_kernels_of_one_name_refer_to_each_other_whichever_name_it_is() -> None:
    """The same names and as many kernels as before, but another name is there twice."""
    body = "    ct.store(x, ct.bid(0), ct.full(({0},), 1, ct.float32))\n"
    kernel = "# ferrotile: x: f32[N], grid=(N/{0},)\n@ct.kernel\ndef {1}(x):\n" + body
    head = "import cuda.tile as ct\n\n\n"
    first = head + kernel.format(16, "a") + kernel.format(32, "a") + kernel.format(64, "b")
    second = head + kernel.format(16, "a") + kernel.format(32, "b") + kernel.format(64, "b")
    cache = Cache()
    for text in (first, second, first, second.replace("1, ct", "2, ct")):
        _equal(translate_document(Document(text), cache=cache), translate_document(Document(text)))


TYPED = (
    "(", ")", "[", '"""', "#", "\n", "x", " two", "@", "\n@ct.kernel\n", "\ndef one(x):\n    return x\n", "\nA = 1\n",
    "\n# about\n", "1.5", "launch", "'", "\n\n", "é",
)  # fmt: skip
PLAIN = HELPED + "".join(HELPED[HELPED.index("# ferrotile", 200) :].replace("two", n) for n in ("three", "four"))


@pytest.mark.parametrize("seed", range(6))
def test_a_session_of_edits_gives_what_fresh_translations_give(seed: int) -> None:
    chance = Random(seed)
    cache, document = Cache(), Document(PLAIN)
    translate_document(document, cache=cache)
    before: list[Document] = []
    for _ in range(30):
        if before and chance.random() < 0.4:
            document = before.pop()  # the editor's undo is an edit, too
            document = document.edit(0, 0, "")
        else:
            before.append(document)
            at = chance.choice((chance.randint(0, len(document.data)), document.data.find(b"return"), 0))
            document = document.edit(at, at + chance.choice((0, 0, 0, 1, 9)), chance.choice(TYPED))
        kept, fresh = translate_document(document, cache=cache), translate_document(Document(document.text))
        _equal(kept, fresh)
        assert _text_of(kept.kernels) == _text_of(fresh.kernels)


def test_a_kernel_that_a_new_one_is_named_in_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    text = HELPED.replace("# twice", "# twice, as in three")
    cache, document = Cache(), Document(text)
    translate_document(document, cache=cache)
    lowered = _calls(monkeypatch)
    grown = document.edit(len(document.data), len(document.data), PLAIN[len(HELPED) :])
    kept = translate_document(grown, cache=cache)
    assert lowered == ["one", "three", "four"]
    _equal(kept, translate_document(Document(grown.text)))


def test_a_bracket_left_open_makes_no_other_kernel_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PLAIN.replace("# ferrotile: x: f32[N], y: f32[N], T=64, grid=(N/T)\n", "")
    cache, document = Cache(), Document(text)
    translate_document(document, cache=cache)
    lowered = _calls(monkeypatch)
    at = document.data.index(b"twice(ct.load", document.data.index(b"def two"))
    opened = document.edit(at, at, "x(")
    kernels = translate_document(opened, cache=cache).kernels
    assert [k.name for k in kernels] == ["one", "three", "four"]
    assert lowered == []
    closed = opened.edit(at, at + 2, "")
    assert [k.name for k in translate_document(closed, cache=cache).kernels] == ["one", "two", "three", "four"]
    assert lowered == []


def test_a_file_of_many_kernels_fits() -> None:
    kernel = HELPED[HELPED.index("# ferrotile") : HELPED.index("SCALE = 2.0")].replace("twice(", "(")
    document = Document("import cuda.tile as ct\n" + "".join(kernel.replace("one", f"k{n}") for n in range(6)))
    cache = Cache(3)
    translate_document(document, cache=cache)
    assert len(cache) == 6

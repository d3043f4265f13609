"""Adding to a crate that is someone else's: its `Cargo.toml`, and the `mod` line."""

from __future__ import annotations

import tomllib

import pytest
from ferrotile_runner.export.manifest import ManifestEdit, ManifestError, add_dependencies
from ferrotile_runner.export.modules import declare, declares
from ferrotile_runner.export.versions import agree
from hypothesis import given
from hypothesis import strategies as st

GENERATED = """
[dependencies]
cutile = "0.5"
half = { version = "2.4", features = ["num-traits"] }

[dev-dependencies]
npyz = "0.8"
"""

MANIFEST = """\
# The crate of the team.
[package]
name    = "theirs"   # aligned on purpose
version = "1.2.3"
edition = "2021"

[dependencies]
# Sorted by importance, not by name.
serde = { version = "1", features = ["derive"] } # keep
anyhow = "1.0"

[features]
default = []

[profile.release]
lto = true
"""


def edit(theirs: str, generated: str = GENERATED, workspace: str = "", ours: tuple[str, ...] = ()) -> ManifestEdit:
    return add_dependencies(theirs, tomllib.loads(generated), tomllib.loads(workspace), ours)


def test_only_what_is_missing_is_added_and_every_line_stays() -> None:
    done = edit(MANIFEST)
    assert done.conflicts == ()
    values = tomllib.loads(done.text)
    wanted = tomllib.loads(GENERATED)
    assert values["dependencies"] == tomllib.loads(MANIFEST)["dependencies"] | wanted["dependencies"]
    assert values["dev-dependencies"] == wanted["dev-dependencies"]
    new = [line for line in done.text.splitlines() if line not in MANIFEST.splitlines()]
    assert [line for line in done.text.splitlines() if line not in new and line] == [
        line for line in MANIFEST.splitlines() if line
    ]
    assert new == [
        'cutile = "0.5"',
        'half = { version = "2.4", features = ["num-traits"] }',
        "[dev-dependencies]",
        'npyz = "0.8"',
    ]
    assert edit(done.text, ours=done.added).text == done.text


@pytest.mark.parametrize(
    "theirs",
    [
        '[package]\nname = "a"\n',
        '[package]\nname = "a"\n\n[dependencies]\n',
        '[package]\nname = "a"\n\n[dependencies.serde]\nversion = "1" # why\nfeatures = ["x"]\n\n[features]\nx = []\n',
        '[dependencies]\n"serde" = "1"\n\n[dev-dependencies]\n# nothing yet\n\n[package]\nname = "a"\n',
        '[package]\nname = "a"\n[dependencies]\nserde.version = "1"\nserde.features = ["derive"]\n',
        '[package]\r\nname = "a"\r\n\r\n[dependencies]\r\nserde = "1"\r\n',
        '[package]\nname = "a"\n\n[target.\'cfg(unix)\'.dependencies]\nnix = "0.29"\n',
        "",
    ],
)
def test_manifests_of_every_shape(theirs: str) -> None:
    done = edit(theirs)
    before, after, wanted = (tomllib.loads(text) for text in (theirs, done.text, GENERATED))
    for section in ("dependencies", "dev-dependencies"):
        assert after[section] == before.get(section, {}) | wanted[section]
    assert {k: v for k, v in after.items() if "dep" not in k} == {k: v for k, v in before.items() if "dep" not in k}


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ('cutile = "0.5.1"', None),
        ('cutile = "=0.5.0"', None),
        ('cutile = ">=0.4, <0.7"', None),
        ('cutile = { path = "../cutile" }', None),
        ('cutile = { git = "https://example.org/cutile" }', None),
        ('cutile = "0.4"', '"0.4" is there, "0.5" is needed'),
        ('cutile = { version = "1", default-features = false }', '"1" is there'),
        ('cutile = { version = "0.5", optional = true }', "optional"),
        ('cutile = { version = "0.5", package = "other" }', "another package"),
        ('tile = { version = "0.5", package = "cutile" }', "under the name `tile`"),
    ],
)
def test_a_dependency_that_is_there_is_not_touched_and_a_wrong_one_is_said(there: str, said: str | None) -> None:
    theirs = f'[package]\nname = "a"\n\n[dependencies]\n{there}\n'
    done = edit(theirs, '[dependencies]\ncutile = "0.5"\n')
    assert done.text == theirs
    if said is None:
        assert done.conflicts == ()
    else:
        (conflict,) = done.conflicts
        assert said in conflict


def test_a_feature_that_is_missing_is_said() -> None:
    done = edit('[dependencies]\nhalf = "2.4"\ncutile = "0.5"\nnpyz = "0.8"\n')
    assert done.conflicts == ("half is there without the features num-traits; add them",)


def test_what_the_workspace_has_is_taken_from_it() -> None:
    workspace = '[workspace.dependencies]\ncutile = "0.5.0"\nhalf = { version = "2.4", features = ["num-traits"] }\n'
    done = edit('[package]\nname = "a"\n\n[dependencies]\n', workspace=workspace)
    assert tomllib.loads(done.text)["dependencies"] == {
        "cutile": {"workspace": True},
        "half": {"workspace": True, "features": ["num-traits"]},
    }
    old = edit('[package]\nname = "a"\n', workspace='[workspace.dependencies]\ncutile = "0.3"\n')
    assert "cutile" not in tomllib.loads(old.text)["dependencies"]
    assert old.conflicts == ('[workspace.dependencies] cutile = "0.3" is there, "0.5" is needed',)
    member = edit("[dependencies]\ncutile.workspace = true\n", workspace='[workspace.dependencies]\ncutile = "0.3"\n')
    assert member.conflicts[0] == 'cutile = "0.3" is there, "0.5" is needed'


def test_what_ferrotile_added_follows_and_what_was_edited_does_not() -> None:
    first = edit(MANIFEST)
    newer = GENERATED.replace('"0.5"', '"0.6"')
    again = edit(first.text, newer, ours=first.added)
    assert tomllib.loads(again.text)["dependencies"]["cutile"] == "0.6" and again.conflicts == ()
    edited = first.text.replace('cutile = "0.5"', 'cutile = "0.5.3"')
    kept = edit(edited, newer, ours=first.added)
    assert kept.text == edited and len(kept.conflicts) == 1


def test_manifests_that_cannot_be_edited() -> None:
    with pytest.raises(ManifestError, match=r"^Cargo.toml: "):
        edit("[package\n")
    with pytest.raises(ManifestError, match="by hand"):
        edit('dependencies = { serde = "1" }\n')


@pytest.mark.parametrize(
    ("theirs", "needed", "expected"),
    [
        ("1.2", "1.9", True),
        ("1", "2", False),
        ("0.5", "0.5.3", True),
        ("0.5", "0.6", False),
        ("0.0.3", "0.0.4", False),
        ("^0.5.1", "0.5", True),
        ("~0.5.1", "0.5", True),
        ("~1.2", "1.3", False),
        ("=0.5.0", "0.5.1", False),
        ("0.5", "=0.5.0", True),
        ("0.5.1", "=0.5.0", False),
        ("=0.5", "=0.5.2", True),
        ("0", "0.5", True),
        ("0.0", "0.0.4", True),
        ("~1", "1.9", True),
        ("1.2.3", "~1.1", False),
        ("=0.5.1", "0.5.0", True),
        ("*", "0.5", None),
        (">=0.5", "0.5", None),
        ("0.5, <0.7", "0.5", None),
    ],
)
def test_requirements(theirs: str, needed: str, expected: bool | None) -> None:
    """By the rules of the Cargo book, "Specifying Dependencies"."""
    assert agree(theirs, needed) is expected


LINE = "pub mod kernels;"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("mod a;\nmod z;\n\nfn f() {}\n", "mod a;\npub mod kernels;\nmod z;\n\nfn f() {}\n"),
        ("mod a;\npub mod b;\n\nuse a::X;\n", "mod a;\npub mod b;\npub mod kernels;\n\nuse a::X;\n"),
        ("mod z;\nmod a;\nfn f() {}\n", "mod z;\nmod a;\n\npub mod kernels;\n\nfn f() {}\n"),
        ("#[macro_use]\nmod z;\n\nfn f() {}\n", "#[macro_use]\nmod z;\n\npub mod kernels;\n\nfn f() {}\n"),
        (
            "//! Docs.\n#![warn(missing_docs)]\n\nuse std::fmt;\n\n/// F.\nfn f() {}\n",
            "//! Docs.\n#![warn(missing_docs)]\n\nuse std::fmt;\n\npub mod kernels;\n\n/// F.\nfn f() {}\n",
        ),
        ("use a::{\n    B,\n};\nfn f() {}\n", "use a::{\n    B,\n};\n\npub mod kernels;\n\nfn f() {}\n"),
        ('const S: &str = r#"\nmod a;\n"#;\n', 'pub mod kernels;\n\nconst S: &str = r#"\nmod a;\n"#;\n'),
        ("/* mod a;\n/* mod b; */\nmod c; */\nmod d;\n", "/* mod a;\n/* mod b; */\nmod c; */\nmod d;\n" + LINE + "\n"),
        ("fn f() {\n    mod a;\n}\n", "pub mod kernels;\n\nfn f() {\n    mod a;\n}\n"),
        ("fn main() { let c = '\"'; }\n", "pub mod kernels;\n\nfn main() { let c = '\"'; }\n"),
        ("", "pub mod kernels;\n"),
        ("//! Docs.\n", "//! Docs.\n\npub mod kernels;\n"),
    ],
)
def test_the_module_is_declared_at_its_place(before: str, after: str) -> None:
    assert declare(before, LINE) == after
    assert not declares(before, "kernels") and declares(after, "kernels")


PIECES = (
    "mod a;", "pub mod z;", "mod b {", "}", "use x::{", "    y,", "};", "fn f() {", "", "// mod c;", "/* mod d;", "*/",
    'const S: &str = "', '";', 'let r = r#"', '"#;', "//! Docs.", "/// F.", "#![allow(x)]", "#[cfg(test)]",
    "let c = '\"';", "let l: &'static str = x;", "extern crate e;", "let b = '\\\\';",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_whatever_the_text_one_line_is_added_to_it(lines: list[str]) -> None:
    before = "\n".join(lines) + "\n"
    rows = iter(declare(before, LINE).split("\n"))
    assert all(line in rows for line in before.split("\n")[:-1])  # every line, in order
    added = declare(before, LINE).split("\n")
    for line in before.split("\n"):
        added.remove(line)
    assert sorted(added) in ([LINE], ["", LINE], ["", "", LINE])


@given(st.lists(st.sampled_from([p for p in PIECES if p not in ("/* mod d;", 'const S: &str = "', 'let r = r#"')])))
def test_where_nothing_is_left_open_the_line_is_code(lines: list[str]) -> None:
    depth = 0
    for line in lines:
        depth += line.count("{") - line.count("}")
        if depth < 0 or '"' in line.replace("'\"'", ""):
            return
    before = "\n".join(lines) + "\n"
    assert depth != 0 or declares(declare(before, LINE), "kernels")


@pytest.mark.parametrize("text", ["mod kernels;\n", "pub(crate) mod kernels {\n}\n", "fn f() {}\npub mod kernels;\n"])
def test_a_module_that_is_there_in_any_form(text: str) -> None:
    assert declares(text, "kernels")


@pytest.mark.parametrize(
    "text", ["// mod kernels;\n", 'const S: &str = "\nmod kernels;\n";\n', "mod a {\nmod kernels;\n}\n"]
)
def test_a_module_that_is_not_there(text: str) -> None:
    assert not declares(text, "kernels")

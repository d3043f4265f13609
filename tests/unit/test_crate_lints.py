"""Lints that are allowed in exported modules: what rustc would warn of, no more, each with its reason."""

from __future__ import annotations

import pytest
from crate_support import HEAD, python_file
from ferrotile.crate.modules import lints_of
from ferrotile.crate.project import contents_of, crate_files

FUNCTION = "fn k<const B: i32>(x: &Tensor<f32, { [-1] }>) {\n    use_of(x);\n}"


@pytest.mark.parametrize(
    ("text", "lints"),
    [
        (FUNCTION, set()),
        # What `#[cutile::module]` makes of it is `__cutile_user_impl__k`.
        (FUNCTION.replace("fn k", "fn _k"), {"non_snake_case"}),
        (FUNCTION.replace("x", "xIn"), {"non_snake_case"}),
        (FUNCTION.replace("const B", "const b"), {"non_upper_case_globals"}),
        (FUNCTION.replace("use_of(x)", "use_of(1)"), {"unused_variables"}),
        ("fn k(x: f32) -> f32 {\n    unreachable!()\n}", {"unused_variables"}),
        ("fn k(x: f32) {\n    let mut t: Token = x.token();\n    t = store(x, t);\n}", {"unused_assignments"}),
        ("fn k(x: f32) {\n    let mut t: Token = x.token();\n    t = store(x, t);\n    load(t);\n}", set()),
        (
            "fn k(x: f32) {\n    loop {\n        break;\n        use_of(x);\n    }\n}",
            {"unused_assignments", "unreachable_code"},
        ),
    ],
)
def test_lints_of_a_function(text: str, lints: set[str]) -> None:
    assert lints_of(text.split("\n")) == lints


KERNEL = """
# ferrotile: xIn: f32[N], y: f32[N], T=64, grid=(N/T,)
@ct.kernel
def _copy(xIn, y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(xIn, index=(i,), shape=(T,)))
"""


def test_names_stay_the_authors_and_the_reason_is_said() -> None:
    files = crate_files(contents_of("kernels", [python_file(HEAD + KERNEL, "copy")])).files
    text = str(files["src/copy.rs"])
    assert '#![allow(non_snake_case, reason = "names are those of the Python")]' in text
    assert "fn _copy<" in text and "xIn: &Tensor<f32" in text
    assert "#![allow(unused" not in text


def test_functions_that_check_nothing_have_no_launch() -> None:
    text = KERNEL.replace("f32[N]", "f32[4096]").replace("(N/T,)", "(64,)")
    made = str(crate_files(contents_of("kernels", [python_file(HEAD + text, "copy")])).files["src/copy.rs"])
    plain = made[made.index("pub fn copy(") : made.index("pub fn copy_into(")]
    assert "launch" not in plain.split("{", 1)[1].split("\n}")[0] and "api::zeros::<f32>(&[4096])" in plain

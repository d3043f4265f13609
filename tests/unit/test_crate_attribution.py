"""Licence headers and copyright lines of Python files stay with the Rust."""

from __future__ import annotations

import pytest
from ferrotile.crate.attribution import Attribution, attribution, notice
from hypothesis import given
from hypothesis import strategies as st

HEAD = """\
#!/usr/bin/env python3
# -*- coding: utf-8 -*-
# SPDX-FileCopyrightText: Copyright (c) <2025> ACME CORPORATION & AFFILIATES. All rights reserved.
#
# SPDX-License-Identifier: Apache-2.0

# Kernels for rows.
# ruff: noqa

import cuda.tile as ct
"""


def test_the_header_word_by_word() -> None:
    found = attribution(HEAD)
    owner = "Copyright (c) <2025> ACME CORPORATION & AFFILIATES. All rights reserved."
    assert found.copyrights == (owner,) and found.licences == ("Apache-2.0",)
    assert found.rust == f"// SPDX-FileCopyrightText: {owner}\n//\n// SPDX-License-Identifier: Apache-2.0\n"


def test_a_docstring_that_has_it() -> None:
    text = '"""Rows.\n\nCopyright 2024 A. Person\nLicensed under the MIT license.\n\nUsage: run it.\n"""\nimport x\n'
    assert attribution(text).lines == ("Copyright 2024 A. Person", "Licensed under the MIT license.")
    both = attribution(HEAD.replace("import", '"""(c) 2023 B. Person"""\nimport'))
    assert both.lines[-1] == "(c) 2023 B. Person" and both.copyrights[1] == "(c) 2023 B. Person"


def test_code_from_elsewhere_further_down() -> None:
    text = HEAD + "\n\nx = 1\n# The rest is adapted from somewhere.\n# Copyright (c) 2020 C. Person\ny = 2\n"
    found = attribution(text)
    assert found.copyrights[1] == "Copyright (c) 2020 C. Person"
    assert found.lines[-2:] == ("The rest is adapted from somewhere.", "Copyright (c) 2020 C. Person")
    assert attribution("x = 1\n# no licence is needed to copy a tile\n") == Attribution()


@pytest.mark.parametrize(
    "text", ["", "import x\n", "# A kernel.\nimport x\n", '"""Doc."""\n', '"""never closed', "\ufeff# a\n", "((("]
)
def test_a_file_that_says_nothing(text: str) -> None:
    assert attribution(text) == Attribution() and attribution(text).rust == ""


def test_expressions_and_each_once() -> None:
    line = "# SPDX-License-Identifier: CC-BY-4.0 AND Apache-2.0\n"
    found = attribution(f"{line}\n{line}\n# (c) 2021 A\n\n# Copyright (C) 2022 B\n")
    assert found.licences == ("CC-BY-4.0 AND Apache-2.0",)
    assert found.lines.count(line[2:-1]) == 1 and "Copyright (C) 2022 B" in found.copyrights


@given(st.text())
def test_total_and_always_comments(text: str) -> None:
    for comment in (f"# Copyright 2025 {text}", f'"""\nCopyright 2025 {text}\n"""', text):
        rust = attribution(comment).rust
        assert all(line.startswith("//") for line in rust.split("\n")[:-1])
        assert not set("\u202e\u2066\r\0") & set(rust)


def test_the_notice_has_an_entry_a_file() -> None:
    text = notice(
        [
            ("src/rows.rs", "kernels/rows.py", attribution(HEAD)),
            ("src/own.rs", "own.py", attribution("")),
            ("src/third.rs", "third.py", attribution("# Adapted from a blog.\n")),
        ]
    )
    first, *entries = text.split("\n\n")
    assert "ferrotile" in first
    assert entries[0].splitlines() == [
        "src/rows.rs, from kernels/rows.py",
        "    Copyright (c) <2025> ACME CORPORATION & AFFILIATES. All rights reserved.",
        "    SPDX-License-Identifier: Apache-2.0",
    ]
    assert "names neither" in entries[1] and "    Adapted from a blog." in entries[2]

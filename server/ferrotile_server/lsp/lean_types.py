"""lsprotocol's 550 classes without what a server never needs of them.

Methods that compare and print are half of the time that a server on pygls takes to start: they are compiled anew for
every class at every start. Checks of each field are a third of the time that a long answer takes to make; they are for
what comes in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import attrs


def load() -> None:
    """Import `lsprotocol.types`, leanly: its values compare by identity and print without their content, and only
    `checked` ones are checked. Only for a process that is a language server and nothing else."""
    attrs.validators.set_disabled(True)
    if "lsprotocol.types" in sys.modules:
        return
    names = vars(attrs)
    define = names["define"]
    names["define"] = partial(define, eq=False, repr=False, slots=False)
    try:
        import lsprotocol.types  # noqa: F401
    finally:
        names["define"] = define


@contextmanager
def checked() -> Iterator[None]:
    """LSP values that are made inside have fields of the right types and ranges, or raise."""
    before = attrs.validators.get_disabled()
    attrs.validators.set_disabled(False)
    try:
        yield
    finally:
        attrs.validators.set_disabled(before)

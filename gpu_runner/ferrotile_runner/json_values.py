"""Reads values out of decoded JSON of unknown shape; each raises `ValueError` when the shape is another."""

from __future__ import annotations

import base64
from collections.abc import Mapping


def text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a string, got {value!r}")
    return value


def integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"expected an integer, got {value!r}")
    return value


def integer_or_none(value: object) -> int | None:
    return None if value is None else integer(value)


def number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"expected a number, got {value!r}")
    return float(value)


def mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {value!r}")
    return value


def items(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list, got {value!r}")
    return value


def binary(value: object) -> bytes:
    """Decodes base64."""
    return base64.b64decode(text(value), validate=True)

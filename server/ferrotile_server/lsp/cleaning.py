"""Makes an editor's capabilities fit the types that we know: one unknown enum value must not cost the
whole session."""

from __future__ import annotations

from collections.abc import Callable

from cattrs import Converter

Fits = Callable[[object], bool]


def structurable(tree: dict[str, object], kind: type[object], converter: Converter) -> dict[str, object]:
    """`tree` without the parts that do not structure as `kind`; keeps as much as possible. Every part of
    `kind` down
    to the second level must be optional, as in LSP's ClientCapabilities."""

    def fits(part: object) -> bool:
        try:
            converter.structure(part, kind)
        except Exception:
            return False
        return True

    if fits(tree):
        return tree
    kept: dict[str, object] = {}
    for area, features in tree.items():
        if fits({area: features}):
            kept[area] = features
        elif isinstance(features, dict):
            kept[area] = _features(features, lambda part, area=area: fits({area: part}))  # type: ignore[misc]
    return kept if fits(kept) else {}


def _features(features: dict[str, object], fits: Fits) -> dict[str, object]:
    kept: dict[str, object] = {}
    for name, value in features.items():

        def alone(part: object, name: str = name) -> bool:
            return fits({name: part})

        if alone(value):
            kept[name] = value
            continue
        mended = _mend(value, alone)
        if mended is not None:
            kept[name] = mended
    return kept


def _mend(part: object, fits: Fits) -> object | None:
    """`part` with as little as possible taken out so that it fits; None where only its removal would help."""
    if isinstance(part, list):
        kept = [item for item in part if fits([item])]
        return kept if fits(kept) else None
    if not isinstance(part, dict):
        return None
    for name, value in part.items():

        def inside(inner: object, name: str = name) -> bool:
            return fits({**part, name: inner})

        mended = _mend(value, inside)
        if mended is not None:
            return {**part, name: mended}
    for name in part:
        without = {k: v for k, v in part.items() if k != name}
        if fits(without):
            return without
    return None

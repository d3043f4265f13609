"""Which rounding modes and flags each float function takes, and for which element types."""

from __future__ import annotations

from ferrotile.frontends.cutile.arguments import Arguments
from ferrotile.program.dtypes import F8E8M0FNU, DType, Kind

_BASIC = frozenset(("nearest_even", "zero", "negative_inf", "positive_inf"))
_ROUNDINGS = {
    **dict.fromkeys(("add", "sub", "mul", "sum", "prod", "cumsum", "cumprod"), _BASIC),
    "truediv": _BASIC | {"full", "approx"},
    "sqrt": _BASIC | {"approx"},
    "exp": frozenset(("full", "approx")),
    "tanh": frozenset(("full", "approx")),
}


def check_mode(args: Arguments, name: str, dtype: DType) -> None:
    """Refuses, at the keyword, a mode that `name` does not have for `dtype`."""
    mode = args.mode()
    single = dtype.name == "f32" and dtype.variable is None
    if mode.rounding is not None:
        if mode.rounding not in _ROUNDINGS.get(name, frozenset()):
            raise args.refused("rounding_mode", "FT203", f"`{name}` has no rounding mode `{mode.rounding}`")
        if dtype.kind is not Kind.FLOAT:
            raise args.refused("rounding_mode", "FT203", f"rounding modes are for floats, not {dtype}")
        if mode.rounding in ("approx", "full") and not single:
            raise args.refused(
                "rounding_mode", "FT203", f"rounding mode `{mode.rounding}` is for f32 alone, not {dtype}"
            )
    if mode.ftz and not single:
        raise args.refused("flush_to_zero", "FT203", f"flush-to-zero is for f32 alone, not {dtype}")


def check_float_conversion(args: Arguments, source: DType, dtype: DType, rounding: str | None) -> None:
    """Refuses a conversion between floats, or a rounding of it, that cuTile Python does not have."""
    mode = rounding or "nearest_even"
    if mode == "nearest_even" and not dtype.identical(F8E8M0FNU):
        return
    modes = {"nearest_even"} if dtype.name != "f8e8m0fnu" else {"zero", "positive_inf"}
    if dtype.name in ("f64", "f32", "tf32", "f16", "bf16"):
        modes.add("zero")
    wide = dtype.name in ("f64", "f32") or (dtype.name == "f16" and source.name not in ("f64", "f32", "tf32"))
    if wide and (dtype.name == "f64" or source.name != "f8e8m0fnu"):
        modes |= {"negative_inf", "positive_inf"}
    if (wide or dtype.name == "tf32") and (dtype.name == "f64" or source.name not in ("f64", "f8e8m0fnu")):
        modes.add("nearest_away")
    if mode not in modes:
        where = "rounding_mode" if rounding is not None else "dtype"
        known = ", ".join(sorted(modes))
        raise args.refused(where, "FT203", f"{source} to {dtype} has no rounding `{mode}`: use one of {known}")

"""What the author promises or asks of the hardware: divisibility, dependent launch."""

from __future__ import annotations

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.frontends.cutile.arguments import Arguments, Spec
from ferrotile.frontends.cutile.conversion import number
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.values import NONE, Abstract, Const, describe

_LARGEST = 2**31 - 1


def _assume_divisible_by(ctx: Context, args: Arguments) -> Abstract:
    value = args.operand("x")
    divisor = args.integer("divisor")
    if divisor < 1:
        raise args.refused("divisor", "FT203", f"the divisor must be positive, not {divisor}")
    if isinstance(value, Const):
        known = number(ctx, value)
        if isinstance(known, float) or known % divisor:
            raise args.refused("x", "FT203", f"{known} is not divisible by {divisor}")
        return value
    if not value.type.dtype.is_integer or value.type.rank:
        raise args.refused("x", "FT203", f"`assume_divisible_by` needs an integer scalar, not {describe(value)}")
    if divisor == 1 or divisor > _LARGEST:
        return value
    return type(value)(ctx.emit("assume_div_by", (value.value,), value.type, divisor=divisor))


def _dependent_launch(name: str) -> Spec:
    """Without a programmatic dependent launch, which ferrotile's launchers never make, it does nothing."""

    def handler(ctx: Context, args: Arguments) -> Abstract:
        text = f"`ct.{name}()` is left out: the Rust kernel starts when the kernels before it have ended."
        ctx.diagnostics.append(diagnostic("FT407", text, ctx.span))
        return NONE

    return Spec("", handler)


FUNCTIONS = {
    "assume_divisible_by": Spec("x divisor", _assume_divisible_by),
    **{n: _dependent_launch(n) for n in ("grid_dependency_control_wait", "grid_dependency_control_launch_dependents")},
}

"""`ferrotile doctor`: what the rungs need, what is there, and what to do about the rest."""

from __future__ import annotations

from ferrotile_runner.doctor import Status, doctor

from ferrotile_server.cli.output import stdout_style


def run() -> int:
    """Exit code 2 where something is missing that a rung cannot do without."""
    style = stdout_style()
    checks = doctor()
    for check in checks:
        match check.status:
            case Status.OK:
                mark = style.green("ok      ")
            case Status.OPTIONAL:
                mark = style.dim("optional")
            case Status.FAILED:
                mark = style.red("missing ")
        print(f"{check.name:<15} {mark} {check.detail}")
        if check.fix:
            print(f"{'':<15} {'':<8} do: {style.bold(check.fix)}")
    return 2 if any(check.status is Status.FAILED for check in checks) else 0

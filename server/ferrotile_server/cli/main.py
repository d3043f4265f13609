"""`ferrotile`: picks the command and imports only what it needs, so that `check` starts in an instant."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from ferrotile_server.cli.arguments import Arguments, parse
from ferrotile_server.cli.paths import PathError

FINE, FINDINGS, BROKEN = 0, 1, 2
INTERRUPTED = 130


def run_command(arguments: Arguments) -> int:
    """Run one command; returns its exit code."""
    match arguments.command:
        case "check":
            from ferrotile_server.cli import check

            return check.run(arguments)
        case "translate":
            from ferrotile_server.cli import translate

            return translate.run(arguments)
        case "verify":
            from ferrotile_server.cli import verify

            return verify.run(arguments)
        case "run":
            from ferrotile_server.cli import run

            return run.run(arguments)
        case "bundle":
            from ferrotile_server.cli import bundle

            return bundle.run(arguments)
        case "tune":
            from ferrotile_server.cli import tune

            return tune.run(arguments)
        case "export":
            from ferrotile_server.cli import export

            return export.run(arguments)
        case "coverage":
            from ferrotile_server.cli import coverage

            return coverage.run(arguments)
        case "draft":
            from ferrotile_server.cli import draft

            return draft.run(arguments)
        case "explain":
            from ferrotile_server.cli import explain

            return explain.run(arguments)
        case "setup":
            from ferrotile_server.cli import setup

            return setup.run()
        case "doctor":
            from ferrotile_server.cli import doctor

            return doctor.run()
        case "demo":
            from ferrotile_server.cli import demo

            return demo.run(arguments)
        case "mcp":
            from ferrotile_server.cli import mcp

            return mcp.run(arguments)
        case "server":
            from ferrotile_server.cli import server

            return server.run(arguments)
        case _:
            raise AssertionError(arguments.command)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point: 0 fine, 1 findings or a failed rung, 2 wrong use or broken environment."""
    # A command is over before its garbage matters; the default thresholds cost a tenth of a cold start.
    gc.set_threshold(50_000, 20, 20)
    arguments = parse(argv)
    try:
        code = run_command(arguments)
        sys.stdout.flush()
        return code
    except PathError as error:
        print(f"ferrotile: {error}", file=sys.stderr)
        return BROKEN
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has had enough (`| head`). Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE


if __name__ == "__main__":
    sys.exit(main())

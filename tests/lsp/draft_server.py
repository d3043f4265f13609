"""The real server with its real translator, where a draft's ladder reads instead of compiling."""

import sys
from pathlib import Path

from ferrotile_server.lsp import lean_types

lean_types.load()

from ferrotile_server.drafting import candidates  # noqa: E402
from ferrotile_server.lsp.server import serve  # noqa: E402

sys.path.append(str(Path(__file__).parents[1] / "unit"))

from draft_support import reading_ladder  # noqa: E402

if __name__ == "__main__":
    candidates.ladder_of = reading_ladder  # type: ignore[assignment]
    sys.exit(serve(sys.argv[1:]))

"""`python -P -m ferrotile_server.lsp`. Without `-P`, Python looks for modules in the editor's folder first."""

import gc
import os
import sys

sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]
gc.disable()  # until all is imported: nothing of it is garbage

from ferrotile_server.lsp import lean_types  # noqa: E402

lean_types.load()

from ferrotile_server.lsp.server import serve  # noqa: E402

sys.exit(serve(sys.argv[1:]))

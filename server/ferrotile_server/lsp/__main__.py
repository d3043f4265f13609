"""`python -m ferrotile_server.lsp`."""

import sys

from ferrotile_server.lsp.server import serve

sys.exit(serve(sys.argv[1:]))

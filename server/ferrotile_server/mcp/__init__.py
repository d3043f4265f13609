"""The Model Context Protocol server: what an agent may ask ferrotile. One file a tool in `tools/`."""

"""The MCP server, through the SDK's own client."""

"""The diagnostics catalogue."""

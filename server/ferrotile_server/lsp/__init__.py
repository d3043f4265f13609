"""The language server: one file a feature."""

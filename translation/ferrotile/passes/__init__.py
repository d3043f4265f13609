"""Passes over the kernel program, one file a pass."""

"""Emission of cuTile Rust."""

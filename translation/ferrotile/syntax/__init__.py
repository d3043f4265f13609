"""Kernel sources: parsing, positions, comments, kernel discovery."""

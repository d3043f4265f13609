"""Runs and verifies translations: one module a rung, workers as subprocesses."""

"""Inputs that a user gives and that cannot be used."""


class InputError(Exception):
    """They do not fit the kernel; the message says which, and what would."""

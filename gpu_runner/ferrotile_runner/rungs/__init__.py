"""The rungs of the ladder, a module each."""

"""What the arguments of a kernel are, and how each part is known."""

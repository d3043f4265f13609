"""One file a feature: parameters and an immutable snapshot in, an answer out."""

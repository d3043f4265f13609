"""CUDA Tile IR: operation table, reader, value-graph equivalence, NumPy interpreter."""

"""The kernel program: typed, dialect-free, one operation per CUDA Tile IR operation."""

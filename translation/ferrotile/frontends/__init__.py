"""One package a dialect: Python syntax to kernel program by abstract interpretation."""

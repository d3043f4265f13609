"""A Cargo project from translated kernels: modules, host functions, tests, documentation. Pure."""

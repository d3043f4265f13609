"""Kernels for a GPU: bundles of launches, made where the compilers are, run where the GPU is."""

"""How far many kernels get: measured in parallel, each kernel in a process that it may crash."""

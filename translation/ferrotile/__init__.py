"""ferrotile: translates Python GPU kernels to cuTile Rust. A pure library: text in, plain values out."""

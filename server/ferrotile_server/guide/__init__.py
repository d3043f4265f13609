"""What cuTile Rust 0.5 can say and where it misleads: for whoever writes a kernel by hand, most of all for a model.

The text is made from tables that a test has the real compilers confirm (`constructs.py`, `traps.py`), and from kernels
that the translator itself translates (`kernels.txt`)."""

from ferrotile_server.guide.text import target_guide

__all__ = ["target_guide"]

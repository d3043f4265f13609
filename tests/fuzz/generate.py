"""Files of random kernels."""

from __future__ import annotations

from language import LanguageMaker
from memory import MemoryMaker
from structured import StructuredMaker

MAKERS = (LanguageMaker, MemoryMaker, StructuredMaker)

HEAD = "import cuda.tile as ct\n\nDEEP = 3\n\n\n"


def kernel(seed: int) -> str:
    """The kernel of a seed, named `k<seed>`, with its helpers; a file needs `HEAD` above it."""
    return MAKERS[seed % len(MAKERS)](seed).kernel(f"k{seed}")


def file(seeds: range) -> str:
    """A file with one kernel a seed."""
    return HEAD + "\n\n".join(kernel(s) for s in seeds)

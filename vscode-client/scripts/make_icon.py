"""Draws icon.png, 128 x 128: tiles that turn from Python's blue to rust. Standard library only."""

import struct
import zlib
from pathlib import Path

SIZE, TILE, GAP = 128, 24, 4
BLUE, RUST, GROUND = (75, 139, 190), (206, 90, 40), (24, 26, 31)


def pixel(x: int, y: int) -> tuple[int, int, int]:
    """The colour of one pixel."""
    column, row = (x - 10) // (TILE + GAP), (y - 10) // (TILE + GAP)
    inside = 0 <= column < 4 and 0 <= row < 4
    if not inside or (x - 10) % (TILE + GAP) >= TILE or (y - 10) % (TILE + GAP) >= TILE:
        return GROUND
    share = (column + row) / 6
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(BLUE, RUST, strict=True))
    return red, green, blue


def chunk(kind: bytes, data: bytes) -> bytes:
    """A PNG chunk."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def main() -> None:
    """Write the picture beside package.json."""
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(SIZE)) for y in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    (Path(__file__).parents[1] / "icon.png").write_bytes(png)


if __name__ == "__main__":
    main()

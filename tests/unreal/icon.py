"""Draws the plugin's icon, a speech bubble: `icon.py unreal/Sotto/Resources/Icon128.png`."""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path

SIZE = 128
SAMPLES = 4  # of each axis, in each pixel
GROUND, BUBBLE, POINT = (32, 38, 46), (240, 196, 108), (32, 38, 46)


def colour(x: float, y: float) -> tuple[int, int, int]:
    """Returns the colour at a place, in pixels from the upper left corner."""
    for centre in (40, 64, 88):
        if (x - centre) ** 2 + (y - 56) ** 2 < 49:
            return POINT
    inner_x, inner_y = max(36 - x, x - 92, 0), max(44 - y, y - 68, 0)
    tail = 40 < x < 40 + (112 - y) * 0.9 and 80 < y < 112
    return BUBBLE if inner_x**2 + inner_y**2 < 576 or tail else GROUND


def pixel(x: int, y: int) -> bytes:
    """Returns the mean of a pixel's samples."""
    steps = [(number + 0.5) / SAMPLES for number in range(SAMPLES)]
    found = [colour(x + dx, y + dy) for dx in steps for dy in steps]
    return bytes(sum(one[channel] for one in found) // len(found) for channel in range(3))


def chunk(kind: bytes, data: bytes) -> bytes:
    """Returns a chunk of a PNG file."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def main() -> None:
    """Writes the file."""
    rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(SIZE)) for y in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    content = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    Path(sys.argv[1]).write_bytes(b"\x89PNG\r\n\x1a\n" + content)


if __name__ == "__main__":
    main()

"""PNG files (ISO/IEC 15948): writes images of 8 bits a channel, and reads them into numpy arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .errors import ArgumentError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY, _RGB, _GREY_ALPHA, _RGBA = 0, 2, 4, 6  # colour types
_COLOURS = {1: _GREY, 2: _GREY_ALPHA, 3: _RGB, 4: _RGBA}  # by channels
_CHANNELS = {colour: channels for channels, colour in _COLOURS.items()}
_SUB, _UP, _AVERAGE, _PAETH = 1, 2, 3, 4  # filters of a row
_LEVEL = 6  # of the compression
_MAX_PIXELS = 1 << 26


class Unreadable(ArgumentError):
    """The file is damaged, or of a form that this module does not read."""


def write(pixels: bytes, width: int, height: int, channels: int) -> bytes:
    """Returns a PNG file.

    Args:
        pixels: 8-bit values, row by row from the top, without gaps.
        width: Pixels of a row.
        height: Rows.
        channels: 1 (grey), 2 (grey and alpha), 3 (red, green, blue) or 4 (with alpha).
    """
    import struct
    import zlib

    row = width * channels
    rows = b"".join(b"\0" + pixels[at : at + row] for at in range(0, row * height, row))
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    body = zlib.compress(rows, _LEVEL)
    return SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def read(data: bytes) -> Any:
    """Returns the pixels of a PNG file as an array of uint8: height x width, and x channels if several.

    Reads 8 bits a channel without a palette and without interlacing, which backends write.

    Raises:
        Unreadable: The file is damaged, or of another form.
    """
    import zlib

    import numpy as np

    width, height, channels, packed = _parts(data)
    unpacker, size = zlib.decompressobj(), height * (1 + width * channels)
    try:
        rows = unpacker.decompress(packed, size)
    except zlib.error as error:
        raise Unreadable(f"damaged PNG file: {error}") from None
    if len(rows) != size:
        raise Unreadable(f"damaged PNG file: {len(rows):,} of {size:,} bytes of pixels")
    filtered = np.frombuffer(rows, np.uint8).reshape(height, 1 + width * channels)
    kinds = filtered[:, 0]
    if kinds.max() > _PAETH:
        raise Unreadable(f"damaged PNG file: unknown row filter {kinds.max()}")
    pixels = filtered[:, 1:].reshape(height, width, channels)
    if kinds.any():
        pixels = _unfiltered(np, pixels, kinds)
    return np.array(pixels[:, :, 0] if channels == 1 else pixels)


def _parts(data: bytes) -> tuple[int, int, int, bytes]:
    """Returns width, height, channels and the compressed rows."""
    import struct

    head, packed = b"", []
    for kind, body in _chunks(data):
        if kind == b"IHDR":
            head = body
        elif kind == b"IDAT":
            packed.append(body)
    if len(head) != 13:
        raise Unreadable("damaged PNG file: no header")
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", head)
    if depth != 8 or colour not in _CHANNELS or interlaced:
        raise Unreadable(f"PNG file of {depth} bits and colour type {colour}: expected 8 bits, no palette")
    if not 0 < width * height <= _MAX_PIXELS:
        raise Unreadable(f"PNG file of {width}x{height} pixels: expected 1 to {_MAX_PIXELS:,}")
    return width, height, _CHANNELS[colour], b"".join(packed)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    import struct
    import zlib

    if not data.startswith(SIGNATURE):
        raise Unreadable("not a PNG file")
    at = len(SIGNATURE)
    while at + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + size]
        if data[at + 8 + size : at + 12 + size] != struct.pack(">I", zlib.crc32(kind + body)):
            raise Unreadable(f"damaged PNG file: wrong checksum of a chunk at byte {at}")
        yield kind, body
        at += 12 + size
    if at != len(data):
        raise Unreadable(f"damaged PNG file: it ends amid a chunk at byte {at}")


def _chunk(kind: bytes, body: bytes) -> bytes:
    import struct
    import zlib

    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _unfiltered(np: Any, filtered: Any, kinds: Any) -> Any:
    """Undoes the filters of all rows at once, one diagonal after the other.

    A pixel needs its left, upper and upper left neighbours, which lie on the two diagonals before its own.
    """
    height, width, channels = filtered.shape
    made = np.zeros((height + 1, width + 1, channels), np.int16)  # with a border of zeros
    given = filtered.astype(np.int16)
    for diagonal in range(height + width - 1):
        rows = np.arange(max(0, diagonal - width + 1), min(height, diagonal + 1))
        columns = diagonal - rows
        left, up, corner = made[rows + 1, columns], made[rows, columns + 1], made[rows, columns]
        kind = kinds[rows, None]
        guess = np.select(
            [kind == _SUB, kind == _UP, kind == _AVERAGE, kind == _PAETH],
            [left, up, (left + up) // 2, _paeth(np, left, up, corner)],
            0,
        )
        made[rows + 1, columns + 1] = (given[rows, columns] + guess) & 255
    return made[1:, 1:].astype(np.uint8)


def _paeth(np: Any, left: Any, up: Any, corner: Any) -> Any:
    """Returns the neighbour that is nearest to left + up - corner."""
    by_left, by_up = np.abs(up - corner), np.abs(left - corner)
    by_corner = np.abs(left + up - 2 * corner)
    is_left = (by_left <= by_up) & (by_left <= by_corner)
    return np.where(is_left, left, np.where(by_up <= by_corner, up, corner))

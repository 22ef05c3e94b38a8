"""Images of requests: what is decoded, what is refused, and the files that are written."""

from __future__ import annotations

import base64
import io
import random
import struct
import time
import zlib
from typing import Any

import numpy as np
import psutil
import pytest
from artist import base64_of, opened
from PIL import Image

import sotto
from sotto._image_data import MAX_BYTES, decode_image, encode_image, flattened

PICTURE = Image.fromarray(np.random.default_rng(5).integers(0, 256, (24, 40, 3), dtype=np.uint8))


def png(width: int, height: int, data: bytes = b"", kind: int = 2, depth: int = 8) -> str:
    """A PNG file whose header says a size, in base64."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode()


@pytest.mark.parametrize(
    ("form", "options"),
    [("PNG", {}), ("WEBP", {"lossless": True}), ("JPEG", {"quality": 95, "subsampling": 0})],
)
def test_files_of_three_formats(form: str, options: dict[str, Any]) -> None:
    text = base64_of(PICTURE, form, **options)
    apart = np.abs(np.asarray(decode_image("image", text)).astype(int) - np.asarray(PICTURE).astype(int))
    assert apart.max() == 0 if form != "JPEG" else apart.mean() < 8
    folded = "\r\n".join(text[at : at + 76] for at in range(0, len(text), 76))
    for other in (folded, f"data:image/{form.lower()};base64,{text}", f"DATA:;charset=utf-8;base64,{text}"):
        assert np.array_equal(decode_image("image", other), decode_image("image", text))


def test_modes_become_rgb_or_rgba() -> None:
    grey = PICTURE.convert("L")
    for mode in ("L", "P", "1"):
        assert decode_image("image", base64_of(PICTURE.convert(mode))).mode == "RGB"
    assert decode_image("image", base64_of(PICTURE.convert("CMYK"), "JPEG")).mode == "RGB"
    assert np.array_equal(np.asarray(decode_image("image", base64_of(grey)))[:, :, 1], grey)
    for mode in ("LA", "RGBA"):
        assert decode_image("image", base64_of(PICTURE.convert(mode))).mode == "RGBA"
    palette = PICTURE.convert("P")
    assert decode_image("image", base64_of(palette, transparency=3)).mode == "RGBA"


def test_sixteen_bits_are_reduced_to_eight() -> None:
    ramp = np.linspace(0, 65535, 64, dtype=np.uint16).reshape(1, 64)
    made = np.asarray(decode_image("image", base64_of(Image.fromarray(ramp))))
    assert np.array_equal(made[:, :, 0], (ramp >> 8).astype(np.uint8))
    rows = b"".join(b"\0" + struct.pack(">6H", *[value] * 6) for value in (0, 0x1234, 0xFFFF))
    made = np.asarray(decode_image("image", png(2, 3, zlib.compress(rows), depth=16)))
    assert made[:, 0, 0].tolist() == [0, 0x12, 0xFF]


def test_the_first_frame_of_an_animation_is_taken() -> None:
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "lime", "blue")]
    for form in ("PNG", "WEBP"):
        text = base64_of(frames[0], form, save_all=True, append_images=frames[1:], lossless=True)
        assert decode_image("image", text).getpixel((4, 4)) == (255, 0, 0)


def test_the_orientation_is_applied() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # rotated by 90 degrees
    made = decode_image("image", base64_of(PICTURE, exif=exif))
    assert made.size == (24, 40)
    assert np.array_equal(made, np.rot90(np.asarray(PICTURE), -1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "its first bytes are of none of these"),
        ("not base64!", "it is no base64"),
        ("\u00e4\u00f6", "it is no base64"),
        ("QUJD=QUJD", "it is no base64"),
        ("data:image/png,abc", "this data URL has no ';base64,'"),
        (base64.b64encode(b"GIF89a" + bytes(99)).decode(), "its first bytes are of none of these"),
        (base64.b64encode(b"RIFF\0\0\0\0WAVEfmt ").decode(), "its first bytes are of none of these"),
        (base64.b64encode(b"RIFF\0\0\0\0WEBPVP8?").decode(), "no chunk VP8, VP8L or VP8X"),
        (base64.b64encode(b"\xff\xd8\xff").decode(), "the file is damaged"),
        (png(40_000, 40_000), "the image has 40000 x 40000 pixels; reduce it to at most 16,777,216 pixels"),
        (png(4097, 4096), "4097 x 4096"),
        (png(0, 5), "the file is damaged"),
        (png(9, 9, b"garbage"), "the file is damaged"),
        (png(9, 9), "the file is damaged"),
    ],
)
def test_what_is_no_image_is_refused_by_its_field(text: str, said: str) -> None:
    with pytest.raises(sotto.ArgumentError) as refusal:
        decode_image("mask", text)
    shown = str(refusal.value)
    assert shown.startswith(f"invalid mask '{text[:5]}") and said in shown and len(shown) < 400


def test_large_webp_files_are_refused_by_their_header() -> None:
    for lossless in (True, False):
        data = bytearray(base64.b64decode(base64_of(Image.new("RGB", (16, 16)), "WEBP", lossless=lossless)))
        at = 21 if lossless else 26
        data[at : at + 4] = b"\xff\xff\xff\x0f" if lossless else b"\xff\x3f\xff\x3f"
        with pytest.raises(sotto.ArgumentError, match=r"1638[34] x 1638[34]"):
            decode_image("image", base64.b64encode(data).decode())


def test_files_that_are_too_long_are_refused_before_they_are_decoded() -> None:
    began = time.monotonic()
    with pytest.raises(sotto.ArgumentError, match="the file has 33,554,433 bytes"):
        decode_image("image", base64.b64encode(bytes(MAX_BYTES + 1)).decode())
    with pytest.raises(sotto.ArgumentError, match="it is longer than 32 MiB"):
        decode_image("image", "A" * (3 * MAX_BYTES))
    assert time.monotonic() - began < 10


def test_a_bomb_takes_no_memory() -> None:
    before = psutil.Process().memory_info().rss
    packed = zlib.compress(bytes(64 << 20), 9)
    with pytest.raises(sotto.ArgumentError):
        decode_image("image", png(30_000, 30_000, packed))
    made = decode_image(
        "image", png(64, 64, zlib.compress(bytes(64 << 20), 9))
    )  # more rows than its header says
    assert made.size == (64, 64)
    assert psutil.Process().memory_info().rss - before < 48 << 20


def test_damaged_files_are_decoded_or_refused() -> None:
    chance = random.Random(11)
    files = [base64.b64decode(base64_of(PICTURE, form)) for form in ("PNG", "WEBP", "JPEG")]
    refused = 0
    for _ in range(1500):
        data = bytearray(chance.choice(files))
        for _ in range(chance.randrange(1, 12)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        del data[chance.choice((len(data), chance.randrange(12, len(data)))) :]
        try:
            made = decode_image("image", base64.b64encode(data).decode())
        except sotto.ArgumentError as error:
            refused += 1
            assert str(error).startswith("invalid image '")
        else:
            assert made.mode in ("RGB", "RGBA")
    assert 100 < refused < 1500


def test_alpha_is_kept_or_flattened() -> None:
    clear = PICTURE.convert("RGBA")
    clear.putalpha(Image.new("L", PICTURE.size, 0))
    for form in ("png", "webp"):
        assert np.array_equal(opened(encode_image(clear, form)), clear)
    assert flattened(clear).getcolors() == [(24 * 40, (255, 255, 255))]
    assert flattened(clear, "black").getcolors() == [(24 * 40, (0, 0, 0))]
    assert np.array_equal(flattened(PICTURE), PICTURE)


def test_files_are_the_same_each_time_and_hold_any_text() -> None:
    texts = {"prompt": 'a "fox" & \u96ea\x00\x01<', "seed": "7"}
    for form in ("png", "webp"):
        assert encode_image(PICTURE, form, 100, texts) == encode_image(PICTURE, form, 100, texts)
        assert np.array_equal(opened(encode_image(PICTURE, form, 100, texts)), PICTURE)
    assert len(encode_image(PICTURE, "webp", 20)) < len(encode_image(PICTURE, "webp", 90))
    Image.open(io.BytesIO(encode_image(PICTURE, "png", 0, texts))).verify()

"""The sound of a request, as mono float32 values at 16,000 a second."""

from __future__ import annotations

import base64
import binascii
import io
import struct
from collections.abc import Mapping
from typing import Any

import av
import numpy as np
from faster_whisper.audio import decode_audio

from ...errors import ArgumentError

RATE = 16_000
_FLOATS = "f32"  # mono float32 values, not a file


def read_sound(body: Mapping[str, Any], most_seconds: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Returns the sound of a request's `file` or `input_audio`.

    Raises `ArgumentError` if it cannot be read, or is longer than `most_seconds`.
    """
    where, source = _source(body)
    _check_length(where, source, most_seconds)
    try:
        sound = decode_audio(source, sampling_rate=RATE)
    except (av.error.FFmpegError, ValueError, IndexError, StopIteration, OSError) as error:
        raise ArgumentError(f"invalid {where}: expected sound, such as WAV, FLAC or OGG; {error}") from None
    if not np.isfinite(sound).all():
        raise ArgumentError(f"invalid {where}: expected finite values")
    return sound


def _source(body: Mapping[str, Any]) -> tuple[str, str | io.BytesIO]:
    if "file" in body:
        return f"file '{body['file']}'", body["file"]
    given = body["input_audio"]
    try:
        data = base64.b64decode(given["data"], validate=True)
    except binascii.Error as error:
        raise ArgumentError(f"invalid input_audio.data: expected base64; {error}") from None
    if given["format"] == _FLOATS:
        data = as_wav(data, given.get("sample_rate", RATE))
    return "input_audio", io.BytesIO(data)


def as_wav(values: bytes, rate: int) -> bytes:
    """Returns float32 values as a WAV file."""
    if len(values) % 4:
        raise ArgumentError("invalid input_audio.data: expected whole float32 values")
    if not np.isfinite(np.frombuffer(values, np.float32)).all():
        raise ArgumentError("invalid input_audio.data: expected finite values")
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 3, 1, rate, 4 * rate, 4, 32)
    data = struct.pack("<4sI", b"data", len(values)) + values
    return struct.pack("<4sI4s", b"RIFF", 4 + len(form) + len(data), b"WAVE") + form + data


def _check_length(where: str, source: str | io.BytesIO, most_seconds: float) -> None:
    """Compares the length in the file's header with the limit, before the sound is decoded into memory."""
    try:
        with av.open(source, metadata_errors="ignore") as container:
            seconds = container.duration / av.time_base if container.duration else 0.0
    except (av.error.FFmpegError, ValueError, OSError) as error:
        raise ArgumentError(f"invalid {where}: expected sound, such as WAV, FLAC or OGG; {error}") from None
    if isinstance(source, io.BytesIO):
        source.seek(0)
    if seconds > most_seconds:
        raise ArgumentError(
            f"invalid {where}: {seconds:.0f} seconds of sound; expected at most {most_seconds:g}; "
            "cut it, or raise the load option max_seconds"
        )

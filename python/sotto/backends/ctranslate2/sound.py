"""The sound of a request, as mono float32 values at 16,000 a second."""

from __future__ import annotations

import base64
import binascii
import io
import os
import struct
from collections.abc import Iterator, Mapping
from typing import IO, Any

import av
import numpy as np

from ...errors import ArgumentError

RATE = 16_000
_FLOATS = "f32"  # mono float32 values, not a file
_FORMATS = {b"RIFF": "wav", b"fLaC": "flac", b"OggS": "ogg", b"ID3": "mp3"}  # by the first bytes
_EXPECTED = "expected sound in a WAV, FLAC, OGG or MP3 file"
Sound = Any  # a numpy array of one dimension, float32; numpy may be absent where types are checked


def read_sound(body: Mapping[str, Any], most_seconds: float) -> Sound:
    """Returns the sound of a request's `file` or `input_audio`.

    Raises `ArgumentError` if it cannot be read, or is longer than `most_seconds`.
    """
    if "file" not in body:
        return _decoded("input_audio", io.BytesIO(_data_of(body["input_audio"])), most_seconds)
    path = body["file"]
    where = f"file '{path}'"
    if not os.path.isfile(path):  # a pipe or a device could block the engine, and no URL is opened
        raise ArgumentError(f"invalid {where}: {_EXPECTED}; there is no such file")
    try:
        with open(path, "rb") as file:
            return _decoded(where, file, most_seconds)
    except OSError as error:
        raise ArgumentError(f"invalid {where}: {_EXPECTED}; {error.strerror or error}") from None


def _data_of(given: Mapping[str, Any]) -> bytes:
    try:
        data = base64.b64decode(given["data"], validate=True)
    except binascii.Error as error:
        raise ArgumentError(f"invalid input_audio.data: expected base64; {error}") from None
    return as_wav(data, int(given.get("sample_rate") or RATE)) if given["format"] == _FLOATS else data


def as_wav(values: bytes, rate: int) -> bytes:
    """Returns float32 values as a WAV file."""
    if len(values) % 4:
        raise ArgumentError("invalid input_audio.data: expected whole float32 values")
    if not np.isfinite(np.frombuffer(values, np.float32)).all():
        raise ArgumentError("invalid input_audio.data: expected finite values")
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 3, 1, rate, 4 * rate, 4, 32)
    data = struct.pack("<4sI", b"data", len(values)) + values
    return struct.pack("<4sI4s", b"RIFF", 4 + len(form) + len(data), b"WAVE") + form + data


def _decoded(where: str, file: IO[bytes], most_seconds: float) -> Sound:
    """Decodes as far as the limit, whatever length the file's header claims."""
    most, count = round(most_seconds * RATE), 0
    parts: list[Sound] = []
    try:
        for part in _parts(file):
            parts.append(part)
            count += len(part)
            if count > most:
                raise ArgumentError(
                    f"invalid {where}: expected at most {most_seconds:g} seconds of sound; cut it, or raise "
                    "the load option max_seconds"
                )
    except (av.error.FFmpegError, ValueError, IndexError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"invalid {where}: {_EXPECTED}; {error}") from None
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _parts(file: IO[bytes]) -> Iterator[Sound]:
    """The sound part by part. The format is chosen here, so that no playlist opens other files."""
    head = file.read(4)
    file.seek(0)
    name = next((form for begin, form in _FORMATS.items() if head.startswith(begin)), None)
    if name is None and len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0:
        name = "mp3"  # without a tag
    if name is None:
        raise ValueError("its first bytes are those of none of these")
    resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
    with av.open(file, format=name, metadata_errors="ignore") as container:
        if not container.streams.audio:
            raise ValueError("it has no sound")
        for frame in container.decode(audio=0):
            yield from map(_values, resampler.resample(frame))
    yield from map(_values, resampler.resample(None))


def _values(frame: Any) -> Sound:
    return frame.to_ndarray().reshape(-1).astype(np.float32) / 32768.0

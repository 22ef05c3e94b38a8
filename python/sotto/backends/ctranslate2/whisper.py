"""Whisper models: speech to text, segment by segment. The pipeline is faster-whisper's."""

from __future__ import annotations

import gc
import math
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from faster_whisper import WhisperModel

from ...errors import ArgumentError, ModelLoadError
from ..base import Model, ModelInfo, Part, Request
from .files import weights_in
from .options import Options
from .sound import RATE, read_sound

_WINDOW_S = 30  # of sound, that the model works on at once
_MOST_COMPUTE = 1 << 30  # bytes; what is measured beyond that was other work of the process
_BEAMS = 5  # as the models' authors use them


class Whisper(Model):
    """An open Whisper model."""

    def __init__(self, folder: Path, options: Options) -> None:
        self._options = options
        before = _resident()
        try:
            self._whisper = WhisperModel(
                str(folder),
                device="cpu",
                compute_type=options.compute_type,
                cpu_threads=options.threads,
                num_workers=1,
                local_files_only=True,
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelLoadError(f"'{folder}' cannot be loaded: {error}") from None
        loaded = _resident()
        self._warm_up()
        self.info = ModelInfo(
            weights=_plausible(loaded - before, weights_in(folder)),
            compute=min(max(0, _resident() - loaded), _MOST_COMPUTE),
            streams=1,
            description={
                "architecture": "whisper",
                "compute_type": self._whisper.model.compute_type,
                "multilingual": self._whisper.model.is_multilingual,
            },
        )

    def _warm_up(self) -> None:
        """Works once, so that the memory of a window is counted."""
        silence = np.zeros(_WINDOW_S * RATE, np.float32)
        list(self._whisper.transcribe(silence, language="en", beam_size=_BEAMS, max_new_tokens=4)[0])

    def units(self, request: Request) -> int:
        """Windows of 30 seconds. Reads the sound."""
        self._language(request.body.get("language"))
        request.state = read_sound(request.body, self._options.max_seconds)
        return max(1, math.ceil(len(request.state) / (_WINDOW_S * RATE)))

    def transcribe(self, request: Request) -> Generator[str | Part, None, dict[str, Any]]:
        """Yields segments as they are done, and returns OpenAI's verbose transcription."""
        body, sound = request.body, request.state
        wants_words = "word" in body.get("timestamp_granularities", ())
        language = self._language(body.get("language"))
        if not len(sound):
            return _response(body, language or "", 0.0, [], wants_words=wants_words)
        segments, info = self._whisper.transcribe(
            sound,
            language=language,
            task=body.get("task", "transcribe"),
            initial_prompt=body.get("prompt") or None,
            beam_size=int(body.get("beam_size", _BEAMS)),
            word_timestamps=wants_words,
            vad_filter=self._options.vad,
            **({"temperature": body["temperature"]} if "temperature" in body else {}),
        )
        made, windows = [], 0
        for segment in segments:
            made.append(segment)
            if request.cancelled():
                break
            passed = int(segment.end // _WINDOW_S)
            yield Part(segment.text, units=max(0, passed - windows))
            windows = max(windows, passed)
        return _response(body, info.language, info.duration, made, wants_words=wants_words)

    def _language(self, asked: str | None) -> str | None:
        if not self._whisper.model.is_multilingual:
            return "en"
        known = self._whisper.supported_languages
        if asked is not None and asked not in known:
            raise ArgumentError(f"invalid language '{asked}': expected one of {', '.join(known)}")
        return asked

    def close(self) -> None:
        """Frees the model."""
        self._whisper.model.unload_model()
        del self._whisper
        gc.collect()


def _response(
    body: dict[str, Any], language: str, seconds: float, segments: list[Any], *, wants_words: bool
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "task": body.get("task", "transcribe"),
        "language": language,
        "duration": round(seconds, 3),
        "text": "".join(segment.text for segment in segments).strip(),
        "segments": [
            {
                "id": at,
                "start": round(float(segment.start), 3),
                "end": round(float(segment.end), 3),
                "text": segment.text,
                "avg_logprob": round(float(segment.avg_logprob), 4),
                "no_speech_prob": round(float(segment.no_speech_prob), 4),
            }
            for at, segment in enumerate(segments)
        ],
    }
    if wants_words:
        made["words"] = [
            {
                "word": word.word.strip(),
                "start": round(float(word.start), 3),
                "end": round(float(word.end), 3),
            }
            for segment in segments
            for word in segment.words or ()
        ]
    return made


def _resident() -> int:
    return int(psutil.Process().memory_info().rss)


def _plausible(measured: int, file: int) -> int:
    """Returns what was measured; the file's size where other work of the process falsified it."""
    return measured if file / 8 < measured < 3 * file else file  # int8 of a float32 file is a quarter

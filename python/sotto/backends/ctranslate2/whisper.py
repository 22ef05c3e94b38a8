"""Whisper models: speech to text, segment by segment. The pipeline is faster-whisper's."""

from __future__ import annotations

import gc
import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from faster_whisper import WhisperModel

from ..._values import invalid
from ...errors import ArgumentError, ModelLoadError
from ..base import Model, Part, Request
from .files import need
from .memory import Measure
from .options import Options, check_number
from .sound import RATE, read_sound

_WINDOW_S = 30  # of sound, that the model works on at once
_MOST_SECONDS = 86_400
_BEAMS = 5  # as the models' authors use them


@dataclass(frozen=True, slots=True)
class WhisperOptions(Options):
    """Checked load options of a Whisper model."""

    vad: bool = True
    max_seconds: float = 3600

    def check(self) -> None:
        """Raises `ArgumentError` for a bad value."""
        Options.check(self)
        check_number("max_seconds", self.max_seconds, (int, float), 1, _MOST_SECONDS)
        if not isinstance(self.vad, bool):
            raise ArgumentError(invalid("vad", self.vad, "true or false"))


class Whisper(Model):
    """An open Whisper model."""

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        self._options = WhisperOptions.read(options)
        need(folder, "tokenizer.json")
        measure = Measure(folder, self._options.compute_type)
        try:
            self._whisper = WhisperModel(
                str(folder),
                device="cpu",
                compute_type=self._options.compute_type,
                cpu_threads=self._options.threads,
                num_workers=1,
                local_files_only=True,
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise ModelLoadError(f"'{folder}' cannot be loaded: {error}") from None
        description = {
            "architecture": "whisper",
            "compute_type": self._whisper.model.compute_type,
            "multilingual": self._whisper.model.is_multilingual,
        }
        self.info = measure.info(self._warm_up, streams=1, description=description)

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
            if asked not in (None, "en"):
                expected = "en, the only language of this model; leave it out or load a multilingual model"
                raise ArgumentError(invalid("language", asked, expected))
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
                "compression_ratio": round(float(segment.compression_ratio), 4),
                "temperature": float(segment.temperature or 0),
                "seek": int(segment.seek),
                "tokens": list(map(int, segment.tokens)),
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
